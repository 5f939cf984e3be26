//! Traits that a law implements, and the inputs of its senders. `signalling.rs` defines the trait of signallings, and
//! `router.rs` the trait of routers.

mod router;
mod signalling;

use core::fmt::Debug;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::params::{ParamSpec, Parameters};

pub use router::{Arriving, NoRouter, PortInfo, PortView, RouterLaw};
pub use signalling::{Counting, NoSignals, RouterInfo, Signalling, SignallingInfo, WireSignalling};

/// Law together with its signalling. The simulator and the drivers of real hosts are generic over this trait. Each law
/// implements this trait, and so does [`Any`](crate::Any), the enum of all laws.
pub trait Protocol: Debug + 'static {
    /// Signalling that the law reacts to. Laws with the same signalling share routers.
    type Signalling: Signalling;
    /// Parameters of senders, validated on construction.
    type Params: Clone + Debug + PartialEq;
    /// Sender algorithm.
    type Sender: SenderLaw<Params = Self::Params, Header = HeaderOf<Self>> + Clone + PartialEq;

    /// Returns the transport features that the law needs.
    fn transport(params: &Self::Params) -> Transport;
}

/// Header of the packets of a protocol.
pub type HeaderOf<P> = <<P as Protocol>::Signalling as Signalling>::Header;
/// Router algorithm of the signalling of a protocol.
pub type RouterOf<P> = <<P as Protocol>::Signalling as Signalling>::Router;
/// Parameters of the routers of a protocol.
pub type RouterParamsOf<P> = <<P as Protocol>::Signalling as Signalling>::Params;
/// Per-flow state of the receivers of a protocol.
pub type ReceiverOf<P> = <<P as Protocol>::Signalling as Signalling>::Receiver;

/// Protocol of one law, with a name and a parameter table.
pub trait Law: Protocol<Signalling: WireSignalling, Params: Parameters> {
    /// Name, source and parameter table.
    const INFO: LawInfo;
}

/// Static description of a law.
#[derive(Debug, Clone, Copy)]
pub struct LawInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One-line description, for help texts and documentation.
    pub title: &'static str,
    /// Paper and equations.
    pub source: &'static str,
    /// Congestion signal that senders react to.
    pub signal: Signal,
    /// Signalling that the law reacts to.
    pub signalling: &'static SignallingInfo,
    /// True for a scale-invariant law. If all rates and sizes are multiplied by a constant, the sending rates at all
    /// times are multiplied by this constant.
    pub scale_invariant: bool,
    /// Parameter table of senders.
    pub params: &'static [ParamSpec],
}

impl LawInfo {
    /// Creates the description of a law without headers and without router feedback.
    #[must_use]
    pub const fn of_hosts(
        name: &'static str,
        title: &'static str,
        source: &'static str,
        signal: Signal,
        scale_invariant: bool,
        params: &'static [ParamSpec],
    ) -> Self {
        Self {
            name,
            title,
            source,
            signal,
            signalling: &NoSignals::INFO,
            scale_invariant,
            params,
        }
    }
}

/// Congestion signal that senders react to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Price, written by routers. [`RouterLaw::signal`] returns the price. It is not a rate: multiplying all rates by a
    /// constant does not change it.
    Price,
    /// Rate, written by routers and adopted by senders. [`RouterLaw::signal`] returns the rate, in bit/s.
    Rate,
    /// Window change, written by routers. [`RouterLaw::signal`] returns the feedback of one control interval, in bytes.
    Change,
    /// Marks, set by queues.
    Mark,
    /// Drops by queues.
    Loss,
    /// Round-trip times.
    Delay,
    /// Delivery rates and round-trip times.
    Delivery,
    /// None: the sender ignores feedback.
    Nothing,
}

