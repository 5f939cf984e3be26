//! The traits a law implements and the inputs it sees.

use core::fmt::Debug;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::header::{Header, Layout};
use crate::params::{ParamSpec, Parameters};

/// The types that make up one protocol. The simulator and the drivers are generic in this; a single law implements
/// it, and so does [`Any`](crate::Any), the sum of all laws.
pub trait Protocol: Debug + 'static {
    /// Parameters shared by senders and routers, validated when built.
    type Params: Clone + Debug + PartialEq;
    /// What packets carry.
    type Header: Copy + Debug + PartialEq;
    /// Sender half.
    type Sender: SenderLaw<Params = Self::Params, Header = Self::Header>;
    /// Router half, one instance per output port; [`NoRouter`] for laws that only hosts run.
    type Router: RouterLaw<Params = Self::Params, Header = Self::Header>;
    /// What a receiver remembers of a flow, `()` if nothing.
    type Receiver: Clone + Debug + Default + PartialEq;

    /// What the law needs of the transport under it.
    fn transport(params: &Self::Params) -> Transport;
    /// What the receiver sends back for a header that arrived: that header, unless the law says otherwise.
    #[inline]
    fn reflect(
        _params: &Self::Params,
        _receiver: &mut Self::Receiver,
        _arrived: &Arrived,
        header: &Self::Header,
    ) -> Self::Header {
        *header
    }
    /// As [`reflect`](Self::reflect), in place: what the simulator calls. Laws have `reflect`; only the sum of laws has this.
    #[inline]
    fn reflect_in_place(
        params: &Self::Params,
        receiver: &mut Self::Receiver,
        arrived: &Arrived,
        header: &mut Self::Header,
    ) {
        *header = Self::reflect(params, receiver, arrived, header);
    }
}

/// A protocol that is exactly one law: it has a name, a parameter table and a wire format.
pub trait Law: Protocol<Header: Header, Params: Parameters> {
    /// Name, source and parameter table.
    const INFO: LawInfo;
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
    /// Input of senders.
    pub signal: Signal,
    /// What a router does for each packet of this law, in arithmetic operations.
    pub cost: &'static str,
    /// Which law this is on the wire, unique; 0 for laws that no router listens to.
    pub number: u8,
    /// What its packets carry.
    pub header: Layout,
    /// What programs around the law must know of its routers.
    pub routers: RouterInfo,
    /// Whether multiplying every rate and size by a constant multiplies every trajectory by it.
    pub scale_invariant: bool,
    /// The parameter table.
    pub params: &'static [ParamSpec],
}

impl LawInfo {
    /// Of a law that only hosts run, which writes nothing into packets.
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
            cost: "none",
            number: 0,
            header: Layout::NONE,
            routers: RouterInfo::NONE,
            scale_invariant,
            params,
        }
    }

    /// Length of the header on the wire.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        self.header.bytes()
    }
}

/// What programs around a law must know of its routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterInfo {
    /// How a data path without Rust, such as the kernel's, counts the packets, if it can do the work on each
    /// ([`Offload`](crate::offload::Offload)).
    pub kernel: Option<Counting>,
    /// The parameter that is the time between two intervals; `None` where routers choose it.
    pub interval: Option<&'static str>,
    /// The parameter that is the share of the capacity to fill; `None` where that is all of it.
    pub utilisation: Option<&'static str>,
}

/// How a data path without Rust counts packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// In integers, per processor, since they add up in any order.
    PerProcessor,
    /// In one state under a lock, where the order of packets counts: sums of floats depend on it.
    Locked,
}

impl RouterInfo {
    /// Of a law that only hosts run.
    pub const NONE: Self = Self {
        kernel: None,
        interval: None,
        utilisation: None,
    };
}

/// Input of senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Routers write a price. [`RouterLaw::signal`] is that price, whose unit is independent of that of rates.
    Price,
    /// Routers write a rate that senders adopt. [`RouterLaw::signal`] is in bit/s.
    Rate,
    /// Routers write by how much a window may change. [`RouterLaw::signal`] is the feedback of one interval, bytes.
    Change,
    /// Queues mark packets.
    Mark,
    /// Queues drop packets.
    Loss,
    /// Round-trip times.
    Delay,
    /// Rates and times of deliveries.
    Delivery,
    /// Nothing: the sender does not listen.
    Nothing,
}

