//! Laws as bytes: the shim that precedes a law's header in each packet, and the journal, a log of a law's inputs that replays to
//! the same states.

#![no_std]
#[cfg(test)]
extern crate std;

pub mod journal;
pub mod shim;
