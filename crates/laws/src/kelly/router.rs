//! Router algorithm: a byte counter, and the price of the last control interval with arrivals (eq 53).

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams};
use crate::offload::Offload;
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Lowest price of one router. Its magnitude is too small to change the lowest finite `f32`. Sums over a path therefore
/// stay finite.
const MIN_PRICE: f64 = -1e30;

/// Router of one output port. A packet needs two additions and one comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Router {
    capacity: Rate,
    arrived: Bytes,
    /// Price; 0 before the first measurement.
    price: f32,
    seq: u32,
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(_params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity,
            ..Self::default()
        }
    }

    fn on_capacity(&mut self, _params: &RouterParams, capacity: Rate) {
        self.capacity = capacity;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        if let Some(header) = header {
            header.price += self.price;
            if header.seq == 0 {
                header.seq = self.seq;
            }
        }
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        params.interval
    }

    fn on_interval(&mut self, _params: &RouterParams, elapsed: Duration, _port: &PortView) {
        let load = self.arrived.as_bits_f64() / elapsed.as_secs_f64();
        if load > 0.0 {
            self.price = (1.0 - self.capacity.bps() / load).max(MIN_PRICE) as f32;
        }
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

impl Offload for Router {}