impl Signal {
    /// Whether routers on the path must run the law.
    #[must_use]
    pub const fn is_explicit(self) -> bool {
        matches!(self, Self::Price | Self::Rate | Self::Change)
    }
}

/// What a law needs of the transport under it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transport {
    /// How a flow begins.
    pub opening: Opening,
    /// The sender is notified of losses, by [`SenderLaw::on_loss`] and [`SenderLaw::on_timeout`], and lost data is sent
    /// again. Needed by laws with a window.
    pub tracks_losses: bool,
    /// Receivers send ACKs. Without them, lost data is not retransmitted, round-trip times are unknown, and the sender does not
    /// slow down when its packets stop arriving.
    pub acknowledged: bool,
    /// The rate is the same with and without ACKs, so that ACK starvation does not slow the sender down, either.
    pub constant: bool,
    /// Senders make random choices, from [`FlowInfo::seed`].
    pub draws: bool,
    /// Queues may mark packets instead of dropping them.
    pub ecn: bool,
    /// Packets that may be marked say that their sender is scalable: ECT(1), not ECT(0) (RFC 9331).
    pub scalable: bool,
    /// Packets per ACK, at least 1; a receiver sends one sooner when order or marks change.
    pub ack_every: u8,
    /// Longest time that an ACK for fewer packets is delayed. RFC 5681, section 4.2, allows 500 ms; systems use 40 to 200 ms.
    pub ack_delay: Duration,
    /// Floor of the variance term of the retransmission timeout (RTO), after which everything in flight is declared lost:
    /// `RTO = SRTT + max(4 RTTVAR, min_timeout)`.
    pub min_timeout: Duration,
    /// Floor of the RTO as a whole; zero for none.
    pub timeout_floor: Duration,
    /// How lost data are found and sent again, where they are.
    pub recovery: Recovery,
    /// The sender receives the circumstances under which packets left, by [`SenderLaw::on_flight`].
    pub tells_flights: bool,
    /// ACKs say how fast packets arrive: [`Feedback::delivery`].
    pub measures_delivery: bool,
}

/// How a sender finds what was lost and sends it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// By selective ACKs (SACK, RFC 6675).
    Selective,
    /// By cumulative and duplicate ACKs. The first new ACK ends a recovery (RFC 5681).
    Reno,
    /// The same, but an ACK for part of what was on its way has the next piece sent again (RFC 6582).
    NewReno,
}

impl Transport {
    /// For laws that listen to routers: no handshake, an ACK for every packet, losses do not matter.
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
        recovery: Recovery::Selective,
        tells_flights: false,
        measures_delivery: false,
    };

    /// Whether a sender remembers how much had been sent and had arrived when each packet left.
    #[must_use]
    pub fn takes_samples(&self) -> bool {
        self.tells_flights || self.measures_delivery
    }
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
    /// Acknowledges a `Data` or `Syn`.
    Ack,
}

/// What a sender knows of its flow when it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowInfo {
    /// Largest data packet on the wire, headers included.
    pub packet_size: Bytes,
    /// Seed of its random choices, different for each flow of a run and for each run; used only by laws that
    /// [draw](Transport::draws).
    pub seed: u64,
}

impl FlowInfo {
    /// A flow with packets of this size, and seed 0.
    #[must_use]
    pub const fn of(packet_size: Bytes) -> Self {
        Self { packet_size, seed: 0 }
    }
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

/// A packet that reached its receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrived {
    /// When.
    pub now: Time,
    /// What it is.
    pub kind: Kind,
    /// Size on the wire.
    pub size: Bytes,
}

/// An ACK that reached a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback<H> {
    /// Number of the packet that is acknowledged.
    pub number: u32,
    /// What it was.
    pub kind: Kind,
    /// Time since it was sent.
    pub rtt: Duration,
    /// Its header, as routers and receiver left it.
    pub header: H,
    /// Whether a queue marked it, or another packet that the ACK covers.
    pub marked: bool,
    /// Packets newly acknowledged; 0 for an ACK without news.
    pub acked: u32,
    /// Of packets that had been taken for lost, so many turned out to have arrived. 0 unless losses are tracked or what is lost is
    /// sent again.
    pub returned: u32,
    /// Packets on their way, as far as the sender knows: not acknowledged and not lost. 0 unless losses are tracked
    /// or what is lost is sent again.
    pub outstanding: u32,
    /// Whether the receiver misses something sent before the packet that is acknowledged. Never unless losses are
    /// tracked or what is lost is sent again.
    pub gap: bool,
    /// Packets that arrived since the acknowledged packet was sent, and in which time they did. Only where the law
    /// [asks](Transport::measures_delivery), and losses are tracked or what is lost is sent again.
    pub delivery: Option<Delivery>,
}

