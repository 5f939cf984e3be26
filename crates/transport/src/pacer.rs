//! Pacing: departure time of the next packet.

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::starvation;

/// Minimum inter-packet time. Time must advance between packets at any rate.
const SHORTEST_GAP: Duration = Duration::from_ps(1);
/// Limit on the time by which the send schedule may be ahead of the clock. It is ahead if packets were sent early: in a
/// batch, or at a rate near zero.
const MAX_AHEAD: Duration = Duration::from_secs(2);
/// Largest lag behind the send schedule that a late sender compensates by faster sending.
const MAX_CATCH_UP: Duration = Duration::from_secs(1);

/// Limits of a host, in addition to the limits of the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Limit on the sending rate, which no ACK can raise. `None` if the rate is unlimited.
    pub max_rate: Option<Rate>,
    /// Largest lag that a sender compensates after a late poll. The effective limit is at least one inter-packet time.
    pub catch_up: Duration,
    /// Size on the wire of packets that open and close a flow.
    pub control: u16,
    /// Size of the headers of a data packet. The rest of the packet is payload.
    pub headers: u16,
    /// Size of the smallest data packet on the wire. It exceeds the size of the headers.
    pub least: u16,
}

impl Limits {
    /// Catch-up limit in virtual time. The owner polls exactly when a packet is due.
    pub const VIRTUAL_TIME: Duration = Duration::ZERO;
    /// Catch-up limit of a thread that owns its socket. The thread sleeps until just before a packet is due, and wakes
    /// at most this time late. A larger limit would allow bursts.
    pub const OWN_THREAD: Duration = Duration::from_us(250);
    /// Catch-up limit in an asynchronous runtime. Its timers have a resolution of milliseconds. A lower limit would
    /// reduce the rate.
    pub const ASYNC_RUNTIME: Duration = Duration::from_ms(10);
    /// Default rate limit of a sender on a real network, bit/s.
    pub const MAX_RATE: f64 = 10e9;

    /// Returns `rate`, or the rate limit if that is lower.
    #[inline]
    #[must_use]
    pub fn bounded(&self, rate: Rate) -> Rate {
        match self.max_rate {
            Some(most) if rate > most => most,
            _ => rate,
        }
    }
}

/// Send schedule. The next departure time follows from the latest departure and the current rate.
#[derive(Debug, Clone, Copy)]
pub struct Pacer {
    last: Time,
    /// Size of the latest packet, bytes. 0 if the next packet may leave at `last`.
    size: u16,
}

impl Pacer {
    /// Creates a pacer that allows a packet at `now`.
    #[inline]
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { last: now, size: 0 }
    }

    /// Returns the scheduled departure of the latest packet.
    #[inline]
    pub(crate) fn last(&self) -> Time {
        self.last
    }

    /// Returns the departure time of the next packet at this rate. [`starvation`] increases the inter-packet time if
    /// ACKs are missing. `rtt` is the latest round-trip time.
    #[inline]
    #[must_use]
    pub fn due(&self, rate: Rate, last_ack_at: Time, rtt: Duration) -> Time {
        if self.size == 0 {
            return self.last;
        }
        match rate.time_to_send(Bytes::new(u64::from(self.size))) {
            Some(gap) => {
                let gap = starvation::backed_off(gap.max(SHORTEST_GAP), self.last, last_ack_at, rtt);
                self.last.saturating_add(gap)
            }
            None => Time::NEVER,
        }
    }

    /// Records a packet that leaves on time.
    #[inline]
    pub fn on_send(&mut self, now: Time, size: u16) {
        *self = Self { last: now, size };
    }

    /// Records a packet that leaves late or early. The packet was scheduled for `due`. The next inter-packet time
    /// starts at `due`, unless the lag exceeds the catch-up limit.
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

    /// Sends packets of 1250 bytes for one second, in batches of `batch` packets. Each batch is `late` behind schedule.
    /// Returns the resulting rate, bit/s.
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
