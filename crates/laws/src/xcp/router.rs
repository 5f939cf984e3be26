//! Router algorithm: the efficiency controller, the fairness controller, and the remaining feedback of the interval.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, RouterParams, RttEstimate};
use crate::header::LONGEST_TIME;
use crate::police::Limits;
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Drain time below which a queue is not persistent, in seconds (`ALLOWED_QUEUE` of draft-falk-xcp-spec-03, section
/// 4.2.5).
const ALLOWED_QUEUE: f64 = 0.002;

/// Shortest round-trip time used by a router, in seconds. It keeps the feedback finite.
const SHORTEST_RTT: f64 = 1e-6;

/// Sum of inter-packet times assumed for an interval without inter-packet times, in seconds (code of the draft in ns-2
/// 2.35).
const UNTOLD_GAPS: f64 = 1.0;

/// Router of one output port. A packet needs three additions and one multiplication at its arrival, and three additions
/// and two multiplications at its departure.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// Capacity, byte/s.
    capacity: f64,
    pub(super) arrived: Bytes,
    /// Sum of the inter-packet times `X` in the headers of this interval, in seconds.
    pub(super) gaps: f64,
    /// Sum of the products of inter-packet time and round-trip time, in s²; unused with [`RttEstimate::Max`].
    pub(super) gap_rtts: f64,
    /// Largest round-trip time in this interval, in seconds.
    pub(super) longest: f64,
    /// Round-trip time `d` or `D_max` of the last interval, in seconds.
    pub(super) rtt: f64,
    /// Aggregate feedback `phi` computed for the last interval, bytes.
    phi: f64,
    /// Remaining positive and negative feedback of this interval, byte/s.
    pub(super) pools: Pools,
    pub(super) queue: PersistentQueue,
}

/// Positive and negative feedback of the fairness controller.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pools {
    pub positive: Pool,
    pub negative: Pool,
}

/// Positive or negative feedback: the remaining amount, and the amount per unit of traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pool {
    /// Remaining amount, byte/s.
    pub left: f64,
    /// Amount per unit, byte/s. The unit of positive feedback is a second of inter-packet time. The unit of negative
    /// feedback is a byte.
    pub per_unit: f64,
}

impl Pool {
    fn new(left: f64, units: f64) -> Self {
        Self {
            left,
            per_unit: left / units,
        }
    }

    #[inline]
    fn share(&self, units: f64) -> f64 {
        (self.per_unit * units).min(self.left)
    }

    #[inline]
    fn take(&mut self, amount: f64) {
        self.left = (self.left - amount).max(0.0);
        if self.left == 0.0 {
            self.per_unit = 0.0;
        }
    }
}

/// Persistent queue `Q`: the smallest backlog at arrivals within a search window of about half the propagation delay.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PersistentQueue {
    pub last: Bytes,
    pub least: Bytes,
    pub until: Time,
}

impl PersistentQueue {
    const EMPTY: Self = Self {
        last: Bytes::ZERO,
        least: Bytes::ZERO,
        until: Time::ZERO,
    };

    /// Returns the length of a search window that begins with a backlog of `queue` bytes.
    fn window(queue: Bytes, rtt: f64, capacity: f64) -> Duration {
        let window = ((rtt - queue.get() as f64 / capacity) / 2.0).max(ALLOWED_QUEUE);
        Duration::from_secs_f64(window).unwrap_or(Duration::ZERO)
    }

    #[inline]
    fn see(&mut self, packet: &Arriving, rtt: f64, capacity: f64) {
        self.least = self.least.min(packet.queue);
        if packet.now >= self.until {
            self.last = self.least;
            self.least = packet.queue;
            let window = Self::window(packet.queue, rtt, capacity);
            self.until = packet.now.checked_add(window).unwrap_or(packet.now);
        }
    }
}

