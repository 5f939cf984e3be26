//! Virtual queue: a byte counter. Each packet adds its size, and the counter drains at `C~`, below the capacity.
//! Packets that would overflow the virtual queue are marked. The real queue therefore stays short.

use levelflow_units::{Bytes, Rate, Time};

use super::{Overflow, Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo};
use crate::params::{SWITCH_RANGE, Unit, choices, parameters};

choices! {
    /// Adaptation of the drain rate (marking level) `C~` to the load.
    pub enum Adaptation {
        /// Constant `C~`.
        Off = "off",
        /// `C~' = a (gamma C - x)`, where `x` is the arrival rate. `C~` is updated once per `every` packets, and
        /// limited to `[0, gamma C]` (Kunniyur and Srikant 2003, section V-D).
        Load = "load",
        /// The equation of [`Load`](Self::Load), once per packet, limited to `[0, C]` (Kunniyur and Srikant 2001).
        Avq = "avq",
    }
}

parameters! {
    /// Validated parameters.
    pub struct VirtualQueueParams {
        level: f64 = Unit::Number, 0.99, (0.0, 1.0),
            "drain rate C~ of the virtual queue (marking level), as a fraction of the capacity; with `adapt`, the initial level",
            "Kunniyur and Srikant 2003, section VI-B";
        buffer: Bytes = Unit::Size, 40_000.0, (1.0, 1e12),
            "size of the virtual queue",
            "40 packets of 1000 B, the size of the real queue in Kunniyur and Srikant 2003, section VI-B";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "Kunniyur and Srikant 2003, section V";
        adapt: Adaptation = Adaptation::UNIT, 0.0, Adaptation::RANGE,
            "adaptation of the marking level to the load: none, once per several packets, or once per packet",
            "Kunniyur and Srikant 2003, sections V-D and VI-C; avq: Kunniyur and Srikant 2001";
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "target load of an adaptive level, as a fraction of the capacity",
            "Kunniyur and Srikant 2003, section VI-C";
        step: f64 = Unit::Number, 0.15, (0.0, 1000.0),
            "step size of an adaptive level, per second",
            "Kunniyur and Srikant 2001; \"sufficiently small\" in 2003, section V-D";
        /// Packets between two updates of [`Adaptation::Load`].
        every: u32 = Unit::Packets, 1000.0, (1.0, 1e9),
            "packets between two steps of the adaptation \"load\"",
            "K of Kunniyur and Srikant 2003, section VI-C";
    }
}

/// Virtual queue at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct VirtualQueue {
    /// Capacity `C`, bytes per second.
    capacity: f64,
    /// Drain rate `C~`, bytes per second.
    level: f64,
    /// Bytes in the virtual queue.
    virtual_bytes: f64,
    /// Arrival time of the last packet.
    last: Time,
    /// Time of the last change of `C~`. `bytes` and `packets` count the arrivals since this time.
    since: Time,
    bytes: f64,
    packets: u32,
}

impl VirtualQueue {
    /// Changes `C~` by `a (gamma C dt - b)` after a time `dt` with `b` arrived bytes.
    fn follow(&mut self, params: &VirtualQueueParams, elapsed: f64, bytes: f64, highest: f64) {
        let spare = params.gamma * self.capacity * elapsed - bytes;
        self.level = (self.level + params.step * spare).clamp(0.0, highest);
    }

    /// Drains the virtual queue until `now`. Returns the seconds since the last call.
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
        title: "virtual queue of capacity C~: marks packets that would overflow it",
        source: "Kunniyur and Srikant 2003, sections V and VI-B; Kunniyur and Srikant 2001",
        signal: "marking level C~, bit/s",
        params: &VirtualQueueParams::TABLE,
    };
    /// Drop from the front, as in all queues of the paper (section VI-A).
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

    /// Drains the virtual queue at the old `C~`, and then scales `C~` with the capacity.
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
