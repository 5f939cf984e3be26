//! Repetition of real-time measurements on a machine with high timer latency.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Result, scope, sleep};
use std::time::{Duration, Instant};

/// Smallest timer latency of a single wake-up that indicates a busy machine.
const LATE: Duration = Duration::from_millis(10);
/// Smallest timer latency of one wake-up in ten that indicates a busy machine.
const OFTEN_LATE: Duration = Duration::from_micros(500);
/// Smallest number of wake-ups of which a fraction means something.
const MIN_WAKE_UPS: u32 = 100;
/// Limit on the attempts at a measurement.
const MAX_ATTEMPTS: usize = 5;
/// Pause after an attempt on a busy machine. It is repeated, at most ten times, until the machine is not busy.
const CALM: Duration = Duration::from_secs(1);

/// Runs a measurement that asserts its results. If it fails while the machine is busy, it is repeated once the machine
/// is calm. The machine counts as busy if a thread that only sleeps wakes 10 ms too late, or 0.5 ms too late at more
/// than one wake-up in ten. The fifth attempt counts in any case.
///
/// # Panics
/// As the measurement does.
pub fn on_time(measure: impl Fn()) {
    let calm = || {
        let begun = Instant::now();
        while begun.elapsed() < 10 * CALM && watch(|| sleep(CALM)).1.is_busy() {}
    };
    repeat(|| watch(&measure), calm).unwrap_or_else(|fault| resume_unwind(fault));
}

/// Timer latency of a thread that only sleeps.
#[derive(Debug, Clone, Copy, Default)]
struct Latency {
    largest: Duration,
    wake_ups: u32,
    /// Wake-ups that were [`OFTEN_LATE`] or later.
    late: u32,
}

impl Latency {
    fn add(&mut self, latency: Duration) {
        self.largest = self.largest.max(latency);
        self.wake_ups += 1;
        self.late += u32::from(latency >= OFTEN_LATE);
    }

    fn is_busy(&self) -> bool {
        self.largest >= LATE || (self.wake_ups >= MIN_WAKE_UPS && 10 * self.late > self.wake_ups)
    }
}

/// Repeats failed attempts while the machine is busy.
fn repeat(mut attempt: impl FnMut() -> (Result<()>, Latency), calm: impl Fn()) -> Result<()> {
    for _ in 1..MAX_ATTEMPTS {
        let (result, latency) = attempt();
        if result.is_ok() || !latency.is_busy() {
            return result;
        }
        eprintln!("busy machine, measured again: {latency:?}");
        calm();
    }
    attempt().0
}

/// Runs a measurement. Returns its outcome, and the timer latency of a concurrent thread.
fn watch(measure: impl Fn()) -> (Result<()>, Latency) {
    let over = AtomicBool::new(false);
    scope(|s| {
        let watch = s.spawn(|| {
            let nap = Duration::from_millis(1);
            let mut latency = Latency::default();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                sleep(nap);
                latency.add(begun.elapsed().saturating_sub(nap));
            }
            latency
        });
        let outcome = catch_unwind(AssertUnwindSafe(measure));
        over.store(true, Ordering::Relaxed);
        (outcome, watch.join().unwrap())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns whether the last attempt of `repeat` succeeded, and the number of attempts. Each attempt has an outcome
    /// and the latency of one wake-up. The last entry of `attempts` is repeated.
    fn repeated(attempts: &[(bool, Duration)]) -> (bool, usize) {
        let (mut made, calmed) = (0, Cell::new(0));
        let outcome = repeat(
            || {
                let (holds, late) = attempts[made.min(attempts.len() - 1)];
                made += 1;
                let mut latency = Latency::default();
                latency.add(late);
                (if holds { Ok(()) } else { Err(Box::new("no")) }, latency)
            },
            || calmed.set(calmed.get() + 1),
        );
        assert_eq!(calmed.get(), made - 1, "between measurements");
        (outcome.is_ok(), made)
    }

    #[test]
    fn only_what_fails_while_the_machine_is_late_is_measured_again() {
        let prompt = LATE.saturating_sub(Duration::from_nanos(1));
        assert_eq!(repeated(&[(true, prompt)]), (true, 1));
        assert_eq!(repeated(&[(true, LATE)]), (true, 1));
        assert_eq!(repeated(&[(false, prompt)]), (false, 1));
        assert_eq!(repeated(&[(false, LATE), (true, LATE)]), (true, 2));
        assert_eq!(repeated(&[(false, LATE), (false, prompt)]), (false, 2));
        assert_eq!(repeated(&[(false, LATE)]), (false, MAX_ATTEMPTS));
    }

    #[test]
    fn a_machine_is_busy_if_more_than_a_tenth_of_many_wake_ups_are_late() {
        let busy = |late: u32, wake_ups: u32| {
            let mut latency = Latency::default();
            (0..wake_ups).for_each(|i| latency.add(if i < late { OFTEN_LATE } else { Duration::ZERO }));
            latency.is_busy()
        };
        assert!(!busy(MIN_WAKE_UPS - 1, MIN_WAKE_UPS - 1));
        assert!(!busy(MIN_WAKE_UPS / 10, MIN_WAKE_UPS));
        assert!(busy(MIN_WAKE_UPS / 10 + 1, MIN_WAKE_UPS));
    }

    #[test]
    fn a_panic_is_an_outcome() {
        assert!(watch(|| ()).0.is_ok());
        assert!(watch(|| panic!("it does not hold")).0.is_err());
    }
}
