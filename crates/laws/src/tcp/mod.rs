//! Sender common to all TCP laws: slow start, recovery, marks, timeouts and round-trip times. It is not a law itself.
//!
//! A law of the family is a [`Variant`], which defines window growth per ACK and the reduction after a loss.
//! `pub type MyLaw = Tcp<MyState>` is then a [`Law`]. Source: RFC 5681; RFC 6675 for recovery; RFC 3168 for marks.

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
use crate::{Law, LawInfo, NoSignals, Opening, ParamSpec, Protocol, RecoveryScheme, Signal, Transport};

/// Law-specific part of a TCP law. A value of this type is the law-specific state of a flow, initially the default.
///
/// The sender calls [`on_ack`](Self::on_ack) for every ACK. If the window was in use and no recovery is in progress, it
/// then calls [`slow_start`](Self::slow_start) below the threshold and [`avoid`](Self::avoid) above it. A loss episode
/// reduces the window once, to the result of [`reduce`](Self::reduce); marks reduce it at most once per round trip. A
/// timeout reduces the window to 1. The sender then clamps the window to the range from 1 to the limit.
pub trait Variant: Clone + Debug + Default + PartialEq + 'static {
    /// Parameters of the law.
    type Params: Parameters;
    /// Name, source and table; made with [`info`] and [`table`].
    const INFO: LawInfo;
    /// True if each packet lost from one window causes a separate reduction, at most one per round trip.
    const REDUCES_PER_HOLE: bool = false;
    /// True if the sender is scalable (RFC 9331): packets carry ECT(1), and the window keeps growing after a mark.
    const SCALABLE: bool = false;

    /// Returns the loss recovery of the transport.
    fn recovery(_params: &Self::Params) -> RecoveryScheme {
        RecoveryScheme::Selective
    }
    /// Called for each ACK, in every phase of the sender.
    fn on_ack(&mut self, _params: &Self::Params, _ack: &AckEvent, _window: &mut Window) {}
    /// Grows the window below the threshold: slow start.
    fn slow_start(&mut self, _params: &Self::Params, ack: &AckEvent, window: &mut Window) {
        window.slow_start(ack.growth);
    }
    /// Updates the window above the threshold: congestion avoidance.
    fn avoid(&mut self, params: &Self::Params, ack: &AckEvent, window: &mut Window);
    /// Returns true if this mark causes a reduction. Called on ACKs for packets sent after the last reduction.
    fn heeds_mark(&self, _params: &Self::Params, _ack: &AckEvent) -> bool {
        true
    }
    /// Called when a packet is declared lost, after [`reduce`](Self::reduce), if the loss causes a reduction.
    fn on_lost(&mut self) {}
    /// Called when an ACK shows that packets were spuriously declared lost. Returns true if the last reduction was
    /// undone.
    fn on_spurious(&mut self, _packets: u32, _window: &mut Window) -> bool {
        false
    }
    /// Called when the window restarts in slow start, after an idle time.
    fn on_idle(&mut self) {}
    /// Returns the new slow-start threshold after a congestion event, in packets. The sender raises it to at least 2.
    fn reduce(&mut self, params: &Self::Params, congestion: &Congestion) -> f64;
}

/// ACK for data, as input of a [`Variant`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AckEvent {
    /// Arrival time.
    pub now: Time,
    /// Packets newly acknowledged.
    pub acked: u32,
    /// Window growth that this ACK allows in slow start, in packets.
    pub growth: f64,
    /// Packets in flight.
    pub outstanding: u32,
    /// True if the ACK carries a mark.
    pub marked: bool,
    /// Round-trip times, including the sample of this ACK.
    pub rtt: Rtt,
    /// True for the first ACK of a round trip: it acknowledges a packet sent after the previous such ACK.
    pub round: bool,
    /// True if the flow used its window, so that the window may grow.
    pub in_use: bool,
}

/// Congestion event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Congestion {
    /// Signal that caused the event.
    pub cause: Cause,
    /// Time of the event.
    pub now: Time,
    /// Window at the time of the event, in packets.
    pub window: f64,
    /// Slow-start threshold at the time of the event, in packets.
    pub ssthresh: f64,
    /// Round-trip times at the time of the event.
    pub rtt: Rtt,
}

/// Signal that caused a [`Congestion`] event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A packet was declared lost.
    Loss,
    /// A packet was marked.
    Mark,
    /// The timer expired.
    Timeout,
}

/// Returns the description of a loss-based law of the family; `params` is its [`table`].
#[must_use]
pub const fn info(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    params: &'static [ParamSpec],
) -> LawInfo {
    LawInfo::of_hosts(name, title, source, Signal::Loss, true, params)
}

/// Law with this [`Variant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<V>(PhantomData<V>);

impl<V: Variant> Protocol for Tcp<V> {
    type Signalling = NoSignals;
    type Params = TcpParams<V::Params>;
    type Sender = TcpSender<V>;

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
