//! Binary formats: the shim and the journal. The shim precedes the header of a law in each packet. The journal is a log
//! of a law's inputs. The replay of a journal reproduces the states of the law.

#![no_std]
#[cfg(test)]
extern crate std;

pub mod journal;
pub mod shim;
