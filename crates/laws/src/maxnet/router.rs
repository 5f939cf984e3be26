//! Router algorithm: the link price (fig 3) and the spare capacity for MaxStart (section IV-B).

use levelflow_units::{Bytes, Duration, Rate};

use super::header::{self, MAX_START};
use super::{Header, RouterParams};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Router of one output port. A packet needs one addition and one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    capacity: Rate,
    target: Rate,
    /// `y_dt`: bytes that have arrived in the current control interval.
    pub(super) arrived: Bytes,
    /// Link price `p`, in seconds.
    price: f64,
    /// Lowest price `p_min`, in seconds. At this price, the demand of one flow fills the link.
    floor: f64,
    pub(super) price_code: u32,
    pub(super) spare_code: u32,
    /// Bits queued at the end of the last control interval.
    waiting: f64,
    /// Bits sent in the current load window of MaxStart.
    sent: f64,
    /// Time since the current load window began, in seconds.
    lasted: f64,
    /// Mean throughput in the last load window, bit/s.
    sends: f64,
}

/// Returns the code of the spare capacity for MaxStart packets. The spare capacity is `(mu + (1 - mu)/4) C` minus the
/// throughput of the link. Its code is the price at which the demand equals the spare capacity. Without spare capacity,
/// the code is the largest code.
fn spare_code(params: &RouterParams, capacity: Rate, sends: f64) -> u32 {
    let spare = (params.mu + (1.0 - params.mu) / 4.0) * capacity.bps() - sends;
    let code = if spare > 0.0 {
        header::code(params.price_of(spare))
    } else {
        header::MAX_CODE
    };
    MAX_START | code
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        let floor = params.price_of(port.capacity.bps());
        Self {
            capacity: port.capacity,
            target: Rate::clamped(params.mu * port.capacity.bps()),
            arrived: Bytes::ZERO,
            price: floor,
            floor,
            price_code: header::code(floor),
            spare_code: spare_code(params, port.capacity, 0.0),
            waiting: 0.0,
            sent: 0.0,
            lasted: 0.0,
            sends: 0.0,
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        self.capacity = capacity;
        self.target = Rate::clamped(params.mu * capacity.bps());
        self.floor = params.price_of(capacity.bps());
        self.price = self.price.max(self.floor);
        self.price_code = header::code(self.price);
        self.spare_code = spare_code(params, capacity, self.sends);
    }

    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        let Some(header) = header else { return };
        let opens = header.price & MAX_START != 0;
        let own = if opens { self.spare_code } else { self.price_code };
        header.price = header.price.max(own);
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        params.dt_p
    }

    /// Implements fig 3: `p <- max(p + (y_dt + Q dt/T_0)/C - mu dt, p_min)`.
    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, port: &PortView) {
        let dt = elapsed.as_secs_f64();
        let c = self.capacity.bps();
        let y = self.arrived.as_bits_f64();
        self.arrived = Bytes::ZERO;
        let queue = port.queue.as_bits_f64();
        let wanted = y + port.waiting_bits() * dt / params.t0;
        let largest = header::price(header::MAX_CODE);
        self.price = (self.price + wanted / c - params.mu * dt).max(self.floor).min(largest);
        self.price_code = header::code(self.price);
        self.sent += y - port.dropped.as_bits_f64() - (queue - self.waiting);
        self.waiting = queue;
        self.lasted += dt;
        if self.lasted >= params.load_window.as_secs_f64() {
            self.sends = self.sent / self.lasted;
            self.spare_code = spare_code(params, self.capacity, self.sends);
            (self.sent, self.lasted) = (0.0, 0.0);
        }
    }

    fn target(&self) -> Rate {
        self.target
    }

    fn signal(&self) -> f64 {
        self.price
    }
}
