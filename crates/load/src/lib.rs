//! Load: `send` paces packets of many flows under a law; `recv` acknowledges them and reports what arrived.
//!
//! Each of the two runs in one thread. A sender waits for the earliest of all deadlines, and ACKs wake it. Only flows
//! with a size retransmit: lost data is sent in new packets until all bytes have arrived.

pub mod flow_table;
pub mod flows;
pub mod receiver;
pub mod report;
pub mod sample;
pub mod send;
