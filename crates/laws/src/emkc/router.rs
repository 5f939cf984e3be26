//! Router algorithm: a byte counter, and the price of the last finished interval (eq 121-122).

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Router of one output port. A packet needs one addition and one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    pub(super) id: u32,
    capacity: Rate,
    pub(super) arrived: Bytes,
    pub(super) seq: u32,
    pub(super) price: f32,
    pub(super) delta: f32,
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(_params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            id: port.id,
            capacity: port.capacity,
            arrived: Bytes::ZERO,
            seq: 0,
            price: f32::MIN,
            delta: 0.0,
        }
    }

    fn on_capacity(&mut self, _params: &RouterParams, capacity: Rate) {
        self.capacity = capacity;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        if let Some(header) = header
            && self.price > header.price
        {
            (header.id, header.seq, header.price, header.delta) = (self.id, self.seq, self.price, self.delta);
        }
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        params.interval
    }

    fn on_interval(&mut self, _params: &RouterParams, elapsed: Duration, _port: &PortView) {
        let seconds = elapsed.as_secs_f64();
        let load = self.arrived.as_bits_f64() / seconds;
        self.price = if load > 0.0 {
            (1.0 - self.capacity.bps() / load) as f32
        } else {
            f32::MIN
        };
        self.delta = seconds as f32;
        self.seq = self.seq.wrapping_add(1);
        self.arrived = Bytes::ZERO;
    }

    fn target(&self) -> Rate {
        self.capacity
    }

    fn signal(&self) -> f64 {
        f64::from(self.price)
    }
}
