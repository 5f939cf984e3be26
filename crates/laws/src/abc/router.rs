//! Router half: the target rate, and the share of packets that accelerate.

use levelflow_units::{Bytes, Duration, Rate};

use super::{AbcHeader, AbcParams};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Parts of the sliding window; each is an interval.
const SLOTS: usize = 20;

/// What happened in one interval, in few bytes: a router is as large as the largest law.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Slot {
    /// Nanoseconds, at least 1.
    time: u32,
    /// Bytes of ABC that left.
    departed: u32,
    /// Bytes of others that arrived.
    foreign: u32,
}

/// One output port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbcRouter {
    /// `mu`, bit/s.
    capacity: f64,
    /// `eta mu`, bit/s.
    goal: f64,
    slots: [Slot; SLOTS],
    /// The slot that is replaced next.
    oldest: usize,
    /// The interval that has not ended.
    current: Slot,
    /// `cr`: rate at which packets of ABC left in the window, bit/s.
    pub(super) departures: f64,
    /// Rate of what others sent in the window, bit/s.
    foreign: f64,
    /// Bits waiting or in service, as last seen, and with what has left since.
    queue: f64,
    pub(super) tokens: f64,
    /// Bytes that accelerated less those that braked: in this interval, and in the last.
    change: f64,
    changed: f64,
}

fn added(bytes: u32, size: Bytes) -> u32 {
    bytes.saturating_add(u32::try_from(size.get()).unwrap_or(u32::MAX))
}

impl AbcRouter {
    /// The target rate, bit/s (eq 1): `eta mu - mu / delta (x - d_t)^+`.
    pub(super) fn target_rate(&self, params: &AbcParams) -> f64 {
        let own = (self.capacity - self.foreign).max(0.0);
        let delay = self.queue / self.capacity;
        params.eta * own - own / params.delta * (delay - params.delay_target).max(0.0)
    }

    /// The share of packets that accelerate (eq 2): each brings two, so that twice the share of the present rate is the next.
    pub(super) fn fraction(&self, params: &AbcParams) -> f64 {
        let target = self.target_rate(params);
        if target >= 2.0 * self.departures {
            return 1.0; // also while nothing has left
        }
        (target / (2.0 * self.departures)).max(0.0)
    }
}

impl RouterLaw for AbcRouter {
    type Params = AbcParams;
    type Header = AbcHeader;

    fn new(params: &AbcParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity.bps(),
            goal: params.eta * port.capacity.bps(),
            slots: [Slot::default(); SLOTS],
            oldest: 0,
            current: Slot::default(),
            departures: 0.0,
            foreign: 0.0,
            queue: 0.0,
            tokens: params.tokens,
            change: 0.0,
            changed: 0.0,
        }
    }

    fn on_capacity(&mut self, params: &AbcParams, capacity: Rate) {
        self.capacity = capacity.bps();
        self.goal = params.eta * self.capacity;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &AbcParams, packet: &Arriving, header: Option<&mut AbcHeader>) {
        self.queue = packet.queue.as_bits_f64() + packet.size.as_bits_f64();
        if header.is_none() {
            self.current.foreign = added(self.current.foreign, packet.size);
        }
    }

    fn stamps_departures(&self) -> bool {
        true
    }

    /// Algorithm 1: a token bucket spreads the accelerations evenly.
    #[inline]
    fn on_departure(&mut self, params: &AbcParams, size: Bytes, header: &mut AbcHeader) {
        let bytes = size.as_bits_f64() / 8.0;
        self.tokens = (self.tokens + self.fraction(params)).min(params.tokens);
        header.see();
        if self.tokens <= 1.0 {
            header.brake();
        } else if !header.brakes() {
            self.tokens -= 1.0;
        }
        self.change += if header.brakes() { -bytes } else { bytes };
        self.current.departed = added(self.current.departed, size);
        self.queue = (self.queue - 8.0 * bytes).max(0.0);
    }

    fn interval(&self, params: &AbcParams) -> Duration {
        Duration::from_ps(params.window.as_ps() / SLOTS as u64)
    }

    fn on_interval(&mut self, _params: &AbcParams, elapsed: Duration, port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        self.current.time = u32::try_from(elapsed.as_ps() / 1000).unwrap_or(u32::MAX).max(1);
        self.slots[self.oldest] = core::mem::take(&mut self.current);
        self.oldest = (self.oldest + 1) % SLOTS;
        let sum = |part: fn(&Slot) -> u32| self.slots.iter().map(|slot| f64::from(part(slot))).sum::<f64>();
        let seconds = sum(|slot| slot.time) * 1e-9;
        self.departures = 8.0 * sum(|slot| slot.departed) / seconds;
        self.foreign = 8.0 * sum(|slot| slot.foreign) / seconds;
        self.queue = port.queue.as_bits_f64();
        self.changed = core::mem::take(&mut self.change);
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.goal)
    }

    fn signal(&self) -> f64 {
        self.changed
    }
}

impl crate::offload::Offload for AbcRouter {}
