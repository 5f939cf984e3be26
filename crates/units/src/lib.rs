//! Time, size and rate as types: checked arithmetic, parsing and printing.
//!
//! Integers carry what is counted ([`Time`] and [`Duration`] in picoseconds, [`Bytes`],
//! [`Packets`]); floats carry what is measured ([`Rate`], [`Frequency`]). Every type reads and
//! prints the text a scenario file holds, and reading what was printed gives the same value:
//!
//! ```
//! use levelflow_units::{Bytes, Duration, Rate};
//!
//! let capacity: Rate = "10 Mb/s".parse()?;
//! let packet: Bytes = "1500 B".parse()?;
//! assert_eq!(capacity.time_to_send(packet), Some(Duration::from_us(1200)));
//! assert_eq!(capacity.to_string(), "10 Mb/s");
//! # Ok::<(), levelflow_units::ParseError>(())
//! ```
//!
//! The crate is `no_std`. Feature `serde` reads and writes those texts; feature `schemars`
//! describes them in a JSON Schema.

#![no_std]

#[cfg(test)]
extern crate std;

mod buffer;
mod data;
mod parse;
mod print;
mod rate;
#[cfg(feature = "schemars")]
mod schema;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(test)]
mod tests;
mod time;

pub use buffer::{Buffer, BufferError};
pub use data::{Bytes, Packets};
pub use parse::ParseError;
pub use rate::{Frequency, Rate};
pub use time::{Duration, Time};
