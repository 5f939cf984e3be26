//! Everything that goes into a law, as bytes: what was logged on a wire can be done again elsewhere, bit by bit.
//!
//! A log begins with [`MAGIC`]; then records follow, each with the number of the instance that it belongs to. Numbers are
//! little-endian, times in picoseconds. A log that ends in the middle of a record, as after a crash, is good up to there.
//! [`LoggedSender`], [`LoggedRouter`] and [`LoggedReceiver`] write logs; `levelflow replay` reads them.

mod codec;
mod logged;
mod reader;
#[cfg(test)]
mod tests;

use core::fmt::{self, Debug, Write};

use levelflow_units::{Bytes, Duration, Rate, Time};

use codec::Out;
pub use logged::{Log, Logged, LoggedReceiver, LoggedRouter, LoggedSender, Sink};
pub use reader::Reader;

use levelflow_laws::offload::Counts;
use levelflow_laws::{
    Arrived, Arriving, Feedback, Flight, FlowInfo, LawInfo, Loss, Outgoing, PortInfo, PortView, Restart,
};

/// "LVJ", then the version of the format.
pub const MAGIC: [u8; 4] = *b"LVJ\x04";
/// Room that any record needs, bytes.
pub const LONGEST: usize = 1024;
/// Most parameters that a law has.
pub const MOST_PARAMS: usize = 24;

/// Which half of a law, and its inputs at its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// Sends packets of a flow.
    Sender(FlowInfo),
    /// Guards an output port.
    Router(PortInfo),
    /// Acknowledges packets of a flow.
    Receiver,
}

/// The birth of an instance.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Its law.
    pub law: &'static LawInfo,
    /// Which half of it.
    pub role: Role,
    values: [f64; MOST_PARAMS],
}

impl PartialEq for Start {
    fn eq(&self, other: &Self) -> bool {
        self.law.name == other.law.name && self.role == other.role && self.values() == other.values()
    }
}

impl Start {
    /// An instance of a law with these values of its parameters, in the order and base units of its table.
    ///
    /// # Panics
    /// When there are not as many values as parameters.
    #[must_use]
    pub fn new(law: &'static LawInfo, role: Role, values: &[f64]) -> Self {
        let mut own = [0.0; MOST_PARAMS];
        own[..law.params.len()].copy_from_slice(values);
        Self { law, role, values: own }
    }

    /// Values of its parameters.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values[..self.law.params.len()]
    }
}

/// A header before and after a law has had it, as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped<'a> {
    /// As it came.
    pub before: &'a [u8],
    /// As it went on.
    pub after: &'a [u8],
}

/// One call of a law; what its methods are given, and the headers that they gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'a> {
    /// `new`.
    Start(Start),
    /// [`SenderLaw::on_send`](levelflow_laws::SenderLaw::on_send).
    Send {
        /// When.
        now: Time,
        /// What.
        packet: Outgoing,
        /// The header that the law gave.
        header: &'a [u8],
    },
    /// [`SenderLaw::on_feedback`](levelflow_laws::SenderLaw::on_feedback).
    Feedback {
        /// When.
        now: Time,
        /// What.
        feedback: Feedback<&'a [u8]>,
    },
    /// [`SenderLaw::on_flight`](levelflow_laws::SenderLaw::on_flight).
    Flight {
        /// When.
        now: Time,
        /// What.
        flight: Flight,
    },
    /// [`SenderLaw::on_restart`](levelflow_laws::SenderLaw::on_restart).
    Restart {
        /// Time of the call.
        now: Time,
        /// Idle time and limits before the restart.
        restart: Restart,
    },
    /// [`SenderLaw::on_loss`](levelflow_laws::SenderLaw::on_loss).
    Loss {
        /// When.
        now: Time,
        /// What.
        loss: Loss,
    },
    /// [`SenderLaw::on_timeout`](levelflow_laws::SenderLaw::on_timeout).
    Timeout {
        /// When.
        now: Time,
        /// Number of the next packet.
        next: u32,
    },
    /// [`RouterLaw::on_arrival`](levelflow_laws::RouterLaw::on_arrival).
    Arrival {
        /// What.
        packet: Arriving,
        /// Its header; none for a foreign packet or an ACK.
        header: Option<Stamped<'a>>,
    },
    /// [`RouterLaw::on_departure`](levelflow_laws::RouterLaw::on_departure).
    Departure {
        /// Size of the packet.
        size: Bytes,
        /// Its header.
        header: Stamped<'a>,
    },
    /// [`RouterLaw::on_interval`](levelflow_laws::RouterLaw::on_interval).
    Interval {
        /// How long it was.
        elapsed: Duration,
        /// What the port looked like.
        port: PortView,
    },
    /// [`RouterLaw::on_capacity`](levelflow_laws::RouterLaw::on_capacity).
    Capacity {
        /// Above zero.
        capacity: Rate,
    },
    /// [`Offload::absorb`](levelflow_laws::offload::Offload::absorb).
    Absorb {
        /// What a data path without Rust has counted.
        counted: Counts,
    },
    /// [`Protocol::reflect`](levelflow_laws::Protocol::reflect).
    Reflect {
        /// What arrived.
        arrived: Arrived,
        /// Its header.
        header: Stamped<'a>,
    },
    /// [`digest`] of the state here.
    State {
        /// Its value.
        digest: u64,
    },
}

impl Record<'_> {
    /// Writes the record of this instance to `out` and gives its length.
    ///
    /// # Panics
    /// When `out` is shorter than [`LONGEST`], or a header longer than 64 bytes.
    pub fn encode(&self, instance: u32, out: &mut [u8; LONGEST]) -> usize {
        let mut out = Out { bytes: out, at: 0 };
        self.put(instance, &mut out);
        out.at
    }
}

/// A number that two states share only if their values print the same, as good as certainly: floats print all their digits.
/// Names of fields and structs do not count, so they may change. FNV-1a of 64 bits.
#[must_use]
pub fn digest(state: &impl Debug) -> u64 {
    let mut sum = Values {
        sum: 0xcbf2_9ce4_8422_2325,
        name: None,
        spaced: false,
    };
    let _ = write!(sum, "{state:?}");
    sum.sum
}

/// Sums up what is printed, without names: words that stand before `:` or ` {`.
struct Values {
    sum: u64,
    /// The sum before the word that is being printed, or was printed last.
    name: Option<u64>,
    /// Whether a space followed that word.
    spaced: bool,
}

impl Values {
    fn byte(&mut self, byte: u8) {
        let inside = byte.is_ascii_alphanumeric() || byte == b'_';
        match self.name {
            Some(_) if inside && !self.spaced => {}
            Some(before) if byte == b':' || byte == b'{' && self.spaced => (self.sum, self.name) = (before, None),
            Some(_) if byte == b' ' => self.spaced = true,
            _ if byte.is_ascii_alphabetic() || byte == b'_' => (self.name, self.spaced) = (Some(self.sum), false),
            _ => self.name = None,
        }
        self.sum = (self.sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl Write for Values {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.byte(byte));
        Ok(())
    }
}
