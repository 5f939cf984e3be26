//! Router algorithm of a signalling, and its inputs.

use core::fmt::Debug;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::header::NoHeader;
use crate::police::Limits;

/// Properties of an output port that its router receives at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortInfo {
    /// Port identifier on the wire, at least 1.
    pub id: u32,
    /// Line rate.
    pub capacity: Rate,
}

/// Packet that arrives at an output port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arriving {
    /// Arrival time.
    pub now: Time,
    /// Size on the wire.
    pub size: Bytes,
    /// Backlog before this arrival, including the packet in service, in bytes.
    pub queue: Bytes,
    /// Backlog before this arrival, including the packet in service, in packets.
    pub packets: u32,
}

impl Arriving {
    /// Returns a packet that arrives at an empty port at time zero.
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

/// State of an output port at the end of a control interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortView {
    /// Backlog including the packet in service, in bytes.
    pub queue: Bytes,
    /// Backlog including the packet in service, in packets.
    pub packets: u32,
    /// Size of the packet in service, if `queue` includes that packet; otherwise zero.
    pub in_service: Bytes,
    /// Bytes dropped since the end of the last control interval.
    pub dropped: Bytes,
}

impl PortView {
    /// State of an idle port: empty queue, no drops.
    pub const IDLE: Self = Self {
        queue: Bytes::ZERO,
        packets: 0,
        in_service: Bytes::ZERO,
        dropped: Bytes::ZERO,
    };

    /// Returns the backlog in bits, without the packet in service.
    #[must_use]
    pub fn waiting_bits(&self) -> f64 {
        self.queue.as_bits_f64() - self.in_service.as_bits_f64()
    }
}

/// Router algorithm of a signalling, one instance per output port.
pub trait RouterLaw: Clone + Debug + PartialEq {
    /// See [`Signalling::Params`](super::Signalling::Params).
    type Params;
    /// See [`Signalling::Header`](super::Signalling::Header).
    type Header;

    /// Creates the state before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// Called when the line rate changes to `capacity`, above zero.
    fn on_capacity(&mut self, params: &Self::Params, capacity: Rate);
    /// Called when a packet arrives, before the queue accepts or drops the packet. `header` is `None` for ACKs and for
    /// packets of other signallings. Routers only count the bytes of these packets.
    fn on_arrival(&mut self, params: &Self::Params, packet: &Arriving, header: Option<&mut Self::Header>);
    /// Returns true if the router uses [`on_departure`](Self::on_departure).
    fn stamps_departures(&self) -> bool {
        false
    }
    /// Called when a packet of this signalling leaves the queue; not called for ACKs.
    fn on_departure(&mut self, _params: &Self::Params, _size: Bytes, _header: &mut Self::Header) {}
    /// Returns the time between two calls of [`on_interval`](Self::on_interval).
    fn interval(&self, params: &Self::Params) -> Duration;
    /// Called at the end of a control interval of length `elapsed`.
    fn on_interval(&mut self, params: &Self::Params, elapsed: Duration, port: &PortView);
    /// Returns the target load of the link.
    fn target(&self) -> Rate;
    /// Returns the current feedback to senders. Its type is [`SignallingInfo::signal`](super::SignallingInfo::signal).
    fn signal(&self) -> f64;
    /// Returns the fair share of one flow, if the router computes it.
    fn share(&self) -> Option<Rate> {
        None
    }
    /// Returns the rate that the router permits each flow, in bit/s; infinite for a router without such a rate. An
    /// honest flow exceeds this rate only until it has reacted to a change.
    fn permitted(&self) -> f64 {
        f64::INFINITY
    }
    /// Returns the time for which a header counts its flow, in s; 0 for a router that does not count flows by time.
    /// Returns `None` for a header of another signalling.
    fn claimed(_params: &Self::Params, _header: &Self::Header) -> Option<f32> {
        Some(0.0)
    }
    /// Limits the values of a header. An honest header does not change, unless its flow is convicted.
    fn correct(&self, _params: &Self::Params, _size: Bytes, _limits: &Limits, _header: &mut Self::Header) {}
}

/// Router of [`NoSignals`](super::NoSignals): does nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct NoRouter;

impl RouterLaw for NoRouter {
    type Params = ();
    type Header = NoHeader;

    fn new(_params: &(), _port: &PortInfo) -> Self {
        Self
    }

    fn on_capacity(&mut self, _params: &(), _capacity: Rate) {}

    fn on_arrival(&mut self, _params: &(), _packet: &Arriving, _header: Option<&mut NoHeader>) {}

    fn interval(&self, _params: &()) -> Duration {
        Duration::MAX
    }

    fn claimed(_params: &(), _header: &NoHeader) -> Option<f32> {
        None
    }

    fn on_interval(&mut self, _params: &(), _elapsed: Duration, _port: &PortView) {}

    fn target(&self) -> Rate {
        Rate::clamped(f64::MAX)
    }

    fn signal(&self) -> f64 {
        0.0
    }
}
