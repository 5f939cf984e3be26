//! Virtual queue: counts each packet into a queue that only exists on paper and drains at `C~`, below the capacity, and
//! tells senders when that one overflows, so that the real one need not.

use levelflow_units::{Bytes, Rate, Time};

use super::{Overflow, Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo};
use crate::params::{SWITCH, Unit, choices, parameters};

choices! {
    /// How the marking level follows the load.
    pub enum Adaptation {
        /// Not at all.
        Off = "off",
        /// `C~' = a (gamma C - x)` every few packets, within `[0, gamma C]` (Kunniyur and Srikant 2003, section V-D).
        Load = "load",
        /// The same on every packet, within `[0, C]` (Kunniyur and Srikant 2001).
        Avq = "avq",
    }
}

parameters! {
    /// Validated parameters.
    pub struct VirtualQueueParams {
        level: f64 = Unit::Number, 0.99, (0.0, 1.0),
            "marking level C~ (at the start, if it adapts) as a fraction of the capacity",
            "Kunniyur and Srikant 2003, section VI-B";
        buffer: Bytes = Unit::Size, 40_000.0, (1.0, 1e12),
            "room of the virtual queue",
            "40 packets of 1000 B; Kunniyur and Srikant 2003, section VI-B, for the real queue";
        ecn: bool = Unit::Switch, 1.0, SWITCH,
            "mark packets of senders that understand marks instead of dropping them",
            "Kunniyur and Srikant 2003, section V";
        adapt: Adaptation = Adaptation::UNIT, 0.0, Adaptation::RANGE,
            "how the marking level follows the load: not at all, every few packets, or on every packet",
            "Kunniyur and Srikant 2003, sections V-D and VI-C; avq: Kunniyur and Srikant 2001";
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "load that an adaptive level aims at, as a fraction of the capacity",
            "Kunniyur and Srikant 2003, section VI-C";
        step: f64 = Unit::Number, 0.15, (0.0, 1000.0),
            "step size of an adaptive level, per second",
            "Kunniyur and Srikant 2001; \"sufficiently small\" in 2003, section V-D";
        /// Packets between two steps of [`Adaptation::Load`].
        every: u32 = Unit::Packets, 1000.0, (1.0, 1e9),
            "packets from one step of \"load\" to the next",
            "K of Kunniyur and Srikant 2003, section VI-C";
    }
}

/// A virtual queue at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VirtualQueue {
    /// `C`, bytes per second.
    capacity: f64,
    /// `C~`, bytes per second.
    level: f64,
    /// Bytes in the virtual queue.
    virtual_bytes: f64,
    /// When the last packet came.
    last: Time,
    /// When the level last changed, and what has come since.
    since: Time,
    bytes: f64,
    packets: u32,
}

impl VirtualQueue {
    /// `C~` moves by `a` times the room that the load left below `gamma C`, both in bytes: `a (gamma C dt - b)`.
    fn follow(&mut self, params: &VirtualQueueParams, elapsed: f64, bytes: f64, highest: f64) {
        let spare = params.gamma * self.capacity * elapsed - bytes;
        self.level = (self.level + params.step * spare).clamp(0.0, highest);
    }

    /// The virtual queue sends up to now; gives the seconds since it did so last.
    fn drain(&mut self, now: Time) -> f64 {
        let gap = now.since(self.last).as_secs_f64();
        self.last = now;
        self.virtual_bytes = (self.virtual_bytes - self.level * gap).max(0.0);
        gap
    }

    fn adapt(&mut self, params: &VirtualQueueParams, packet: &Arriving, gap: f64) {
        let size = packet.size.get() as f64;
        match params.adapt {
            Adaptation::Off => {}
            Adaptation::Avq => self.follow(params, gap, size, self.capacity),
            Adaptation::Load => {
                self.bytes += size;
                self.packets += 1;
                if self.packets >= params.every {
                    let elapsed = packet.now.since(self.since).as_secs_f64();
                    self.follow(params, elapsed, self.bytes, params.gamma * self.capacity);
                    (self.since, self.bytes, self.packets) = (packet.now, 0.0, 0);
                }
            }
        }
    }
}

impl Queue for VirtualQueue {
    type Params = VirtualQueueParams;

    const INFO: QueueInfo = QueueInfo {
        name: "virtual_queue",
        title: "virtual queue of capacity C~: what would overflow it is marked",
        source: "Kunniyur and Srikant 2003, sections V and VI-B; Kunniyur and Srikant 2001",
        signal: "marking level C~, bit/s",
        params: &VirtualQueueParams::TABLE,
    };
    /// All queues of the paper do (section VI-A).
    const OVERFLOW: Overflow = Overflow::Front;

    fn ecn(params: &VirtualQueueParams) -> bool {
        params.ecn
    }

    fn new(params: &VirtualQueueParams, port: &PortInfo) -> Self {
        let capacity = port.capacity.bps() / 8.0;
        Self {
            capacity,
            level: params.level * capacity,
            ..Self::default()
        }
    }

    /// The level keeps its share of the capacity; what the virtual queue sent before, it sent at the old one.
    fn on_capacity(&mut self, params: &VirtualQueueParams, now: Time, capacity: Rate) {
        let gap = self.drain(now);
        if params.adapt == Adaptation::Avq {
            self.follow(params, gap, 0.0, self.capacity);
        }
        let new = capacity.bps() / 8.0;
        self.level *= new / self.capacity;
        self.capacity = new;
    }

    #[inline]
    fn on_arrival(&mut self, params: &VirtualQueueParams, packet: &Arriving, _draw: f64) -> Verdict {
        let size = packet.size.get() as f64;
        let gap = self.drain(packet.now);
        let fits = self.virtual_bytes + size <= params.buffer.get() as f64;
        if fits {
            self.virtual_bytes += size;
        }
        self.adapt(params, packet, gap);
        if fits { Verdict::Pass } else { Verdict::Notify }
    }

    fn signal(&self) -> f64 {
        self.level * 8.0
    }
}

#[cfg(test)]
mod tests;