/// Returns the round-trip time used by a router. Inter-packet times are at most this time, because a window has at
/// least one packet.
#[inline]
fn counted_rtt(params: &RouterParams, header: &Header) -> f64 {
    f64::from(header.rtt).clamp(SHORTEST_RTT, params.longest_interval)
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity.bps() / 8.0,
            arrived: Bytes::ZERO,
            gaps: 0.0,
            gap_rtts: 0.0,
            longest: 0.0,
            rtt: params.initial_interval.as_secs_f64(),
            phi: 0.0,
            pools: Pools::default(),
            queue: PersistentQueue::EMPTY,
        }
    }

    fn on_capacity(&mut self, _params: &RouterParams, capacity: Rate) {
        self.capacity = capacity.bps() / 8.0;
    }

    #[inline]
    fn on_arrival(&mut self, params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.arrived = self.arrived.checked_add(packet.size).unwrap_or(Bytes::new(u64::MAX));
        self.queue.see(packet, self.rtt, self.capacity);
        let Some(header) = header else { return };
        if header.rtt > 0.0 {
            let rtt = counted_rtt(params, header);
            let gap = f64::from(header.gap).min(rtt);
            self.gaps += gap;
            match params.rtt {
                RttEstimate::Mean => self.gap_rtts += gap * rtt,
                RttEstimate::Max => self.longest = self.longest.max(rtt),
            }
        }
    }

    fn stamps_departures(&self) -> bool {
        true
    }

    #[inline]
    fn on_departure(&mut self, params: &RouterParams, size: Bytes, header: &mut Header) {
        if header.rtt == 0.0 {
            header.delta_throughput = 0.0;
            return;
        }
        let Pools { positive, negative } = &mut self.pools;
        let mut granted = positive.share(f64::from(header.gap).min(counted_rtt(params, header)));
        let mut reclaimed = negative.share(size.get() as f64);
        let own = granted - reclaimed;
        let asked = f64::from(header.delta_throughput);
        if asked >= own {
            header.delta_throughput = own.clamp(f32::MIN.into(), f32::MAX.into()) as f32;
        } else {
            let asked = asked.max(-reclaimed);
            reclaimed = (reclaimed + (own - asked)).min(negative.left);
            granted = asked + reclaimed;
        }
        positive.take(granted);
        negative.take(reclaimed);
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        Duration::from_secs_f64(self.rtt).map_or(params.initial_interval, |rtt| rtt.max(params.shortest_interval))
    }

    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, _port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        self.rtt = match params.rtt {
            _ if self.gaps == 0.0 => params.initial_interval.as_secs_f64(),
            RttEstimate::Mean => self.gap_rtts / self.gaps,
            RttEstimate::Max => self.longest,
        };
        self.pools = Pools::default();
        self.phi = 0.0;
        if self.arrived > Bytes::ZERO {
            self.grant(params, elapsed.as_secs_f64());
        }
        self.arrived = Bytes::ZERO;
        (self.gaps, self.gap_rtts, self.longest) = (0.0, 0.0, 0.0);
    }

    fn target(&self) -> Rate {
        Rate::clamped(8.0 * self.capacity)
    }

    fn signal(&self) -> f64 {
        self.phi
    }

    fn claimed(params: &RouterParams, header: &Header) -> Option<f32> {
        Some(f64::from(header.gap).min(counted_rtt(params, header)) as f32)
    }

    /// Corrects the inter-packet time of a convicted flow.
    fn correct(&self, _params: &RouterParams, _size: Bytes, limits: &Limits, header: &mut Header) {
        if let Some(gap) = limits.gap
            && header.rtt > 0.0
        {
            header.gap = gap.clamp(f32::MIN_POSITIVE, LONGEST_TIME);
        }
    }
}

impl Router {
    /// Returns the length of a search window that begins with a backlog of `queue` bytes.
    pub(super) fn queue_window(&self, queue: Bytes) -> Duration {
        PersistentQueue::window(queue, self.rtt, self.capacity)
    }

    /// Computes the feedback of section 3.5, `phi = alpha d S - beta Q`, divided by `d`. Also computes the
    /// redistributed traffic, `h = max(0, gamma y - |phi|)`.
    fn grant(&mut self, params: &RouterParams, elapsed: f64) {
        let arrived = self.arrived.get() as f64;
        let y = arrived / elapsed;
        let phi = params.alpha * (self.capacity - y) - params.beta * self.queue.last.get() as f64 / self.rtt;
        let shuffled = (params.gamma * y - phi.abs()).max(0.0);
        let gaps = if self.gaps > 0.0 { self.gaps } else { UNTOLD_GAPS };
        self.pools = Pools {
            positive: Pool::new(shuffled + phi.max(0.0), gaps),
            negative: Pool::new(shuffled + (-phi).max(0.0), arrived),
        };
        self.phi = phi * self.rtt;
    }
}
