//! Everything that goes into a law, as bytes: what was logged on a wire can be done again elsewhere, bit by bit.
//!
//! A log begins with [`MAGIC`]; then records follow, each with the number of the instance that it belongs to. Numbers are
//! little-endian, times in picoseconds. A log that ends in the middle of a record, as after a crash, is good up to there.
//! [`LoggedSender`], [`LoggedRouter`] and [`LoggedReceiver`] write logs; `levelflow replay` reads them.

mod logged;
mod reader;
#[cfg(test)]
mod tests;

use core::fmt::{self, Debug, Write};

use levelflow_units::{Bytes, Duration, Time};

pub use logged::{Log, LoggedReceiver, LoggedRouter, LoggedSender, Sink};
pub use reader::Reader;

use levelflow_laws::offload::Words;
use levelflow_laws::{Arrived, Arriving, Feedback, FlowInfo, Kind, LawInfo, Loss, Outgoing, PortInfo, PortView};

/// "LVJ", then the version of the format.
pub const MAGIC: [u8; 4] = *b"LVJ\x02";
/// Room that any record needs, bytes.
pub const LONGEST: usize = 1024;
/// Most parameters that a law has.
pub const MOST_PARAMS: usize = 24;
/// Stands for the length of a header that is not there.
const NO_HEADER: u8 = 0xff;

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
    /// [`Offload::absorb`](levelflow_laws::offload::Offload::absorb).
    Absorb {
        /// What a data path without Rust has counted.
        counted: Words,
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
        out.put(&[self.tag()]);
        out.put(&instance.to_le_bytes());
        match self {
            Self::Start(start) => out.start(start),
            Self::Send { now, packet, header } => {
                out.time(*now);
                out.put(&packet.number.to_le_bytes());
                out.long(packet.size.get());
                out.put(&[packet.kind as u8]);
                out.header(header);
            }
            Self::Feedback { now, feedback } => {
                out.time(*now);
                out.feedback(feedback);
            }
            Self::Loss { now, loss } => {
                out.time(*now);
                out.words(&[loss.number, loss.next, loss.outstanding]);
            }
            Self::Timeout { now, next } => {
                out.time(*now);
                out.words(&[*next]);
            }
            Self::Arrival { packet, header } => {
                out.time(packet.now);
                out.long(packet.size.get());
                out.long(packet.queue.get());
                out.words(&[packet.packets]);
                match header {
                    Some(header) => out.stamped(header),
                    None => out.put(&[NO_HEADER]),
                }
            }
            Self::Departure { size, header } => {
                out.long(size.get());
                out.stamped(header);
            }
            Self::Interval { elapsed, port } => {
                out.long(elapsed.as_ps());
                out.long(port.queue.get());
                out.words(&[port.packets]);
                out.long(port.dropped.get());
            }
            Self::Absorb { counted } => counted.iter().for_each(|sum| out.long(*sum)),
            Self::Reflect { arrived, header } => {
                out.time(arrived.now);
                out.put(&[arrived.kind as u8]);
                out.long(arrived.size.get());
                out.stamped(header);
            }
            Self::State { digest } => out.long(*digest),
        }
        out.at
    }

    fn tag(&self) -> u8 {
        match self {
            Self::Start(_) => 0,
            Self::Send { .. } => 1,
            Self::Feedback { .. } => 2,
            Self::Loss { .. } => 3,
            Self::Timeout { .. } => 4,
            Self::Arrival { .. } => 5,
            Self::Departure { .. } => 6,
            Self::Interval { .. } => 7,
            Self::Absorb { .. } => 8,
            Self::Reflect { .. } => 9,
            Self::State { .. } => 10,
        }
    }
}

/// Bits of a feedback's flags.
const MARKED: u8 = 1;
const GAP: u8 = 2;
const DELIVERY: u8 = 4;

struct Out<'o> {
    bytes: &'o mut [u8; LONGEST],
    at: usize,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn long(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn time(&mut self, time: Time) {
        self.long(time.as_ps());
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.put(&word.to_le_bytes()));
    }

    /// Its length, then itself.
    fn header(&mut self, header: &[u8]) {
        assert!(header.len() <= 64, "a header has {} bytes", header.len());
        self.put(&[header.len() as u8]);
        self.put(header);
    }

    /// Both have the same length.
    fn stamped(&mut self, header: &Stamped<'_>) {
        self.header(header.before);
        assert_eq!(
            header.before.len(),
            header.after.len(),
            "laws keep the length of headers"
        );
        self.put(header.after);
    }

    fn feedback(&mut self, feedback: &Feedback<&[u8]>) {
        let flag = |on, bit| if on { bit } else { 0 };
        let flags =
            flag(feedback.marked, MARKED) | flag(feedback.gap, GAP) | flag(feedback.delivery.is_some(), DELIVERY);
        self.words(&[feedback.number, feedback.acked, feedback.outstanding]);
        self.put(&[feedback.kind as u8, flags]);
        self.long(feedback.rtt.as_ps());
        self.header(feedback.header);
        if let Some(delivery) = &feedback.delivery {
            self.words(&[delivery.total, delivery.prior]);
            self.long(delivery.interval.as_ps());
        }
    }

    fn start(&mut self, start: &Start) {
        self.header(start.law.name.as_bytes());
        self.put(&[start.law.params.len() as u8]);
        for (row, value) in start.law.params.iter().zip(start.values()) {
            self.header(row.name.as_bytes());
            self.put(&value.to_le_bytes());
        }
        match start.role {
            Role::Sender(flow) => {
                self.put(&[0]);
                self.long(flow.packet_size.get());
            }
            Role::Router(port) => {
                self.put(&[1]);
                self.words(&[port.id]);
                self.put(&port.capacity.bps().to_le_bytes());
            }
            Role::Receiver => self.put(&[2]),
        }
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

/// The kind of a packet with this code.
fn kind(code: u8) -> Option<Kind> {
    [Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack]
        .into_iter()
        .find(|kind| *kind as u8 == code)
}
