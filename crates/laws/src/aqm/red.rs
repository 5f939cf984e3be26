//! RED: random early detection. Marks packets with a probability that grows with the average queue.
//!
//! Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993); gentle mode: S.
//! Floyd, "Recommendation on using the gentle_ variant of RED" (2000).
//!
//! At each arrival, the backlog of `q` packets, including the packet in service, updates the average:
//!
//! ```text
//! avg <- (1 - w) avg + w q                 if q > 0
//! avg <- (1 - w)^(1 + t/s) avg             if the port has been idle for t;  s: time to send a typical packet
//! ```
//!
//! The packet is marked with probability `p_a`. `count` is the number of unmarked packets since the last marked packet.
//! With this `p_a`, the distance between marks is uniform on `1, ..., 1/p_b`. With the constant probability `p_b`, it
//! would be geometric.
//!
//! ```text
//! p_b = 0                                           avg < min
//!     = max_p (avg - min) / (max - min)             min <= avg < max
//!     = max_p + (1 - max_p) (avg - max) / max       max <= avg < 2 max, gentle
//!     = 1                                           above
//! p_a = p_b / (1 - count p_b)
//! ```
//!
//! With `weight = 1`, the average equals the queue. If also `min = max = K`, packets are marked at a backlog of at
//! least `K` packets, as in DCTCP (RFC 8257, section 3.1). Above this step, all packets are marked, even with `gentle`.
//!
//! Interpretations of the source:
//! - `count` is 0 at the first packet after a mark, as in the section on uniform distances of the paper. In the
//!   pseudo-code of the paper (fig 2), `count` is 1 at this packet. Distances are then uniform on `1, ..., 1/p_b - 1`.
//! - The packet that ends an idle time also counts as an arrival at an empty queue. The paper does not define the
//!   function of `t`.
//! - At `p_b = 1`, packets are marked, as in the paper. Packets that are not ECN-capable are dropped.
//! - The port is idle when all packets that RED accepted have been sent. RED is not notified when the queue drops a
//!   packet instead of marking it. If the dropped packet was the last packet before an idle time, RED computes a
//!   shorter idle time. The difference is the transmission time of the dropped packet.
//! - A packet dropped by a full buffer does not update the average.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo};
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct RedParams {
        /// Threshold `min_th`, packets.
        min: f64 = Unit::Packets, 5.0, (0.0, 1e6),
            "average queue at which marking begins",
            "Floyd and Jacobson 1993, section 5";
        /// Threshold `max_th`, packets.
        max: f64 = Unit::Packets, 15.0, (1.0, 1e6),
            "average queue at which the probability is max_p",
            "Floyd and Jacobson 1993, section 5; at least twice min";
        /// Weight `w_q`.
        weight: f64 = Unit::Number, 0.002, (1e-9, 1.0),
            "weight of the current queue in the average",
            "Floyd and Jacobson 1993, section 6";
        /// Probability `max_p`.
        max_p: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "marking probability at max",
            "Floyd 1997 (RED: discussions of setting parameters); 0.02 in Floyd and Jacobson 1993";
        /// True if the probability grows from `max_p` at `max` to 1 at twice `max`.
        gentle: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "above max, raise the probability linearly from max_p to 1 at twice max, instead of a jump to 1",
            "Floyd 2000";
        /// Size of a typical packet, which has the transmission time `s`.
        packet: Bytes = Unit::Size, 1000.0, (1.0, 1e6),
            "size of a typical packet; the average of an idle port decays once per transmission time of this packet",
            "Levelflow; set it to the packet size of the scenario";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "Floyd and Jacobson 1993, section 4: marks or drops";
    } where {
        max: max >= min, "must be at least min";
    }
}

/// State of RED at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Red {
    capacity: Rate,
    /// Average queue `avg`, packets.
    average: f64,
    /// Packets since the last marked packet.
    count: u32,
    /// Time at which the last accepted packet will have been sent.
    idle_from: Time,
}

impl Queue for Red {
    type Params = RedParams;

    const INFO: QueueInfo = QueueInfo {
        name: "red",
        title: "RED: marks packets with a probability that grows with the average queue",
        source: "Floyd and Jacobson 1993; gentle: Floyd 2000",
        signal: "average queue, packets",
        params: &RedParams::TABLE,
    };
    const DRAWS: bool = true;

    fn ecn(params: &RedParams) -> bool {
        params.ecn
    }

    fn new(_params: &RedParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity,
            ..Self::default()
        }
    }

    fn on_capacity(&mut self, _params: &RedParams, now: Time, capacity: Rate) {
        let left = self.idle_from.since(now).as_secs_f64() * self.capacity.bps() / capacity.bps();
        if left > 0.0 {
            self.idle_from = now.saturating_add(Duration::from_secs_f64(left).unwrap_or(Duration::MAX));
        }
        self.capacity = capacity;
    }

    fn on_arrival(&mut self, params: &RedParams, packet: &Arriving, draw: f64) -> Verdict {
        self.update_average(params, packet);
        if self.average < params.min {
            self.count = 0;
            return Verdict::Pass;
        }
        let p_b = params.probability(self.average);
        // After `1/p_b - 1` unmarked packets, the next packet is always marked.
        let left = 1.0 - f64::from(self.count) * p_b;
        if left <= p_b || draw < p_b / left {
            self.count = 0;
            return Verdict::Notify;
        }
        self.count = self.count.saturating_add(1);
        Verdict::Pass
    }

    fn signal(&self) -> f64 {
        self.average
    }
}

impl RedParams {
    /// Returns `p_b`.
    fn probability(&self, average: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle && self.min < self.max && average < 2.0 * self.max {
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        } else {
            1.0
        }
    }
}

impl Red {
    fn update_average(&mut self, params: &RedParams, packet: &Arriving) {
        if packet.packets == 0 {
            let idle = packet.now.since(self.idle_from).as_secs_f64();
            let missed = self.capacity.bps() * idle / params.packet.as_bits_f64();
            self.average *= libm::pow(1.0 - params.weight, 1.0 + missed);
        } else {
            self.average += params.weight * (f64::from(packet.packets) - self.average);
        }
        let backlog = self.idle_from.since(packet.now).min(self.time_to_send(packet.queue));
        let busy = backlog.checked_add(self.time_to_send(packet.size));
        let idle_from = busy.and_then(|busy| packet.now.checked_add(busy));
        self.idle_from = idle_from.unwrap_or(Time::from_ps(u64::MAX));
    }

    fn time_to_send(&self, amount: Bytes) -> Duration {
        self.capacity.time_to_send(amount).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests;
