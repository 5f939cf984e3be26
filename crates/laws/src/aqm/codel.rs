//! CoDel: controlled delay. Drops packets while the queueing delay stays above a target, at a growing rate.
//!
//! Source: RFC 8289 (K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, 2018), sections 5.5 and 5.6.
//!
//! A packet is *late* if its queueing delay is at least `target` and the backlog behind it exceeds the largest packet
//! size. When all packets of an `interval` were late, the next packet to be transmitted is dropped. The next drop is
//! due at
//!
//! ```text
//! t <- t + interval / sqrt(count)
//! ```
//!
//! where `t` is the due time of the last drop. `count` starts at 1 and grows by one per drop. The first packet that is
//! not late ends the dropping state. The due time of the next drop is kept. If dropping resumes within 16 intervals
//! after this time, `count` does not restart at 1. It restarts at the increase of `count` in the last dropping state.
//!
//! Interpretations of the source:
//! - Packets are dropped, as in the code of the RFC. With `ecn = true`, packets are marked, as in FQ-CoDel (RFC 8290).
//! - The code of the RFC drops several packets in a loop. Here, each call decides on one packet. After a drop, the next
//!   call has the same time.
//! - The largest packet size is the size of the largest packet so far.

use levelflow_units::{Bytes, Duration, Time};

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct CodelParams {
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "acceptable standing queueing delay",
            "RFC 8289";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "time above the target after which a packet is dropped; should be about the longest round-trip time",
            "RFC 8289";
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "RFC 8289 drops; RFC 8290 marks";
    }
}

/// State of CoDel at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Codel {
    /// Largest packet so far.
    largest: Bytes,
    /// Queueing delay of the last packet that left or was dropped.
    waited: Duration,
    /// Time at which packets will have been late for an interval; `None` if the last packet was not late.
    first_above: Option<Time>,
    dropping: bool,
    /// Due time of the next drop. It is kept after the end of the dropping state.
    next_drop: Time,
    /// True if the drop at `next_drop` is done. The next late packet then sets a new `next_drop`.
    taken: bool,
    count: u32,
    /// Value of `count` at the start of the dropping state.
    first_count: u32,
}

impl Queue for Codel {
    type Params = CodelParams;

    const INFO: QueueInfo = QueueInfo {
        name: "codel",
        title: "CoDel: drops packets while the queueing delay stays above a target",
        source: "RFC 8289",
        signal: "queueing delay of the last packet, seconds",
        params: &CodelParams::TABLE,
    };
    const ACTS_ON_DEPARTURE: bool = true;

    fn ecn(params: &CodelParams) -> bool {
        params.ecn
    }

    fn new(_params: &CodelParams, _port: &PortInfo) -> Self {
        Self::default()
    }

    fn on_arrival(&mut self, _params: &CodelParams, packet: &Arriving, _draw: f64) -> Verdict {
        self.largest = self.largest.max(packet.size);
        Verdict::Pass
    }

    fn on_departure(&mut self, params: &CodelParams, now: Time, waited: Duration, port: &PortView) -> Verdict {
        self.waited = waited;
        if !self.late_for_an_interval(params, now, port) {
            self.dropping = false;
            return Verdict::Pass;
        }
        if !self.dropping {
            self.begin(params, now);
            return Verdict::Notify;
        }
        if self.taken {
            self.next_drop = drop_after(self.next_drop, params.interval, self.count);
            self.taken = false;
        }
        if now < self.next_drop {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        self.taken = true;
        Verdict::Notify
    }

    fn signal(&self) -> f64 {
        self.waited.as_secs_f64()
    }
}

impl Codel {
    /// Updates the largest packet size with a packet that joined another queue of the port.
    pub fn expect(&mut self, size: Bytes) {
        self.largest = self.largest.max(size);
    }

    /// Adds dropped packets to `count`. These packets were dropped from this queue because the backlog of all queues
    /// overflowed (`fq_codel_drop` of Linux).
    pub fn count_lost(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Returns true if all packets of an interval, including the current packet, were late (`dodequeue`, section 5.6).
    fn late_for_an_interval(&mut self, params: &CodelParams, now: Time, port: &PortView) -> bool {
        if self.waited < params.target || port.queue <= self.largest {
            self.first_above = None;
            return false;
        }
        if let Some(at) = self.first_above {
            now >= at
        } else {
            self.first_above = Some(now.saturating_add(params.interval));
            false
        }
    }

    /// Starts the dropping state (`deque`, section 5.5).
    fn begin(&mut self, params: &CodelParams, now: Time) {
        let added = self.count - self.first_count;
        let recent = now.since(self.next_drop).as_ps() / 16 < params.interval.as_ps();
        self.count = if recent { added.max(1) } else { 1 };
        self.first_count = self.count;
        self.next_drop = drop_after(now, params.interval, self.count);
        self.taken = false;
        self.dropping = true;
    }
}

/// Returns the due time of the next drop: `control_law` of section 5.6.
fn drop_after(t: Time, interval: Duration, count: u32) -> Time {
    let gap = interval.as_ps() as f64 / libm::sqrt(f64::from(count));
    t.saturating_add(Duration::from_ps(gap as u64))
}

#[cfg(test)]
mod tests;
