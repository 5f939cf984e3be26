//! The traits a law implements and the inputs it sees.

use core::fmt::Debug;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::params::{ParamError, ParamSpec};
use crate::wire::DecodeError;

/// The types that make up one protocol. The simulator and the drivers are generic in this; a single law implements
/// it, and so does [`Any`](crate::Any), the sum of all laws.
pub trait Protocol: Debug + 'static {
    /// Parameters shared by senders and routers, validated when built.
    type Params: Clone + Debug + PartialEq;
    /// What packets carry.
    type Header: Copy + Debug + PartialEq;
    /// Sender half.
    type Sender: SenderLaw<Params = Self::Params, Header = Self::Header>;
    /// Router half, one instance per output port.
    type Router: RouterLaw<Params = Self::Params, Header = Self::Header>;

    /// How senders open a flow.
    fn opening(params: &Self::Params) -> Opening;
    /// What the receiver sends back for a header that arrived.
    fn reflect(header: &Self::Header) -> Self::Header;
}

/// A protocol that is exactly one law: it has a name, a parameter table and a wire format.
pub trait Law: Protocol<Header: Header> {
    /// Name, source and parameter table.
    const INFO: LawInfo;

    /// Builds parameters from values in the order and base units of `INFO.params`, each already checked against its
    /// own range.
    ///
    /// # Errors
    /// When values that are each in range do not fit together.
    fn params(values: &[f64]) -> Result<Self::Params, ParamError>;
}

/// What is known about a law before any of its code runs.
#[derive(Debug, Clone, Copy)]
pub struct LawInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper and equations.
    pub source: &'static str,
    /// What the routers feed back.
    pub signal: Signal,
    /// Length of the header on the wire, bytes.
    pub header_bytes: usize,
    /// Whether multiplying every rate and size by a constant multiplies every trajectory by it.
    pub scale_invariant: bool,
    /// The parameter table.
    pub params: &'static [ParamSpec],
}

/// What a router's [`RouterLaw::signal`] means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A dimensionless price: signed loss, `1 - C/y`.
    Price,
    /// A rate that senders adopt, bit/s.
    Rate,
}

/// How a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Data at once, at the initial rate.
    Immediate,
    /// A control packet first; data when its reply has brought a rate. A closing packet at the end.
    Handshake,
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload.
    Data,
    /// Opens a flow.
    Syn,
    /// Closes a flow.
    Fin,
    /// Answers a `Data` or `Syn`.
    Ack,
}

/// What a sender knows of its flow when it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowInfo {
    /// Largest data packet on the wire, headers included.
    pub packet_size: Bytes,
}

/// A packet about to leave a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outgoing {
    /// Transmission number: 0, 1, 2, ... and never reused, a retransmission takes a new one.
    pub number: u32,
    /// Size on the wire.
    pub size: Bytes,
    /// What it is.
    pub kind: Kind,
}

/// An answer that reached a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback<H> {
    /// Number of the packet that is answered.
    pub number: u32,
    /// What it was.
    pub kind: Kind,
    /// Time since it was sent.
    pub rtt: Duration,
    /// Its header, as the routers left it.
    pub header: H,
}

/// What limits a sender, as far as the sender can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// Not known, or the law does not say.
    Unknown,
    /// The n-th router of this law on the path, counted from 1.
    Hop(u8),
    /// The router with this [`PortInfo::id`].
    Router(u32),
}

/// Sender half of a law.
pub trait SenderLaw: Clone + Debug + PartialEq {
    /// See [`Protocol::Params`].
    type Params;
    /// See [`Protocol::Header`].
    type Header;

    /// State before the first packet.
    fn new(params: &Self::Params, flow: &FlowInfo) -> Self;
    /// Rate at which to send, wire bytes included.
    fn rate(&self) -> Rate;
    /// Size of the next data packet on the wire.
    fn packet_size(&self, params: &Self::Params) -> Bytes;
    /// Stamps a packet.
    fn on_send(&mut self, params: &Self::Params, now: Time, packet: &Outgoing) -> Self::Header;
    /// Takes feedback.
    fn on_feedback(&mut self, params: &Self::Params, now: Time, feedback: &Feedback<Self::Header>);
    /// Rate the sender would like next; the same as [`rate`](Self::rate) for laws that do not propose.
    fn proposal(&self) -> Rate {
        self.rate()
    }
    /// What limits the sender.
    fn bottleneck(&self) -> Bottleneck {
        Bottleneck::Unknown
    }
}

/// What a router law knows of its output port when it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortInfo {
    /// Identity on the wire, at least 1.
    pub id: u32,
    /// Line rate.
    pub capacity: Rate,
}

/// What a router law sees of its output port at the end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortView {
    /// Bytes waiting or in service.
    pub queue: Bytes,
    /// Bytes dropped since the last interval ended.
    pub dropped: Bytes,
}

/// Router half of a law, one instance per output port.
pub trait RouterLaw: Clone + Debug + PartialEq {
    /// See [`Protocol::Params`].
    type Params;
    /// See [`Protocol::Header`].
    type Header;

    /// State before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// A packet arrives, whether or not the queue then has room for it. `header` is `None` for packets that are not
    /// this law's, and for answers, which routers only count.
    fn on_arrival(&mut self, params: &Self::Params, size: Bytes, header: Option<&mut Self::Header>);
    /// Whether [`on_departure`](Self::on_departure) does anything.
    fn stamps_departures(&self) -> bool {
        false
    }
    /// A packet of this law, not an answer, leaves the queue.
    fn on_departure(&mut self, _params: &Self::Params, _header: &mut Self::Header) {}
    /// Time from the end of one interval to the end of the next.
    fn interval(&self, params: &Self::Params) -> Duration;
    /// The interval that lasted `elapsed` ends.
    fn on_interval(&mut self, params: &Self::Params, elapsed: Duration, port: &PortView);
    /// Load this law aims at.
    fn target(&self) -> Rate;
    /// What is being fed back, in the sense of [`LawInfo::signal`].
    fn signal(&self) -> f64;
}

/// A header with an exact wire layout.
pub trait Header: Copy + Debug + PartialEq {
    /// Length in bytes.
    const WIRE: usize;
    /// Writes the header to the first `WIRE` bytes of `out`.
    ///
    /// # Panics
    /// When `out` is shorter than `WIRE`.
    fn encode(&self, out: &mut [u8]);
    /// Reads a header from the first `WIRE` bytes of `wire`.
    ///
    /// # Errors
    /// When `wire` is too short or holds a value that no sender or router writes.
    fn decode(wire: &[u8]) -> Result<Self, DecodeError>;
}
