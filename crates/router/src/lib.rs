//! Routers: a law at an output port in real time, and what people see of it.
//!
//! [`port::Port`] is the law, its intervals and its counters. The relay form ([`relay`]) owns a queue and forwards UDP; at a
//! [`device`], the [`kernel`] counts and stamps, and [`qdisc`] reads its queue.

pub mod clients;
pub mod device;
pub mod kernel;
pub mod lane;
pub mod live;
pub mod metrics;
pub mod port;
pub mod queue;
pub mod relay;
pub mod snapshot;
