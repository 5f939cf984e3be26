//! Types for time, size and rate with checked arithmetic, parsing and printing.
//!
//! Counted quantities are integers ([`Time`] and [`Duration`] in picoseconds, [`Bytes`], [`Packets`]). Measured
//! quantities are floats ([`Rate`], [`Frequency`]). Every type parses and prints the text of scenario files. A value
//! that is printed and parsed again is unchanged:
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
//! The crate is `no_std`. With the feature `serde`, these types are serialised as text. With the feature `schemars`, a
//! JSON Schema describes this text.

#![no_std]

#[cfg(test)]
extern crate std;

mod buffer;
mod data;
pub mod headers;
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
