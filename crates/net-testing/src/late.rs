//! Repetition of real-time measurements on a machine with high timer latency.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Result, current, scope, sleep};
use std::time::{Duration, Instant};

/// Smallest timer latency of a single wake-up that indicates a busy machine.
const LATE: Duration = Duration::from_millis(10);
/// Smallest timer latency of one wake-up in twenty that indicates a busy machine.
const OFTEN_LATE: Duration = Duration::from_micros(500);
/// Limit on the attempts at a measurement.
const MAX_ATTEMPTS: usize = 5;
/// Pause after an attempt on a busy machine. It is repeated, at most ten times, until no wake-up during the pause is
/// late.
const CALM: Duration = Duration::from_secs(1);

/// Runs a measurement that asserts its results. If it fails while the machine is busy, it is repeated once the machine
/// is calm. The machine counts as busy if a thread that only sleeps wakes 10 ms too late, or 0.5 ms too late at more than
/// one wake-up in twenty. If all five attempts meet a busy machine, the test is [skipped](crate::skip), since it measured
/// nothing.
///
/// # Panics
/// If the measurement fails on a machine that is not busy. Also as [`skip`](crate::skip) does, if `LEVELFLOW_REQUIRE`
/// contains `time`.
pub fn on_time(measure: impl Fn()) {
    let calm = || {
        let begun = Instant::now();
        while begun.elapsed() < 10 * CALM && watch(|| sleep(CALM)).1 >= LATE {}
    };
    match repeat(|| watch(&measure), calm) {
        Outcome::Ended(result) => result.unwrap_or_else(|fault| resume_unwind(fault)),
        Outcome::Late(late) => {
            let thread = current();
            let why = format!(
                "the machine was late in {MAX_ATTEMPTS} attempts, by {} ms",
                late.as_millis()
            );
            crate::skip(thread.name().unwrap_or("a test"), "time", why);
        }
    }
}

enum Outcome {
    Ended(Result<()>),
    /// Every attempt failed while the machine was busy. The value is the timer latency of the last attempt.
    Late(Duration),
}

/// Repeats failed attempts while the machine is busy.
fn repeat(mut attempt: impl FnMut() -> (Result<()>, Duration), calm: impl Fn()) -> Outcome {
    let mut last = Duration::ZERO;
    for number in 0..MAX_ATTEMPTS {
        if number > 0 {
            eprintln!("a thread woke {} ms late: measured again", last.as_millis());
            calm();
        }
        let (result, late) = attempt();
        if result.is_ok() || late < LATE {
            return Outcome::Ended(result);
        }
        last = late;
    }
    Outcome::Late(last)
}

/// Runs a measurement. Returns its outcome, and the timer latency of a concurrent thread that only sleeps: the largest,
/// but at least [`LATE`] if the thread is often late.
fn watch(measure: impl Fn()) -> (Result<()>, Duration) {
    let over = AtomicBool::new(false);
    scope(|s| {
        let watch = s.spawn(|| {
            let nap = Duration::from_millis(1);
            let (mut wake_ups, mut often, mut late) = (0, 0, Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                sleep(nap);
                let latency = begun.elapsed().saturating_sub(nap);
                late = late.max(latency);
                wake_ups += 1;
                often += u32::from(latency >= OFTEN_LATE);
            }
            if 20 * often > wake_ups { late.max(LATE) } else { late }
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

    /// Returns the result of `repeat`, `None` if every attempt met a busy machine, and the number of attempts. The last
    /// entry of `attempts` is repeated.
    fn repeated(attempts: &[(bool, Duration)]) -> (Option<bool>, usize) {
        let (mut made, calmed) = (0, Cell::new(0));
        let outcome = repeat(
            || {
                let (holds, late) = attempts[made.min(attempts.len() - 1)];
                made += 1;
                (if holds { Ok(()) } else { Err(Box::new("no")) }, late)
            },
            || calmed.set(calmed.get() + 1),
        );
        assert_eq!(calmed.get(), made - 1, "between measurements");
        let holds = match outcome {
            Outcome::Ended(result) => Some(result.is_ok()),
            Outcome::Late(_) => None,
        };
        (holds, made)
    }

    #[test]
    fn only_what_fails_while_the_machine_is_late_is_measured_again() {
        let prompt = LATE.saturating_sub(Duration::from_nanos(1));
        assert_eq!(repeated(&[(true, prompt)]), (Some(true), 1));
        assert_eq!(repeated(&[(true, LATE)]), (Some(true), 1));
        assert_eq!(repeated(&[(false, prompt)]), (Some(false), 1));
        assert_eq!(repeated(&[(false, LATE), (true, LATE)]), (Some(true), 2));
        assert_eq!(repeated(&[(false, LATE), (false, prompt)]), (Some(false), 2));
        assert_eq!(repeated(&[(false, LATE)]), (None, MAX_ATTEMPTS));
    }

    #[test]
    fn a_panic_is_an_outcome() {
        assert!(watch(|| ()).0.is_ok());
        assert!(watch(|| panic!("it does not hold")).0.is_err());
    }
}
