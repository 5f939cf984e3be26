//! Router half: a byte counter, and the price of the last interval in which something arrived (eq 53).

use levelflow_units::{Bytes, Duration, Rate};

use super::{KellyHeader, KellyParams};
use crate::offload::Offload;
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Lowest price of one router. It does not move the largest `f32`, so no sum of a path is infinite.
const LOWEST: f64 = -1e30;

/// One output port. Per packet: two additions and one comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KellyRouter {
    capacity: Rate,
    arrived: Bytes,
    /// 0 before anything has been measured.
    price: f32,
    seq: u32,
}

impl RouterLaw for KellyRouter {
    type Params = KellyParams;
    type Header = KellyHeader;

    fn new(_params: &KellyParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity,
            ..Self::default()
        }
    }

    fn on_capacity(&mut self, _params: &KellyParams, capacity: Rate) {
        self.capacity = capacity;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &KellyParams, packet: &Arriving, header: Option<&mut KellyHeader>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        if let Some(header) = header {
            header.price += self.price;
            if header.seq == 0 {
                header.seq = self.seq;
            }
        }
    }

    fn interval(&self, params: &KellyParams) -> Duration {
        params.interval
    }

    fn on_interval(&mut self, _params: &KellyParams, elapsed: Duration, _port: &PortView) {
        let load = self.arrived.as_bits_f64() / elapsed.as_secs_f64();
        if load > 0.0 {
            self.price = (1.0 - self.capacity.bps() / load).max(LOWEST) as f32;
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

impl Offload for KellyRouter {}
