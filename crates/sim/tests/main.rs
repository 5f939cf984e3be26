//! Tests of the engine on whole networks: conservation of packets, physics, queues, and each rule of a scenario.

#![allow(clippy::unwrap_used, reason = "a test panics on unexpected values")]

mod applications;
mod bbr3;
mod buffer_algorithms;
mod changing;
mod common;
mod cost;
mod draws;
mod encapsulation;
mod liars;
mod limit;
mod links;
mod measures;
mod memory;
mod offered;
mod overhead;
mod physics;
mod policing;
mod properties;
mod queues;
mod replay;
mod routes;
mod scheduled_queues;
mod signalling;
mod sperc;
mod threads;
mod timers;
mod unacknowledged;
