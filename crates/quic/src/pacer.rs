//! The pacer: when the next packets may leave, at a rate in bytes on the wire.

use levelflow_units::{Bytes, Duration, Rate, Time};

/// Catch-up: after a late timer, the pacer sends at once what became due within this time, and no more.
const CATCH_UP: Duration = Duration::from_ms(10);
/// Packets that fit into this time may leave together: one system call, and hardly a queue.
const TOGETHER: Duration = Duration::from_us(500);
/// Largest batch, packets.
const MAX_BATCH: f64 = 10.0;
/// Whatever a law says, a packet leaves after this time: without packets it would never say anything else.
const SLOWEST: Duration = Duration::from_ms(500);

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Pacer {
    /// When the next packet is due, had it always been at this rate.
    due: Time,
    /// When a packet leaves whatever the rate.
    last: Time,
}

impl Pacer {
    pub fn new(now: Time) -> Self {
        Self { due: now, last: now }
    }

    /// When packets may leave next; they may if this is not after `now`.
    pub fn opens(&self) -> Time {
        self.due.min(self.last + SLOWEST)
    }

    /// So many bytes leave at `now`.
    pub fn pass(&mut self, now: Time, bytes: u64, rate: Rate) {
        let earliest = Time::ZERO + now.since(Time::ZERO + CATCH_UP);
        let gap = rate.time_to_send(Bytes::new(bytes)).unwrap_or(SLOWEST);
        self.due = self.due.max(earliest).checked_add(gap).unwrap_or(self.due);
        // After a rate near zero, what is due does not lie years ahead.
        self.due = self.due.min(now + SLOWEST * 4);
        self.last = now;
    }

    /// The rate is another one now: what is still due is so at the new rate.
    pub fn rescale(&mut self, now: Time, before: Rate, rate: Rate) {
        let left = self.due.since(now).as_secs_f64() * (before.bps() / rate.bps().max(1.0));
        if let Some(left) = Duration::from_secs_f64(left.min(2.0)).filter(|_| self.due > now) {
            self.due = now + left;
        }
    }
}

/// How many bytes of payload may leave together at that rate, at least one packet.
pub(super) fn quantum(rate: Rate, packet: u64) -> u64 {
    let packets = rate.bps() / 8.0 * TOGETHER.as_secs_f64() / packet.max(1) as f64;
    packet * packets.clamp(1.0, MAX_BATCH) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What passes in a second where the pacer is asked `late` after it opened.
    fn passed(rate: f64, batch: u64, late: Duration) -> f64 {
        let (mut now, mut sum) = (Time::ZERO, 0);
        let mut pacer = Pacer::new(now);
        while now < Time::ZERO + Duration::from_secs(1) {
            pacer.pass(now, batch, Rate::clamped(rate));
            sum += batch;
            now = now.max(pacer.opens() + late);
        }
        sum as f64 * 8.0
    }

    #[test]
    fn the_rate_is_exact_even_if_timers_are_late_by_9_ms() {
        for late in [Duration::ZERO, Duration::from_us(100), Duration::from_ms(9)] {
            for (rate, batch) in [(10e6, 1250), (100e6, 6250), (1e9, 12_500)] {
                let ratio = passed(rate, batch, late) / rate;
                assert!((ratio - 1.0).abs() < 0.01, "{rate} b/s, {late:?} late: {ratio}");
            }
        }
    }

    #[test]
    fn a_long_delay_is_not_made_up_for() {
        assert!(passed(100e6, 6250, Duration::from_ms(40)) < 35e6);
    }

    #[test]
    fn two_packets_a_second_leave_whatever_the_rate() {
        let ratio = passed(1.0, 1250, Duration::ZERO) / (2.0 * 1250.0 * 8.0);
        assert!((0.9..2.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_new_rate_counts_at_once() {
        let mut pacer = Pacer::new(Time::ZERO);
        pacer.pass(Time::ZERO, 1250, Rate::clamped(1e5));
        assert_eq!(pacer.opens(), Time::ZERO + Duration::from_ms(100));
        pacer.rescale(Time::ZERO, Rate::clamped(1e5), Rate::clamped(1e7));
        assert_eq!(pacer.opens(), Time::ZERO + Duration::from_ms(1));
    }

    #[test]
    fn batches_last_half_a_millisecond_and_hold_1_to_10_packets() {
        assert_eq!(quantum(Rate::clamped(1e6), 1250), 1250);
        assert_eq!(quantum(Rate::clamped(100e6), 1250), 5 * 1250);
        assert_eq!(quantum(Rate::clamped(1e10), 1250), 10 * 1250);
    }
}
