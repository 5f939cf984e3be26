//! Router algorithm: the offered rate `R` of eq 2.

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams, RttEstimate};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Shortest round-trip time used by a router, in seconds. It keeps the control interval above zero, because this
/// interval is at most the round-trip time.
const SHORTEST_RTT: f64 = 1e-6;

/// Router of one output port. A packet needs one addition, one average and one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// Capacity, bit/s.
    capacity: f64,
    pub(super) arrived: Bytes,
    /// Round-trip time `d_0` or `D_max`, in seconds.
    pub(super) rtt: f64,
    /// Offered rate `R`, bit/s.
    pub(super) rate: f64,
    /// Bytes of the packets that carried a round-trip time, since the last update. `weighed` is the sum of size times
    /// round-trip time over these packets, in byte seconds.
    stamped: f64,
    weighed: f64,
    /// Byte-weighted mean round-trip time, in seconds, of the last interval in which packets carried round-trip times.
    recent: f64,
    /// Largest round-trip time in the current window, in seconds.
    pub(super) longest: f64,
    /// Time since the current window began, in seconds.
    window: f64,
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        let capacity = port.capacity.bps();
        let (rtt, rate) = (params.initial_rtt.as_secs_f64(), params.initial * capacity);
        Self {
            capacity,
            arrived: Bytes::ZERO,
            rtt,
            rate,
            stamped: 0.0,
            weighed: 0.0,
            recent: 0.0,
            longest: 0.0,
            window: 0.0,
        }
    }

    fn on_capacity(&mut self, _params: &RouterParams, capacity: Rate) {
        self.capacity = capacity.bps();
        self.rate = self.rate.min(self.capacity);
    }

    #[inline]
    fn on_arrival(&mut self, params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        let Some(header) = header else { return };
        if header.rtt > 0.0 {
            let sample = f64::from(header.rtt).clamp(SHORTEST_RTT, params.longest_rtt);
            match params.rtt {
                RttEstimate::Mean => self.rtt = params.gain * sample + (1.0 - params.gain) * self.rtt,
                RttEstimate::Max => self.longest = self.longest.max(sample),
                RttEstimate::Interval => {
                    let bytes = packet.size.as_bits_f64() / 8.0;
                    self.stamped += bytes;
                    self.weighed += bytes * sample;
                }
            }
        }
    }

    fn stamps_departures(&self) -> bool {
        true
    }

    #[inline]
    fn on_departure(&mut self, _params: &RouterParams, _size: Bytes, header: &mut Header) {
        header.rate = header.rate.min(self.rate as f32);
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        Duration::from_secs_f64(self.rtt).map_or(params.interval, |rtt| rtt.min(params.interval))
    }

    /// Implements eq 2: `R <- R [1 + (T/d)(alpha (C - y) - beta q/d)/C]`.
    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        let t = elapsed.as_secs_f64();
        match params.rtt {
            RttEstimate::Mean => {}
            RttEstimate::Max => self.close_window(t),
            RttEstimate::Interval => self.average_interval(t),
        }
        let (c, d) = (self.capacity, self.rtt);
        let y = self.arrived.as_bits_f64() / t;
        let dropped = if params.loss_aware {
            port.dropped.as_bits_f64()
        } else {
            0.0
        };
        let q = port.waiting_bits() + dropped;
        let ratio = 1.0 + t / d * (params.alpha * (c - y) - params.beta * q / d) / c;
        let floor = (params.min_per_rtt.as_bits_f64() / d).min(c);
        self.rate = (self.rate * ratio).clamp(floor, c);
        self.arrived = Bytes::ZERO;
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.capacity)
    }

    fn signal(&self) -> f64 {
        self.rate
    }

    fn permitted(&self) -> f64 {
        self.rate
    }
}

impl Router {
    /// Moves `d_0` towards the mean round-trip time `s` of the interval. The gain is `T/d_0` for increases and `(R/C)
    /// (s/d_0) (T/d_0)` for decreases. An interval without round-trip times uses the previous `s`.
    fn average_interval(&mut self, elapsed: f64) {
        if self.stamped > 0.0 {
            self.recent = self.weighed / self.stamped;
        }
        (self.stamped, self.weighed) = (0.0, 0.0);
        let up = (elapsed / self.rtt).min(1.0);
        let gain = if self.recent >= self.rtt {
            up
        } else {
            up * self.rate / self.capacity * self.recent / self.rtt
        };
        self.rtt += gain * (self.recent - self.rtt);
    }

    /// Raises `D_max` at once, and lowers it after a window of length `D_max`. This window contains a packet of each
    /// flow that sends at least one packet per round-trip time. A window without packets keeps `D_max`.
    fn close_window(&mut self, elapsed: f64) {
        self.window += elapsed;
        if self.longest > self.rtt || (self.longest > 0.0 && self.window >= self.rtt) {
            self.rtt = self.longest;
            (self.longest, self.window) = (0.0, 0.0);
        }
    }
}
