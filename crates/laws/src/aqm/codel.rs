//! CoDel: controlled delay. Drops, more and more often, once all packets have waited too long for a while.
//!
//! Source: RFC 8289 (K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, 2018), sections 5.5 and 5.6.
//!
//! A packet is late if it waited `target` or longer and leaves more behind than one packet of the largest size. Once
//! every packet of a whole `interval` was late, the one about to leave is dropped, and the next drop is due at
//!
//! ```text
//! t <- t + interval / sqrt(count)
//! ```
//!
//! where `t` is when the last one was due and `count`, from 1, grows by one per drop. The first packet that is not late
//! ends this. If it begins again within 16 intervals of the time when the next drop was due, `count` begins at what the
//! last time had added to it.
//!
//! Readings:
//! - The RFC's code drops, and so does this unless `ecn = true`, which marks as FQ-CoDel does (RFC 8290).
//! - The RFC's code drops several packets in a loop; here each is a call of its own, at the same time as the one
//!   before.
//! - The largest size is that of all packets so far.

use levelflow_units::{Bytes, Duration, Time};

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct CodelParams {
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "shortest wait that is too long if it lasts",
            "RFC 8289";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "how long packets may be late before one is dropped; about the longest round-trip time",
            "RFC 8289";
        ecn: bool = Unit::Switch, 0.0, SWITCH,
            "mark packets of senders that understand marks instead of dropping them",
            "RFC 8289 drops; RFC 8290 marks";
    }
}

/// State of CoDel at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Codel {
    /// Largest packet so far.
    largest: Bytes,
    /// How long the last packet that left or was dropped had waited.
    waited: Duration,
    /// When packets will have been late for an interval, while they are.
    first_above: Option<Time>,
    dropping: bool,
    /// When the next drop is due, or was when dropping ended.
    next_drop: Time,
    /// Whether that time has come and the one after it is not set yet: only a late packet sets it.
    taken: bool,
    count: u32,
    /// `count` when dropping began.
    first_count: u32,
}

impl Queue for Codel {
    type Params = CodelParams;

    const INFO: QueueInfo = QueueInfo {
        name: "codel",
        title: "CoDel: drops packets once all have waited too long for a while",
        source: "RFC 8289",
        signal: "waiting time of the last packet, seconds",
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
    /// The port has sent packets of this size; for a queue that is not the only one there.
    pub fn expect(&mut self, size: Bytes) {
        self.largest = self.largest.max(size);
    }

    /// The queue lost packets to its neighbours, which count as dropped, as in `fq_codel_drop` of Linux.
    pub fn count_lost(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Whether every packet of an interval was late, this one included (`dodequeue`, section 5.6).
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

    /// The first drop (`deque`, section 5.5).
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

/// `control_law` of section 5.6.
fn drop_after(t: Time, interval: Duration, count: u32) -> Time {
    let gap = interval.as_ps() as f64 / libm::sqrt(f64::from(count));
    t.saturating_add(Duration::from_ps(gap as u64))
}

#[cfg(test)]
mod tests;
