//! Binary formats of laws. The shim precedes the header of a law in each packet. The journal is a log of a law's
//! inputs; its replay reproduces the law's states.

#![no_std]
#[cfg(test)]
extern crate std;

pub mod journal;
pub mod shim;
