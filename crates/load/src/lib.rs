//! Load: `send` paces the packets of many flows as a law requires. `recv` acknowledges the packets and reports the
//! arrivals.
//!
//! Each of these two commands runs in one thread. The thread of `send` waits for the earliest deadline of all flows,
//! and ACKs wake it. Only flows with a size retransmit: lost data is sent in new packets until all bytes have arrived.

pub mod flow_table;
pub mod flows;
pub mod receiver;
pub mod report;
pub mod sample;
pub mod send;
