//! Random processing time at sending hosts, without which senders that packets clock can lock each other out for ever.

use levelflow_random::Stream;
use levelflow_units::{Duration, Time};

/// The processing time of one flow: uniform from 0 to a largest one, drawn for each packet; packets keep their order.
#[derive(Debug)]
pub struct Overhead {
    stream: Stream,
    /// Picoseconds.
    largest: f64,
    last: Time,
}

impl Overhead {
    pub fn new(largest: Duration, stream: Stream) -> Self {
        Self {
            stream,
            largest: largest.as_ps() as f64,
            last: Time::ZERO,
        }
    }

    /// When a packet leaves the host that is ready now.
    #[inline]
    pub fn departure(&mut self, now: Time) -> Time {
        let processing = Duration::from_ps((self.stream.unit() * self.largest) as u64);
        self.last = now.saturating_add(processing).max(self.last);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processing_takes_at_most_the_overhead_and_keeps_the_order() {
        let largest = Duration::from_us(10);
        let mut overhead = Overhead::new(largest, Stream::new(1, "overhead", "x"));
        let mut last = Time::ZERO;
        let mut sum = 0.0;
        for i in 0..10_000 {
            let ready = Time::ZERO + Duration::from_us(20 * (i / 2));
            let leaves = overhead.departure(ready);
            assert!(ready <= leaves && leaves < ready + largest && last <= leaves);
            // The second of two packets leaves with the later of two times: 2/3 of the overhead in the mean, 1/2 the first.
            sum += (leaves - ready).as_secs_f64();
            last = leaves;
        }
        assert!(
            (sum / 10_000.0 / largest.as_secs_f64() - 7.0 / 12.0).abs() < 0.01,
            "{sum}"
        );
    }
}
