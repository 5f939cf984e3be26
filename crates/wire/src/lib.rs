//! Binary formats: the shim and the journal. A *law* is a congestion-control algorithm. A *signalling* defines the
//! packet header and the computations of routers for one or several laws. The shim precedes this header in each packet.
//! The journal is a log of a law's inputs. The replay of a journal reproduces the states of the law.

#![no_std]
#[cfg(test)]
extern crate std;

pub mod framing;
pub mod journal;
pub mod shim;
