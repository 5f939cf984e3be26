//! The sender that all TCP laws share: slow start, recovery, marks, timeouts, round-trip times. Not a law itself.
//!
//! A law of the family is a [`Variant`]: how its window grows per ACK, and what remains of it after a loss.
//! `pub type MyLaw = Tcp<MyState>` then is a [`Law`]. Source: RFC 5681; RFC 6675 for recovery; RFC 3168 for marks.

mod params;
mod sender;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod window;

use core::fmt::Debug;
use core::marker::PhantomData;

use levelflow_units::Time;

pub use params::{AFTER_IDLE, AfterIdle, Common, ECN, PACED, PACING_GAIN, ROWS, SackParams, TcpParams, table};
pub use sender::TcpSender;
pub use window::{Rtt, Window};

use crate::params::Parameters;
use crate::{Law, LawInfo, NoHeader, NoRouter, Opening, ParamSpec, Protocol, Recovery, Signal, Transport};

/// What makes a TCP law: its state is a value of the type, before the first packet the default.
///
/// The sender calls [`on_ack`](Self::on_ack) for every ACK; then, when the window was in use and nothing is
/// being recovered, [`slow_start`](Self::slow_start) below the threshold and [`avoid`](Self::avoid) above it. The
/// window is cut to what [`reduce`](Self::reduce) returns once per loss episode, for marks at most once per round trip,
/// and to 1 by a timeout. What these methods make of the window is then kept within 1 and the limit.
pub trait Variant: Clone + Debug + Default + PartialEq + 'static {
    /// Its own parameters.
    type Params: Parameters;
    /// Name, source and table; made with [`info`] and [`table`].
    const INFO: LawInfo;
    /// Whether each packet lost in one window is a reason of its own to reduce, one per round trip.
    const REDUCES_PER_HOLE: bool = false;
    /// Whether it is scalable and says so (RFC 9331): its packets carry ECT(1), and its window goes on growing after a mark.
    const SCALABLE: bool = false;

    /// How the transport repairs losses.
    fn recovery(_params: &Self::Params) -> Recovery {
        Recovery::Selective
    }
    /// An ACK arrives, in whatever state the sender is.
    fn on_ack(&mut self, _params: &Self::Params, _ack: &Ack, _window: &mut Window) {}
    /// The window below the threshold grows.
    fn slow_start(&mut self, _params: &Self::Params, ack: &Ack, window: &mut Window) {
        window.slow_start(ack.growth);
    }
    /// The window above the threshold changes: congestion avoidance.
    fn avoid(&mut self, params: &Self::Params, ack: &Ack, window: &mut Window);
    /// Whether a mark is a reason to reduce now, on an ACK for a packet that left after the last reduction.
    fn heeds_mark(&self, _params: &Self::Params, _ack: &Ack) -> bool {
        true
    }
    /// A packet is taken for lost; after [`reduce`](Self::reduce), if that is a reason to.
    fn on_lost(&mut self) {}
    /// Packets that were taken for lost have arrived after all. Returns whether it has taken back the last reduction.
    fn on_returned(&mut self, _packets: u32, _window: &mut Window) -> bool {
        false
    }
    /// The window restarts after an idle time, in slow start.
    fn on_idle(&mut self) {}
    /// The threshold, in packets, after congestion in a window of [`Congestion::window`] packets. At least 2 are kept.
    fn reduce(&mut self, params: &Self::Params, congestion: &Congestion) -> f64;
}

/// An ACK for data, as a [`Variant`] sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Packets that it tells to have arrived.
    pub acked: u32,
    /// Growth of the window in slow start, packets.
    pub growth: f64,
    /// Packets still on their way.
    pub outstanding: u32,
    /// Whether it carries a mark.
    pub marked: bool,
    /// Round-trip times, including that of this ACK.
    pub rtt: Rtt,
    /// Whether it is the first ACK for a packet sent after the last ACK for which this was true: once per round
    /// trip.
    pub round: bool,
    /// Whether the window was in use, so that it may grow.
    pub in_use: bool,
}

/// A reason to send less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Congestion {
    /// What it was.
    pub cause: Cause,
    /// When.
    pub now: Time,
    /// Window at that time, packets.
    pub window: f64,
    /// Threshold at that time, packets.
    pub ssthresh: f64,
    /// Round-trip times so far.
    pub rtt: Rtt,
}

/// See [`Congestion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A packet was lost.
    Loss,
    /// A packet was marked.
    Mark,
    /// No ACK came in time.
    Timeout,
}

/// What is known of a law of the family that listens to losses; `params` is its [`table`].
#[must_use]
pub const fn info(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    params: &'static [ParamSpec],
) -> LawInfo {
    LawInfo::of_hosts(name, title, source, Signal::Loss, true, params)
}

/// The law that a [`Variant`] makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<V>(PhantomData<V>);

impl<V: Variant> Protocol for Tcp<V> {
    type Params = TcpParams<V::Params>;
    type Header = NoHeader;
    type Sender = TcpSender<V>;
    type Router = NoRouter<Self::Params, NoHeader>;
    type Receiver = ();

    fn transport(params: &Self::Params) -> Transport {
        let common = &params.common;
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            ecn: common.ecn,
            scalable: V::SCALABLE && common.ecn,
            ack_every: 1 + u8::from(common.delayed_ack),
            min_timeout: common.min_timeout,
            timeout_floor: common.timeout_floor,
            recovery: V::recovery(&params.own),
            ..Transport::PLAIN
        }
    }
}

impl<V: Variant> Law for Tcp<V> {
    const INFO: LawInfo = V::INFO;
}
