//! Pacing: when the next packet may leave.

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::starvation;

/// Time goes on between two packets, however high the rate.
const SHORTEST_GAP: Duration = Duration::from_ps(1);
/// A batch may leave ahead of time, and a law near rate zero cannot put its next packet off by more than this.
const MAX_AHEAD: Duration = Duration::from_secs(2);
/// Catching up never goes back further.
const MAX_CATCH_UP: Duration = Duration::from_secs(1);

/// What a host adds to what the law says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Packets leave no faster, whatever ACKs say; none: no bound.
    pub max_rate: Option<Rate>,
    /// A sender that is polled late makes up at once for what it missed in this time, or for one packet, and for no more.
    pub catch_up: Duration,
    /// Size on the wire of packets that open and close a flow.
    pub control: u16,
    /// Smallest data packet on the wire.
    pub least: u16,
}

impl Limits {
    /// An owner that polls exactly in time misses nothing.
    pub const VIRTUAL_TIME: Duration = Duration::ZERO;
    /// A thread that owns its socket and sleeps until just before a packet is due wakes within this; to make up for more would
    /// put bursts into queues.
    pub const OWN_THREAD: Duration = Duration::from_us(250);
    /// Timers of an asynchronous runtime tick in milliseconds, so that less would cost rate.
    pub const ASYNC_RUNTIME: Duration = Duration::from_ms(10);
    /// Unless told otherwise, a sender on a real network stays below this.
    pub const MAX_RATE: f64 = 10e9;

    /// This rate, or the largest allowed.
    #[inline]
    #[must_use]
    pub fn bounded(&self, rate: Rate) -> Rate {
        match self.max_rate {
            Some(most) if rate > most => most,
            _ => rate,
        }
    }
}

/// The last packet that left: the one after it leaves as much later as it takes at the present rate.
#[derive(Debug, Clone, Copy)]
pub struct Pacer {
    last: Time,
    /// 0: the next packet may leave at `last`.
    size: u16,
}

impl Pacer {
    /// A packet may leave at `now`.
    #[inline]
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { last: now, size: 0 }
    }

    /// When the last packet left, or should have.
    #[inline]
    pub(crate) fn last(&self) -> Time {
        self.last
    }

    /// When the next packet may leave at this rate, if ACKs came last at `heard` and the latest round trip took `rtt`.
    #[inline]
    #[must_use]
    pub fn due(&self, rate: Rate, heard: Time, rtt: Duration) -> Time {
        if self.size == 0 {
            return self.last;
        }
        match rate.time_to_send(Bytes::new(u64::from(self.size))) {
            Some(gap) => {
                let gap = starvation::backed_off(gap.max(SHORTEST_GAP), self.last, heard, rtt);
                self.last.saturating_add(gap)
            }
            None => Time::NEVER,
        }
    }

    /// A packet of this size leaves in time.
    #[inline]
    pub fn on_send(&mut self, now: Time, size: u16) {
        *self = Self { last: now, size };
    }

    /// A packet leaves that was `due`, perhaps late, perhaps with a batch ahead of time; the gap after it counts from when it
    /// was due, unless that is too long ago.
    pub fn on_send_due(&mut self, now: Time, size: u16, due: Time, rate: Rate, catch_up: Duration) {
        let gap = rate.time_to_send(Bytes::new(u64::from(size))).unwrap_or(Duration::ZERO);
        let missed = gap.max(catch_up).min(MAX_CATCH_UP);
        let earliest = Time::ZERO + now.since(Time::ZERO + missed);
        let last = due.max(earliest).min(now.saturating_add(MAX_AHEAD));
        *self = Self { last, size };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaves in a second, bit/s, in batches of so many packets of 1250 bytes that leave `late`.
    fn sent(rate: f64, batch: u64, late: Duration, catch_up: Duration) -> f64 {
        let (mut now, mut packets, rate) = (Time::ZERO, 0, Rate::clamped(rate));
        let mut pacer = Pacer::new(now);
        while now < Time::ZERO + Duration::from_secs(1) {
            for _ in 0..batch {
                let due = pacer.due(rate, now, Duration::ZERO);
                pacer.on_send_due(now, 1250, due, rate, catch_up);
            }
            packets += batch;
            now = now.max(pacer.due(rate, now, Duration::ZERO) + late);
        }
        packets as f64 * 1e4
    }

    #[test]
    fn the_rate_is_exact_even_if_timers_are_late_by_9_ms() {
        for late in [Duration::ZERO, Duration::from_us(100), Duration::from_ms(9)] {
            for (rate, batch) in [(10e6, 1), (100e6, 5), (1e9, 10)] {
                let ratio = sent(rate, batch, late, Limits::ASYNC_RUNTIME) / rate;
                assert!((ratio - 1.0).abs() < 0.01, "{rate} b/s, {late:?} late: {ratio}");
            }
        }
    }

    #[test]
    fn a_long_delay_is_not_made_up_for() {
        assert!(sent(100e6, 5, Duration::from_ms(40), Limits::ASYNC_RUNTIME) < 35e6);
        assert!(sent(100e6, 1, Duration::from_ms(1), Limits::OWN_THREAD) < 35e6);
    }

    #[test]
    fn a_new_rate_counts_at_once() {
        let mut pacer = Pacer::new(Time::ZERO);
        pacer.on_send(Time::ZERO, 1250);
        let due = |rate| pacer.due(Rate::clamped(rate), Time::ZERO, Duration::ZERO);
        assert_eq!(due(1e5), Time::ZERO + Duration::from_ms(100));
        assert_eq!(due(1e7), Time::ZERO + Duration::from_ms(1));
    }
}
