//! Router half: the offered rate `R` of eq 2.

use levelflow_units::{Bytes, Duration, Rate};

use super::{RcpHeader, RcpParams, RttEstimate};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Shortest round-trip time a router computes with, seconds: the control interval is never longer than the
/// round-trip time, and must not vanish.
const SHORTEST_RTT: f64 = 1e-6;

/// One output port. Per packet: one addition, one average, one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct RcpRouter {
    /// Bit/s.
    capacity: f64,
    pub(super) arrived: Bytes,
    /// `d_0` or `D_max`, seconds.
    pub(super) rtt: f64,
    /// `R`, bit/s.
    pub(super) rate: f64,
    /// Bytes that carried a round-trip time since the last update, and that time summed over them, byte seconds.
    stamped: f64,
    weighed: f64,
    /// Mean over the bytes of the last interval that had any, seconds.
    recent: f64,
    /// Largest round-trip time seen in the running window, seconds.
    pub(super) longest: f64,
    /// How long that window has lasted, seconds.
    window: f64,
}

impl RouterLaw for RcpRouter {
    type Params = RcpParams;
    type Header = RcpHeader;

    fn new(params: &RcpParams, port: &PortInfo) -> Self {
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

    fn on_capacity(&mut self, _params: &RcpParams, capacity: Rate) {
        self.capacity = capacity.bps();
        self.rate = self.rate.min(self.capacity);
    }

    #[inline]
    fn on_arrival(&mut self, params: &RcpParams, packet: &Arriving, header: Option<&mut RcpHeader>) {
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
    fn on_departure(&mut self, _params: &RcpParams, _size: Bytes, header: &mut RcpHeader) {
        header.rate = header.rate.min(self.rate as f32);
    }

    fn interval(&self, params: &RcpParams) -> Duration {
        Duration::from_secs_f64(self.rtt).map_or(params.interval, |rtt| rtt.min(params.interval))
    }

    /// Eq 2: `R <- R [1 + (T/d)(alpha (C - y) - beta q/d)/C]`.
    fn on_interval(&mut self, params: &RcpParams, elapsed: Duration, port: &PortView) {
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
}

impl RcpRouter {
    /// Moves `d_0` towards the mean `s` of the interval with gain `T/d_0`, downwards with `(R/C) (s/d_0) (T/d_0)`. An
    /// interval without a round-trip time repeats the last `s`.
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

    /// Moves `D_max` up at once, and down only after a window of its own length: a flow that sends one packet per
    /// round-trip time is seen in every window. An empty window keeps the last value.
    fn close_window(&mut self, elapsed: f64) {
        self.window += elapsed;
        if self.longest > self.rtt || (self.longest > 0.0 && self.window >= self.rtt) {
            self.rtt = self.longest;
            (self.longest, self.window) = (0.0, 0.0);
        }
    }
}
