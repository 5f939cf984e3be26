//! Sender of all TCP laws: slow start, recovery, marks, timeouts and round-trip times. This folder is not a law.
//!
//! A law of the TCP family implements [`Variant`]: the window growth per ACK, and the reduction after a loss. For a
//! variant `MyState`, `pub type MyLaw = Tcp<MyState>` is a [`Law`]. Source: RFC 5681; RFC 6675 for recovery; RFC 3168
//! for marks.

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
pub(crate) use sender::recent;
pub use window::{Rtt, Window};

use crate::params::Parameters;
use crate::{Law, LawInfo, NoSignals, Opening, ParamSpec, Protocol, RecoveryScheme, Signal, Transport};

/// Law-specific code of a TCP law. The type is the law-specific state of a flow, and its default is the initial state.
///
/// The sender calls [`on_ack`](Self::on_ack) for every ACK. The window then grows, if the flow used it and no recovery
/// is in progress. Below the slow-start threshold, the sender calls [`slow_start`](Self::slow_start). Above the
/// threshold, it calls [`avoid`](Self::avoid).
///
/// A loss reduces the window to the result of [`reduce`](Self::reduce), once per window of data. Marks reduce the
/// window in the same way, at most once per round trip. A timeout sets the window to 1. After each change, the sender
/// clamps the window to the range from 1 to the limit.
pub trait Variant: Clone + Debug + Default + PartialEq + 'static {
    /// Parameters of the law.
    type Params: Parameters;
    /// Name, source and parameter table, built by [`info`] and [`table`].
    const INFO: LawInfo;
    /// True if each lost packet of a window causes a reduction, at most one per round trip.
    const REDUCES_PER_HOLE: bool = false;
    /// True if the sender is scalable (RFC 9331). Its packets carry ECT(1), and its window continues to grow after a
    /// mark.
    const SCALABLE: bool = false;

    /// Returns the loss recovery of the transport.
    fn recovery(_params: &Self::Params) -> RecoveryScheme {
        RecoveryScheme::Selective
    }
    /// Called for each ACK, also during recovery.
    fn on_ack(&mut self, _params: &Self::Params, _ack: &AckEvent, _window: &mut Window) {}
    /// Grows the window below the slow-start threshold.
    fn slow_start(&mut self, _params: &Self::Params, ack: &AckEvent, window: &mut Window) {
        window.slow_start(ack.growth);
    }
    /// Updates the window above the slow-start threshold (congestion avoidance).
    fn avoid(&mut self, params: &Self::Params, ack: &AckEvent, window: &mut Window);
    /// Returns true if a mark causes a reduction. Called for marks of packets sent after the last reduction.
    fn heeds_mark(&self, _params: &Self::Params, _ack: &AckEvent) -> bool {
        true
    }
    /// Called when a packet is declared lost. If the loss causes a reduction, [`reduce`](Self::reduce) is called first.
    fn on_lost(&mut self) {}
    /// Called when an ACK reveals spurious losses. Returns true if the variant has undone the last reduction.
    fn on_spurious(&mut self, _packets: u32, _window: &mut Window) -> bool {
        false
    }
    /// Called when the window restarts in slow start after an idle time.
    fn on_idle(&mut self) {}
    /// Returns the new slow-start threshold after a congestion event, in packets. If the threshold is below 2, the
    /// sender uses 2.
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
    /// True for the first ACK of a round trip. The acknowledged packet was sent after the first ACK of the previous
    /// round trip.
    pub round: bool,
    /// True if the flow used its window. Only then may the window grow.
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
    /// The retransmission timer expired.
    Timeout,
}

/// Returns the description of a loss-based TCP law. `params` is its [`table`].
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