impl<H> Feedback<H> {
    /// The same with another form of the header.
    #[must_use]
    pub fn map_header<G>(self, form: impl FnOnce(H) -> G) -> Feedback<G> {
        Feedback {
            number: self.number,
            kind: self.kind,
            rtt: self.rtt,
            header: form(self.header),
            marked: self.marked,
            acked: self.acked,
            returned: self.returned,
            outstanding: self.outstanding,
            gap: self.gap,
            delivery: self.delivery,
        }
    }

    /// The ACK for one unmarked packet, where losses are not tracked.
    #[must_use]
    pub fn plain(number: u32, kind: Kind, rtt: Duration, header: H) -> Self {
        Self {
            number,
            kind,
            rtt,
            header,
            marked: false,
            acked: 1,
            returned: 0,
            outstanding: 0,
            gap: false,
            delivery: None,
        }
    }
}

/// A measurement of how fast packets arrive (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivery {
    /// Packets known to have arrived in all.
    pub total: u32,
    /// Of these, known when the acknowledged packet was sent.
    pub prior: u32,
    /// The longer of the times that it took to send these packets and to acknowledge them.
    pub interval: Duration,
    /// True if the flow was application-limited when the acknowledged packet left.
    pub limited: bool,
}

/// Under which circumstances a data packet left (draft-ietf-ccwg-bbr, section 4.1.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flight {
    /// Number of the packet.
    pub number: u32,
    /// Packets on their way when it had left, itself included.
    pub outstanding: u32,
    /// Packets taken for lost since then; of a lost packet, itself included.
    pub lost: u32,
    /// True if the flow was application-limited when the packet left: the application had less to send than the window allowed, not
    /// longer ago than what was then in flight.
    pub limited: bool,
}

/// Data leave while nothing is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Time since the last data packet left; zero before the first one.
    pub idle: Duration,
    /// Retransmission timeout (RTO), with backoff.
    pub timeout: Duration,
    /// True if the flow was application-limited; false also where the law takes [no samples](Transport::takes_samples).
    pub limited: bool,
}

/// A packet is taken for lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// Number of the packet.
    pub number: u32,
    /// Number of the next packet to be sent.
    pub next: u32,
    /// Packets on their way, without this one.
    pub outstanding: u32,
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
    /// Rate at which to send, wire bytes included: that at which packets are paced, or for a sender that only has a
    /// window, what it comes to.
    fn rate(&self) -> Rate;
    /// Whether packets are paced; otherwise they leave as soon as the window allows.
    fn paces(&self) -> bool {
        true
    }
    /// Rate at which the next packet is paced; differs from [`rate`](Self::rate) if the law dithers.
    fn pace(&self) -> Rate {
        self.rate()
    }
    /// Timer of the law's own, restarted by each ACK and when it expires, which is [`on_timeout`](Self::on_timeout). A law with
    /// one backs off by itself on a path without ACKs. None: the timer is the RTO of the transport.
    fn timeout(&self) -> Option<Duration> {
        None
    }
    /// Most packets that may be on their way, at least 1.
    fn window(&self) -> u32 {
        u32::MAX
    }
    /// Size of the next data packet on the wire.
    fn packet_size(&self, params: &Self::Params) -> Bytes;
    /// Stamps a packet.
    fn on_send(&mut self, params: &Self::Params, now: Time, packet: &Outgoing) -> Self::Header;
    /// Takes feedback.
    fn on_feedback(&mut self, params: &Self::Params, now: Time, feedback: &Feedback<Self::Header>);
    /// Under which circumstances the packet left that the next call is about, [`on_loss`](Self::on_loss) or
    /// [`on_feedback`](Self::on_feedback). Only where the law [asks](Transport::tells_flights).
    fn on_flight(&mut self, _params: &Self::Params, _now: Time, _flight: &Flight) {}
    /// Data leave while nothing is in flight: at the start, after an idle time, or after a timeout. Only where losses are
    /// [tracked](Transport::tracks_losses).
    fn on_restart(&mut self, _params: &Self::Params, _now: Time, _restart: &Restart) {}
    /// A packet is taken for lost: several sent after it have been acknowledged. Comes before the feedback that showed it.
    fn on_loss(&mut self, _params: &Self::Params, _now: Time, _loss: &Loss) {}
    /// The timer expired. If it is the retransmission timeout (RTO), everything outstanding is declared lost, and is
    /// retransmitted as numbers from `next` on.
    fn on_timeout(&mut self, _params: &Self::Params, _now: Time, _next: u32) {}
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