/// Transport features that a law needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transport {
    /// First packet of a flow.
    pub opening: Opening,
    /// True if the transport retransmits lost data. It then notifies the sender of losses by [`SenderLaw::on_loss`] and
    /// [`SenderLaw::on_timeout`]. Laws with a window need this feature.
    pub tracks_losses: bool,
    /// True if receivers send ACKs. Without ACKs, lost data is not retransmitted and round-trip times are unknown. The
    /// sender then does not slow down when its packets are lost.
    pub acknowledged: bool,
    /// True if the rate does not depend on ACKs. The sender then does not slow down when ACKs stop arriving.
    pub constant: bool,
    /// True if senders draw random numbers from [`FlowInfo::seed`].
    pub draws: bool,
    /// True if queues may mark packets instead of dropping them.
    pub ecn: bool,
    /// True if the sender is scalable: its packets carry ECT(1) instead of ECT(0) (RFC 9331).
    pub scalable: bool,
    /// Packets per ACK, at least 1. The receiver sends an ACK at once if packets are reordered or the ECN mark changes.
    pub ack_every: u8,
    /// Longest delay of an ACK for fewer than `ack_every` packets. RFC 5681, section 4.2, allows 500 ms; operating
    /// systems use 40 to 200 ms.
    pub ack_delay: Duration,
    /// Floor of the variance term of the retransmission timeout (RTO): `RTO = SRTT + max(4 RTTVAR, min_timeout)`. After
    /// an RTO, all packets in flight are declared lost.
    pub min_timeout: Duration,
    /// Floor of the retransmission timeout (RTO); zero for none.
    pub timeout_floor: Duration,
    /// Loss recovery of a transport that retransmits lost data.
    pub recovery: RecoveryScheme,
    /// True if the transport passes the send-time state of packets to [`SenderLaw::on_flight`].
    pub needs_rate_samples: bool,
    /// True if the feedback of an ACK includes a sample of the delivery rate, [`Feedback::delivery`].
    pub measures_delivery: bool,
}

/// Loss recovery: detection and retransmission of lost data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryScheme {
    /// Selective ACKs (SACK, RFC 6675).
    Selective,
    /// Cumulative and duplicate ACKs. The first new ACK ends a recovery (RFC 5681).
    Reno,
    /// Cumulative and duplicate ACKs. A partial ACK triggers the next retransmission (RFC 6582).
    NewReno,
}

impl Transport {
    /// Features of most laws with router feedback: no handshake, an ACK for every packet, no loss tracking.
    pub const PLAIN: Self = Self {
        opening: Opening::Immediate,
        tracks_losses: false,
        acknowledged: true,
        constant: false,
        draws: false,
        ecn: false,
        scalable: false,
        ack_every: 1,
        ack_delay: Duration::from_ms(40),
        min_timeout: Duration::from_ms(200),
        timeout_floor: Duration::ZERO,
        recovery: RecoveryScheme::Selective,
        needs_rate_samples: false,
        measures_delivery: false,
    };

    /// Returns true if the transport records its counts of sent and delivered packets for each packet that it sends.
    #[must_use]
    pub fn takes_samples(&self) -> bool {
        self.needs_rate_samples || self.measures_delivery
    }
}

/// First packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Data is sent at once, at the initial rate.
    Immediate,
    /// A control packet opens the flow. The sender sends data after the ACK of this packet has returned a rate. Another
    /// control packet closes the flow.
    Handshake,
}

/// Packet type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload.
    Data,
    /// First packet of a flow with a handshake.
    Syn,
    /// Last packet of a flow with a handshake.
    Fin,
    /// Acknowledgement of a `Data` or `Syn` packet.
    Ack,
}

/// Properties of a flow that its sender receives at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowInfo {
    /// Largest data packet on the wire, headers included.
    pub packet_size: Bytes,
    /// Seed of random choices, different for each flow and each run. Only laws that [draw random
    /// numbers](Transport::draws) use the seed.
    pub seed: u64,
    /// Size of the transfer, including the headers of its packets; `None` for a flow without an end or of unknown size.
    pub size: Option<Bytes>,
}

impl FlowInfo {
    /// Returns the properties of a flow with this packet size, seed 0 and unknown size.
    #[must_use]
    pub const fn of(packet_size: Bytes) -> Self {
        Self {
            packet_size,
            seed: 0,
            size: None,
        }
    }

