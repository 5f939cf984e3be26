//! Router algorithm: a byte counter, a virtual capacity, and the price of the last finished interval (eq 129-130).

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams};
use crate::offload::Offload;
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Shortest round-trip time used by a router, in seconds.
const SHORTEST_RTT: f64 = 1e-6;

/// Router of one output port. A packet needs one addition and two comparisons.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Router {
    id: u32,
    /// Target load `gamma C`, bit/s.
    target: f64,
    /// Virtual capacity, bit/s. It is negative if the additive increases of all flows in one step exceed the capacity
    /// of the link.
    virtual_capacity: f64,
    arrived: Bytes,
    /// Largest round-trip time in the current control interval, in seconds.
    longest: f32,
    /// Largest round-trip time `D_max`, in seconds, of the last control interval in which packets carried round-trip
    /// times.
    rtt: Option<f64>,
    seq: u32,
    price: f32,
    delta: f32,
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        let target = params.gamma * port.capacity.bps();
        Self {
            id: port.id,
            target,
            virtual_capacity: target,
            price: f32::MIN,
            ..Self::default()
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        let target = params.gamma * capacity.bps();
        self.virtual_capacity += target - self.target;
        self.target = target;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        let Some(header) = header else {
            return;
        };
        self.longest = self.longest.max(header.rtt);
        if self.price > header.price {
            (header.id, header.seq, header.price, header.delta) = (self.id, self.seq, self.price, self.delta);
        }
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        params.interval
    }

    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, _port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        let seconds = elapsed.as_secs_f64();
        let load = self.arrived.as_bits_f64() / seconds;
        self.adapt(params.tau * seconds, load);
        self.price = if load > 0.0 {
            (1.0 - self.virtual_capacity / load).min(f64::from(f32::MAX)) as f32
        } else {
            f32::MIN
        };
        self.delta = seconds as f32;
        self.seq = self.seq.wrapping_add(1);
        self.arrived = Bytes::ZERO;
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    fn signal(&self) -> f64 {
        f64::from(self.price)
    }
}

impl Router {
    /// Applies eq 130 with `gain = tau Delta`. The virtual capacity is limited to `(-inf, gamma C]`. It is constant
    /// until a packet carries a round-trip time.
    fn adapt(&mut self, gain: f64, load: f64) {
        if self.longest > 0.0 {
            self.rtt = Some(f64::from(self.longest).max(SHORTEST_RTT));
        }
        self.longest = 0.0;
        if let Some(rtt) = self.rtt {
            let moved = self.virtual_capacity + gain * (self.target - load) / rtt;
            self.virtual_capacity = moved.min(self.target);
        }
    }
}

impl Offload for Router {}