/// A packet that comes to an output port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arriving {
    /// When.
    pub now: Time,
    /// Size on the wire.
    pub size: Bytes,
    /// Bytes that it finds waiting or in service.
    pub queue: Bytes,
    /// Packets that it finds waiting or in service.
    pub packets: u32,
}

impl Arriving {
    /// A packet that comes to an empty port at time zero.
    #[must_use]
    pub fn alone(size: Bytes) -> Self {
        Self {
            now: Time::ZERO,
            size,
            queue: Bytes::ZERO,
            packets: 0,
        }
    }
}

/// What a router law sees of its output port at the end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortView {
    /// Bytes waiting or in service.
    pub queue: Bytes,
    /// Packets waiting or in service.
    pub packets: u32,
    /// Of `queue`, bytes of the packet in service; zero where the queue does not count it.
    pub in_service: Bytes,
    /// Bytes dropped since the last interval ended.
    pub dropped: Bytes,
}

impl PortView {
    /// Nothing waits, nothing was dropped.
    pub const IDLE: Self = Self {
        queue: Bytes::ZERO,
        packets: 0,
        in_service: Bytes::ZERO,
        dropped: Bytes::ZERO,
    };

    /// Bits that wait, without the packet in service.
    #[must_use]
    pub fn waiting_bits(&self) -> f64 {
        self.queue.as_bits_f64() - self.in_service.as_bits_f64()
    }
}

/// Router half of a law, one instance per output port.
pub trait RouterLaw: Clone + Debug + PartialEq {
    /// See [`Protocol::Params`].
    type Params;
    /// See [`Protocol::Header`].
    type Header;

    /// State before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// The line rate is another from now on, above zero.
    fn on_capacity(&mut self, params: &Self::Params, capacity: Rate);
    /// A packet arrives, whether or not the queue then has room for it. `header` is `None` for packets that are not
    /// this law's, and for ACKs, which routers only count.
    fn on_arrival(&mut self, params: &Self::Params, packet: &Arriving, header: Option<&mut Self::Header>);
    /// Whether [`on_departure`](Self::on_departure) does anything.
    fn stamps_departures(&self) -> bool {
        false
    }
    /// A packet of this law, not an ACK, leaves the queue.
    fn on_departure(&mut self, _params: &Self::Params, _size: Bytes, _header: &mut Self::Header) {}
    /// Time from the end of one interval to the end of the next.
    fn interval(&self, params: &Self::Params) -> Duration;
    /// The interval that lasted `elapsed` ends.
    fn on_interval(&mut self, params: &Self::Params, elapsed: Duration, port: &PortView);
    /// Load this law aims at.
    fn target(&self) -> Rate;
    /// What is being fed back, in the sense of [`LawInfo::signal`].
    fn signal(&self) -> f64;
    /// Fair share of one flow, of a law that knows it.
    fn share(&self) -> Option<Rate> {
        None
    }
}

/// Router half of a law that only hosts run.
#[derive(Debug, Clone, PartialEq)]
pub struct NoRouter<P, H>(core::marker::PhantomData<(P, H)>);

impl<P: Clone + Debug + PartialEq, H: Copy + Debug + PartialEq> RouterLaw for NoRouter<P, H> {
    type Params = P;
    type Header = H;

    fn new(_params: &P, _port: &PortInfo) -> Self {
        Self(core::marker::PhantomData)
    }

    fn on_capacity(&mut self, _params: &P, _capacity: Rate) {}

    fn on_arrival(&mut self, _params: &P, _packet: &Arriving, _header: Option<&mut H>) {}

    fn interval(&self, _params: &P) -> Duration {
        Duration::MAX
    }

    fn on_interval(&mut self, _params: &P, _elapsed: Duration, _port: &PortView) {}

    fn target(&self) -> Rate {
        Rate::clamped(f64::MAX)
    }

    fn signal(&self) -> f64 {
        0.0
    }
}
