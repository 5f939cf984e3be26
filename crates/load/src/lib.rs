//! Load: `send` paces packets of many flows under a law; `recv` acknowledges them and reports what arrived.
//!
//! One thread each. A sender waits for the earliest of all deadlines; ACKs wake it. Nothing is sent again except where a flow
//! has a size: there, what is lost goes out as new packets until so many bytes have arrived.

pub mod flow_table;
pub mod flows;
pub mod receiver;
pub mod report;
pub mod sample;
pub mod send;