    /// Returns these properties with another seed and size.
    #[must_use]
    pub const fn with(self, seed: u64, size: Option<Bytes>) -> Self {
        Self { seed, size, ..self }
    }
}

/// Packet that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outgoing {
    /// Packet number: 0, 1, 2, ... Numbers are never reused; a retransmission has a new number.
    pub number: u32,
    /// Size on the wire.
    pub size: Bytes,
    /// Packet type.
    pub kind: Kind,
}

/// Packet that has reached its receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrived {
    /// Arrival time.
    pub now: Time,
    /// Packet type.
    pub kind: Kind,
    /// Size on the wire.
    pub size: Bytes,
}

/// ACK that has reached its sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback<H> {
    /// Number of the acknowledged packet.
    pub number: u32,
    /// Type of the acknowledged packet.
    pub kind: Kind,
    /// Round-trip time: time since the acknowledged packet was sent.
    pub rtt: Duration,
    /// Header of the ACK, with the changes made by routers and receiver.
    pub header: H,
    /// True if a queue marked a packet that the ACK covers.
    pub marked: bool,
    /// Packets newly acknowledged; 0 for a duplicate ACK.
    pub acked: u32,
    /// Spurious losses: packets declared lost whose arrival this ACK reports. 0 if the transport neither tracks losses
    /// nor retransmits.
    pub spurious: u32,
    /// Packets in flight: neither acknowledged nor declared lost. 0 if the transport neither tracks losses nor
    /// retransmits.
    pub outstanding: u32,
    /// True if a packet sent before the acknowledged packet is missing at the receiver. False if the transport neither
    /// tracks losses nor retransmits.
    pub gap: bool,
    /// Delivery rate sample of the acknowledged packet. Present if the law [needs
    /// samples](Transport::measures_delivery) and the transport tracks losses or retransmits lost data.
    pub delivery: Option<Delivery>,
}

impl<H> Feedback<H> {
    /// Converts the header with `form` and keeps all other fields.
    #[must_use]
    pub fn map_header<G>(self, form: impl FnOnce(H) -> G) -> Feedback<G> {
        Feedback {
            number: self.number,
            kind: self.kind,
            rtt: self.rtt,
            header: form(self.header),
            marked: self.marked,
            acked: self.acked,
            spurious: self.spurious,
            outstanding: self.outstanding,
            gap: self.gap,
            delivery: self.delivery,
        }
    }

    /// Returns the feedback of an ACK for one unmarked packet, without loss tracking.
    #[must_use]
    pub fn plain(number: u32, kind: Kind, rtt: Duration, header: H) -> Self {
        Self {
            number,
            kind,
            rtt,
            header,
            marked: false,
            acked: 1,
            spurious: 0,
            outstanding: 0,
            gap: false,
            delivery: None,
        }
    }
}

/// Delivery rate sample (draft-ietf-ccwg-bbr, section 4.1): `total - prior` packets within `interval`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivery {
    /// Packets delivered since the flow started.
    pub total: u32,
    /// Value of `total` when the acknowledged packet was sent.
    pub prior: u32,
    /// Time in which the `total - prior` packets were sent, or time in which they were acknowledged, whichever is
    /// longer.
    pub interval: Duration,
    /// True if the flow was application-limited when the acknowledged packet was sent.
    pub app_limited: bool,
}

/// Send-time state of a data packet (draft-ietf-ccwg-bbr, section 4.1.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// Number of the packet.
    pub number: u32,
    /// Packets in flight just after this packet was sent, including this packet.
    pub outstanding: u32,
    /// Packets declared lost since this packet was sent, including this packet if it is lost.
    pub lost: u32,
    /// True if the flow was application-limited when the packet was sent. A flow becomes application-limited when it
    /// has less data than its window allows. It remains application-limited until all packets in flight at that time
    /// are delivered.
    pub app_limited: bool,
}

/// Restart of a flow: the sender sends data while no packet is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Time since the last data packet was sent; zero before the first packet.
    pub idle: Duration,
    /// Retransmission timeout (RTO), with backoff.
    pub timeout: Duration,
    /// True if the flow was application-limited; always false without [rate samples](Transport::takes_samples).
    pub app_limited: bool,
}

