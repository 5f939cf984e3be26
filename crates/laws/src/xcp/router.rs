//! Router half: the efficiency controller, the fairness controller, and what of their grants is left.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{RttEstimate, XcpHeader, XcpParams};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// A queue that drains within this time is not persistent, seconds (`ALLOWED_QUEUE` of draft-falk-xcp-spec-03, section
/// 4.2.5).
const ALLOWED_QUEUE: f64 = 0.002;

/// Shortest round-trip time a router computes with, seconds: what it grants must stay finite.
const SHORTEST_RTT: f64 = 1e-6;

/// Sum of the gaps that a router assumes when no packet has told one, seconds (code of the draft in ns-2 2.35).
const UNTOLD_GAPS: f64 = 1.0;

/// One output port. Per packet: three additions and a multiplication on arrival, three and two on departure.
#[derive(Debug, Clone, PartialEq)]
pub struct XcpRouter {
    /// Byte/s.
    capacity: f64,
    pub(super) arrived: Bytes,
    /// Sum of the gaps `X` that packets told in this interval, seconds.
    pub(super) gaps: f64,
    /// Sum of gap times round-trip time, square seconds; with [`RttEstimate::Max`], unused.
    pub(super) gap_rtts: f64,
    /// Largest round-trip time of this interval, seconds.
    pub(super) longest: f64,
    /// `d` or `D_max` of the last interval, seconds.
    pub(super) rtt: f64,
    /// Aggregate feedback `phi` of the last interval, bytes.
    phi: f64,
    /// What may still be granted and still has to be taken back in this interval, byte/s.
    pub(super) pools: Pools,
    pub(super) queue: PersistentQueue,
}

/// Positive and negative side of the fairness controller.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pools {
    pub positive: Pool,
    pub negative: Pool,
}

/// One side: what is left, and how much of it a packet gets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pool {
    /// Byte/s.
    pub left: f64,
    /// Byte/s per second of gap on the positive side, per byte on the negative one.
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

/// `Q`: the smallest queue that a packet found within about half the propagation delay.
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

    /// How long to look for the smallest queue after a packet that found this one.
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

/// The round-trip time that a router computes with, and the longest gap: a window has at least one packet.
#[inline]
fn counted_rtt(params: &XcpParams, header: &XcpHeader) -> f64 {
    f64::from(header.rtt).clamp(SHORTEST_RTT, params.longest_interval)
}

impl RouterLaw for XcpRouter {
    type Params = XcpParams;
    type Header = XcpHeader;

    fn new(params: &XcpParams, port: &PortInfo) -> Self {
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

    fn on_capacity(&mut self, _params: &XcpParams, capacity: Rate) {
        self.capacity = capacity.bps() / 8.0;
    }

    #[inline]
    fn on_arrival(&mut self, params: &XcpParams, packet: &Arriving, header: Option<&mut XcpHeader>) {
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
    fn on_departure(&mut self, params: &XcpParams, size: Bytes, header: &mut XcpHeader) {
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

    fn interval(&self, params: &XcpParams) -> Duration {
        Duration::from_secs_f64(self.rtt).map_or(params.initial_interval, |rtt| rtt.max(params.shortest_interval))
    }

    fn on_interval(&mut self, params: &XcpParams, elapsed: Duration, _port: &PortView) {
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
}

impl XcpRouter {
    /// How long a packet that finds this queue makes the router look for the smallest one.
    pub(super) fn queue_window(&self, queue: Bytes) -> Duration {
        PersistentQueue::window(queue, self.rtt, self.capacity)
    }

    /// Section 3.5: `phi = alpha d S - beta Q`, here per second, and what is shuffled, `h = max(0, gamma y - |phi|)`.
    fn grant(&mut self, params: &XcpParams, elapsed: f64) {
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
