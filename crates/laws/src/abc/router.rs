//! Router algorithm: the target rate, and the fraction of packets that signal accelerate.

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams};
use crate::{Arriving, PortInfo, PortView, RouterLaw};

/// Slots of the sliding window, one per control interval.
const WINDOW_SLOTS: usize = 20;

/// Counters of one control interval. The counters have 32 bits, which keeps the enum of all routers small.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Slot {
    /// Length of the control interval, at least 1, in nanoseconds.
    time: u32,
    /// Bytes of ABC packets that departed.
    departed: u32,
    /// Bytes of other traffic that arrived.
    foreign: u32,
}

/// Router of one output port.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// Capacity `mu`, bit/s.
    capacity: f64,
    /// Target load `eta mu`, bit/s.
    goal: f64,
    slots: [Slot; WINDOW_SLOTS],
    /// Index of the slot that is replaced next.
    oldest: usize,
    /// Counters of the current interval.
    current: Slot,
    /// Departure rate `cr` of ABC packets in the sliding window, bit/s.
    pub(super) departures: f64,
    /// Arrival rate of other traffic in the sliding window, in bit/s.
    foreign: f64,
    /// Backlog in bits, including the packet in service: the last known value minus later departures.
    queue: f64,
    pub(super) tokens: f64,
    /// Bytes of accelerating packets minus bytes of braking packets, in this interval. `changed` is the value of the
    /// last interval.
    change: f64,
    changed: f64,
}

fn added(bytes: u32, size: Bytes) -> u32 {
    bytes.saturating_add(u32::try_from(size.get()).unwrap_or(u32::MAX))
}

impl Router {
    /// Returns the target rate, bit/s (eq 1): `eta mu - mu / delta (x - d_t)^+`.
    pub(super) fn target_rate(&self, params: &RouterParams) -> f64 {
        let own = (self.capacity - self.foreign).max(0.0);
        let delay = self.queue / self.capacity;
        params.eta * own - own / params.delta * (delay - params.delay_target).max(0.0)
    }

    /// Returns the fraction `f` of packets that signal accelerate (eq 2). After the ACK of such a packet, the sender
    /// sends two packets. After any other ACK, it sends none. The next rate is therefore `2 f` times the current rate.
    pub(super) fn fraction(&self, params: &RouterParams) -> f64 {
        let target = self.target_rate(params);
        if target >= 2.0 * self.departures {
            return 1.0; // avoids a division by 0 if nothing departs
        }
        (target / (2.0 * self.departures)).max(0.0)
    }
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity.bps(),
            goal: params.eta * port.capacity.bps(),
            slots: [Slot::default(); WINDOW_SLOTS],
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

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        self.capacity = capacity.bps();
        self.goal = params.eta * self.capacity;
    }

    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        self.queue = packet.queue.as_bits_f64() + packet.size.as_bits_f64();
        if header.is_none() {
            self.current.foreign = added(self.current.foreign, packet.size);
        }
    }

    fn stamps_departures(&self) -> bool {
        true
    }

    /// Applies algorithm 1: a token bucket distributes accelerations evenly over packets.
    #[inline]
    fn on_departure(&mut self, params: &RouterParams, size: Bytes, header: &mut Header) {
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

    fn interval(&self, params: &RouterParams) -> Duration {
        Duration::from_ps(params.window.as_ps() / WINDOW_SLOTS as u64)
    }

    fn on_interval(&mut self, _params: &RouterParams, elapsed: Duration, port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        self.current.time = u32::try_from(elapsed.as_ps() / 1000).unwrap_or(u32::MAX).max(1);
        self.slots[self.oldest] = core::mem::take(&mut self.current);
        self.oldest = (self.oldest + 1) % WINDOW_SLOTS;
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

impl crate::offload::Offload for Router {}
