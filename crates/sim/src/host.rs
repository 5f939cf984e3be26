//! Sending hosts with random processing times and clock errors. With ideal hosts, packets of one sender can lock
//! packets of another sender out of a full queue.

use levelflow_random::Stream;
use levelflow_units::{Duration, Time};

/// Processing time and clock error of a host, for one flow. The processing time of each packet is uniformly distributed
/// on `[0, largest)`. Packets keep their order.
#[derive(Debug)]
pub struct Host {
    stream: Stream,
    /// Largest processing time, ps.
    largest: f64,
    /// Relative error of the clock; positive if the clock is slow.
    slow: f64,
    last: Time,
}

impl Host {
    pub fn new(largest: Duration, slow: f64, stream: Stream) -> Self {
        Self {
            stream,
            largest: largest.as_ps() as f64,
            slow,
            last: Time::ZERO,
        }
    }

    /// Returns the departure time of a packet that is ready now.
    #[inline]
    pub fn departure(&mut self, now: Time) -> Time {
        let processing = Duration::from_ps((self.stream.unit() * self.largest) as u64);
        self.last = now.saturating_add(processing).max(self.last);
        self.last
    }

    /// Returns the time at which the clock of the host shows `due`. The clock was right at `since`.
    #[inline]
    pub fn clocked(&self, since: Time, due: Time) -> Time {
        if due == Time::NEVER {
            return due;
        }
        let gap = due.since(since).as_ps() as f64;
        // The number is negative if the clock is fast.
        let late = (gap * self.slow) as i64;
        Time::from_ps(due.as_ps().saturating_add_signed(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processing_takes_at_most_the_overhead_and_keeps_the_order() {
        let largest = Duration::from_us(10);
        let mut host = Host::new(largest, 0.0, Stream::new(1, "overhead", "x"));
        let mut last = Time::ZERO;
        let mut sum = 0.0;
        for i in 0..10_000 {
            let ready = Time::ZERO + Duration::from_us(20 * (i / 2));
            let leaves = host.departure(ready);
            assert!(ready <= leaves && leaves < ready + largest && last <= leaves);
            // Two packets are ready at the same time. On average, the first packet leaves after `largest/2`, and the
            // second packet after `2 largest/3`.
            sum += (leaves - ready).as_secs_f64();
            last = leaves;
        }
        assert!(
            (sum / 10_000.0 / largest.as_secs_f64() - 7.0 / 12.0).abs() < 0.01,
            "{sum}"
        );
    }

    #[test]
    fn a_slow_clock_takes_longer_and_a_fast_one_less() {
        let [since, due] = [1_000_000_000, 3_000_000_000].map(Time::from_ps);
        for (slow, late) in [(1e-4, 200_000), (-1e-4, -200_000), (0.0, 0)] {
            let host = Host::new(Duration::ZERO, slow, Stream::new(1, "overhead", "x"));
            let at = host.clocked(since, due).as_ps() as i64 - due.as_ps() as i64;
            assert!((at - late).abs() <= 1, "{slow}: {at} ps");
        }
        let host = Host::new(Duration::ZERO, 1e-4, Stream::new(1, "overhead", "x"));
        assert_eq!(host.clocked(due, since), since);
        assert_eq!(host.clocked(since, Time::NEVER), Time::NEVER);
    }
}