/// Packet declared lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// Number of the packet.
    pub number: u32,
    /// Number of the next packet to be sent.
    pub next: u32,
    /// Packets in flight, without the lost packet.
    pub outstanding: u32,
}

/// Bottleneck of a flow, as inferred by its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// Unknown bottleneck, also for laws that do not identify bottlenecks.
    Unknown,
    /// Position of the router on the path. Only routers of the flow's signalling are counted, from 1.
    Hop(u8),
    /// Router with this [`PortInfo::id`].
    Router(u32),
}

/// Sender algorithm of a law.
pub trait SenderLaw: Debug {
    /// See [`Protocol::Params`].
    type Params;
    /// See [`Signalling::Header`].
    type Header;

    /// Creates the state before the first packet.
    fn new(params: &Self::Params, flow: &FlowInfo) -> Self;
    /// Returns the sending rate on the wire: the pacing rate or, without pacing, the window divided by the round-trip
    /// time.
    fn rate(&self) -> Rate;
    /// Returns true if packets are paced. Without pacing, packets are sent as soon as the window allows.
    fn paces(&self) -> bool {
        true
    }
    /// Returns the pacing rate of the next packet. It differs from [`rate`](Self::rate) in laws that pace faster or
    /// slower than this rate for a time.
    fn pace(&self) -> Rate {
        self.rate()
    }
    /// Returns the earliest departure time of the first data packet after the ACK of the [opening
    /// packet](Opening::Handshake).
    fn opens_at(&self) -> Time {
        Time::ZERO
    }
    /// Returns the timeout of a timer that replaces the retransmission timeout (RTO) of the transport; `None` to use
    /// the RTO. Each ACK restarts the timer. When the timer expires, [`on_timeout`](Self::on_timeout) is called, and
    /// the timer restarts. A law with such a timer implements the exponential backoff itself.
    fn timeout(&self) -> Option<Duration> {
        None
    }
    /// Returns the congestion window: the limit on packets in flight, at least 1.
    fn window(&self) -> u32 {
        u32::MAX
    }
    /// Returns the size of the next data packet on the wire.
    fn packet_size(&self, params: &Self::Params) -> Bytes;
    /// Returns the header of a packet that is about to be sent.
    fn on_send(&mut self, params: &Self::Params, now: Time, packet: &Outgoing) -> Self::Header;
    /// Processes an ACK.
    fn on_feedback(&mut self, params: &Self::Params, now: Time, feedback: &Feedback<Self::Header>);
    /// Receives the send-time state of a packet, before [`on_loss`](Self::on_loss) or
    /// [`on_feedback`](Self::on_feedback) is called for that packet. Called only for laws that [need rate
    /// samples](Transport::needs_rate_samples).
    fn on_flight(&mut self, _params: &Self::Params, _now: Time, _flight: &Flight) {}
    /// Called when data is sent while no packet is in flight: at the start, after an idle time, or after a timeout.
    /// Requires [loss tracking](Transport::tracks_losses).
    fn on_restart(&mut self, _params: &Self::Params, _now: Time, _restart: &Restart) {}
    /// Called when a packet is declared lost because later packets were acknowledged. After this call,
    /// [`on_feedback`](Self::on_feedback) is called for the ACK that revealed the loss.
    fn on_loss(&mut self, _params: &Self::Params, _now: Time, _loss: &Loss) {}
    /// Called when the timer expires. On a retransmission timeout (RTO), all packets in flight are declared lost. The
    /// retransmissions are numbered from `next` on.
    fn on_timeout(&mut self, _params: &Self::Params, _now: Time, _next: u32) {}
    /// Returns the rate that the sender proposes to routers; [`rate`](Self::rate) for laws without proposals.
    fn proposal(&self) -> Rate {
        self.rate()
    }
    /// Returns the bottleneck of the flow.
    fn bottleneck(&self) -> Bottleneck {
        Bottleneck::Unknown
    }
}
