//! Measurements in real time on a machine that may be late itself.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Result, scope, sleep};
use std::time::{Duration, Instant};

/// A thread that slept this much too long was not alone on the machine.
const LATE: Duration = Duration::from_millis(10);
/// A measurement is made at most so often.
const TIMES: usize = 5;
/// A machine that was late is left alone until it has been on time for so long, at most ten times as long.
const CALM: Duration = Duration::from_secs(1);

/// Makes a measurement that asserts what it finds. If it fails while the machine is late, that is while a thread that only sleeps
/// wakes 10 ms after its time, it is made again, once the machine is calm. The fifth counts in any case.
///
/// # Panics
/// As the measurement does.
pub fn on_time(measure: impl Fn()) {
    let calm = || {
        let begun = Instant::now();
        while begun.elapsed() < 10 * CALM && watch(|| sleep(CALM)).1 >= LATE {}
    };
    repeat(|| watch(&measure), calm).unwrap_or_else(|fault| resume_unwind(fault));
}

/// Repeats what fails while the machine is late.
fn repeat(mut attempt: impl FnMut() -> (Result<()>, Duration), calm: impl Fn()) -> Result<()> {
    for _ in 1..TIMES {
        let (outcome, late) = attempt();
        if outcome.is_ok() || late < LATE {
            return outcome;
        }
        eprintln!("a thread woke {} ms late: measured again", late.as_millis());
        calm();
    }
    attempt().0
}

/// How a measurement ended, and by how much at most a thread beside it woke too late.
fn watch(measure: impl Fn()) -> (Result<()>, Duration) {
    let over = AtomicBool::new(false);
    scope(|s| {
        let watch = s.spawn(|| {
            let nap = Duration::from_millis(1);
            let mut late = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                sleep(nap);
                late = late.max(begun.elapsed().saturating_sub(nap));
            }
            late
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

    /// What `repeat` says of attempts that end so, the last one over and over, and how many it made.
    fn repeated(attempts: &[(bool, Duration)]) -> (bool, usize) {
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
        assert_eq!(repeated(&[(false, LATE)]), (false, TIMES));
    }

    #[test]
    fn a_panic_is_an_outcome() {
        assert!(watch(|| ()).0.is_ok());
        assert!(watch(|| panic!("it does not hold")).0.is_err());
    }
}
