//! Journal: log of all inputs of a law, as bytes. The replay of a log from a real network gives bit-identical results.
//!
//! A log consists of [`MAGIC`] and records. A record contains the number of its instance, which is a sender, router or
//! receiver. Numbers are little-endian, and times are in picoseconds. A log may end within a record, for example after
//! a crash. Such a log is valid up to the start of the incomplete record. [`LoggedSender`], [`LoggedRouter`] and
//! [`LoggedReceiver`] write logs. `levelflow replay` reads logs.

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
    Arrived, Arriving, Feedback, Flight, FlowInfo, LawInfo, Loss, Outgoing, ParamSpec, PortInfo, PortView, Restart,
    SignallingInfo,
};

/// Magic number of a log: "LVJ" and the format version.
pub const MAGIC: [u8; 4] = *b"LVJ\x06";
/// Limit on the length of a record, bytes.
pub const MAX_RECORD_BYTES: usize = 1024;
/// Limit on the number of parameters in a table.
pub const MOST_PARAMS: usize = 24;

/// Instance of a law or of a signalling, and the inputs of its constructor.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// Sender of a law, for one flow.
    Sender(&'static LawInfo, FlowInfo),
    /// Router of a signalling, for one output port.
    Router(&'static SignallingInfo, PortInfo),
    /// Receiver of a signalling, for one flow.
    Receiver(&'static SignallingInfo),
}

impl PartialEq for Role {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
            && match (self, other) {
                (Self::Sender(_, own), Self::Sender(_, other)) => own == other,
                (Self::Router(_, own), Self::Router(_, other)) => own == other,
                (Self::Receiver(_), Self::Receiver(_)) => true,
                _ => false,
            }
    }
}

impl Role {
    /// Returns the name of the law or signalling.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sender(law, _) => law.name,
            Self::Router(signalling, _) | Self::Receiver(signalling) => signalling.name,
        }
    }

    /// Returns the signalling, which defines the headers.
    #[must_use]
    pub const fn signalling(&self) -> &'static SignallingInfo {
        match self {
            Self::Sender(law, _) => law.signalling,
            Self::Router(signalling, _) | Self::Receiver(signalling) => signalling,
        }
    }

    /// Returns the parameter table.
    #[must_use]
    pub const fn table(&self) -> &'static [ParamSpec] {
        match self {
            Self::Sender(law, _) => law.params,
            Self::Router(signalling, _) => signalling.params,
            Self::Receiver(_) => &[],
        }
    }
}

/// Description of an instance when it is created: its role and parameters.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Role of the instance.
    pub role: Role,
    values: [f64; MOST_PARAMS],
}

impl PartialEq for Start {
    fn eq(&self, other: &Self) -> bool {
        self.role == other.role && self.values() == other.values()
    }
}

impl Start {
    /// Creates the description of an instance. `values` contains the parameters in the order and base units of its
    /// parameter table.
    ///
    /// # Panics
    /// Panics if the number of values differs from the number of parameters.
    #[must_use]
    pub fn new(role: Role, values: &[f64]) -> Self {
        let mut own = [0.0; MOST_PARAMS];
        own[..role.table().len()].copy_from_slice(values);
        Self { role, values: own }
    }

    /// Returns the values of the parameters.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values[..self.role.table().len()]
    }
}

/// Encoded header before and after a method call on a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped<'a> {
    /// Header before the call.
    pub before: &'a [u8],
    /// Header after the call.
    pub after: &'a [u8],
}

/// Method call on a law. Contains the arguments, and the headers that the law has written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'a> {
    /// Call of `new`.
    Start(Start),
    /// Call of [`SenderLaw::on_send`](levelflow_laws::SenderLaw::on_send).
    Send {
        /// Time of the call.
        now: Time,
        /// Packet to send.
        packet: Outgoing,
        /// Header returned by the law.
        header: &'a [u8],
    },
    /// Call of [`SenderLaw::on_feedback`](levelflow_laws::SenderLaw::on_feedback).
    Feedback {
        /// Time of the call.
        now: Time,
        /// Feedback in the ACK.
        feedback: Feedback<&'a [u8]>,
    },
    /// Call of [`SenderLaw::on_flight`](levelflow_laws::SenderLaw::on_flight).
    Flight {
        /// Time of the call.
        now: Time,
        /// State of the flow when the packet left.
        flight: Flight,
    },
    /// Call of [`SenderLaw::on_restart`](levelflow_laws::SenderLaw::on_restart).
    Restart {
        /// Time of the call.
        now: Time,
        /// State of the flow before the restart from idle.
        restart: Restart,
    },
    /// Call of [`SenderLaw::on_loss`](levelflow_laws::SenderLaw::on_loss).
    Loss {
        /// Time of the call.
        now: Time,
        /// Lost packet.
        loss: Loss,
    },
    /// Call of [`SenderLaw::on_timeout`](levelflow_laws::SenderLaw::on_timeout).
    Timeout {
        /// Time of the call.
        now: Time,
        /// Number of the next packet to be sent.
        next: u32,
    },
    /// Call of [`RouterLaw::on_arrival`](levelflow_laws::RouterLaw::on_arrival).
    Arrival {
        /// Arriving packet.
        packet: Arriving,
        /// Header of the packet; `None` for an ACK or a packet of another protocol.
        header: Option<Stamped<'a>>,
    },
    /// Call of [`RouterLaw::on_departure`](levelflow_laws::RouterLaw::on_departure).
    Departure {
        /// Size of the packet.
        size: Bytes,
        /// Header of the packet.
        header: Stamped<'a>,
    },
    /// Call of [`RouterLaw::on_interval`](levelflow_laws::RouterLaw::on_interval).
    Interval {
        /// Duration of the control interval.
        elapsed: Duration,
        /// State of the port.
        port: PortView,
    },
    /// Call of [`RouterLaw::on_capacity`](levelflow_laws::RouterLaw::on_capacity).
    Capacity {
        /// New line rate, above zero.
        capacity: Rate,
    },
    /// Call of [`Offload::absorb`](levelflow_laws::offload::Offload::absorb).
    Absorb {
        /// Counts of an external data path, such as a program in C.
        counted: Counts,
    },
    /// Call of [`Signalling::reflect`](levelflow_laws::Signalling::reflect).
    Reflect {
        /// Arriving packet.
        arrived: Arrived,
        /// Header of the packet.
        header: Stamped<'a>,
    },
    /// Digest of the current state; see [`digest`].
    State {
        /// Value of the digest.
        digest: u64,
    },
}

impl Record<'_> {
    /// Writes a record of the instance `instance` to `out`. Returns the length of the record in bytes.
    ///
    /// # Panics
    /// Panics if a header is longer than 64 bytes.
    pub fn encode(&self, instance: u32, out: &mut [u8; MAX_RECORD_BYTES]) -> usize {
        let mut out = Out { bytes: out, at: 0 };
        self.put(instance, &mut out);
        out.at
    }
}

/// Returns a 64-bit FNV-1a hash of the values in the debug output of a state. Floats are printed with all digits, so
/// states with different values almost certainly have different hashes. Names of fields and structs are ignored, so
/// different versions of the code may use different names.
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

/// Hash of debug output without names. A name is a word that precedes `:` or ` {`.
struct Values {
    sum: u64,
    /// Hash without the latest word, because this word may be a name.
    name: Option<u64>,
    /// True if a space has followed the latest word.
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
