//! Real time for laws, and waiting for it.

use std::time::{Duration as Span, Instant};

use levelflow_units::{Duration, Time};
use rustix::event::{PollFd, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::Error;

/// Wait by sleeping up to this long before the deadline, then by asking the clock: a sleep ends some 10 to 60 us late.
const SPIN_BELOW: Span = Span::from_micros(60);
/// The same where something may come before the deadline: it is not seen while the clock is asked.
const SHORT_SPIN: Span = Span::from_micros(30);

/// Nanoseconds of the machine's monotonic clock, for the time stamps of shims: on one machine, all programs read the same.
#[must_use]
pub fn stamp() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The time since a start, as laws want it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ps(ns.saturating_mul(1000))
    }

    /// How long it is until then; zero if that is past.
    #[must_use]
    pub fn until(&self, then: Time) -> Span {
        Span::from_nanos(then.since(self.now()).as_ps() / 1000)
    }

    /// Waits until then: sleeps, then spins for the last of it, so it is late by less than a microsecond on an idle core.
    pub fn wait(&self, then: Time) {
        let left = self.until(then);
        if left > SPIN_BELOW {
            std::thread::sleep(left.saturating_sub(SPIN_BELOW));
        }
        while self.now() < then {
            std::hint::spin_loop();
        }
    }

    /// Waits until one of these has what it is asked for (`true`), or until then (`false`), as sharply as
    /// [`wait`](Self::wait).
    ///
    /// # Errors
    /// When the system cannot wait for them.
    pub fn ready(&self, watched: &mut [PollFd], then: Time) -> Result<bool, Error> {
        let came = ready(watched, self.until(then).saturating_sub(SHORT_SPIN))?;
        if !came {
            self.wait(then);
        }
        Ok(came)
    }
}

/// Waits until one of these has what it is asked for (`true`; so it is after a signal), or so long (`false`).
///
/// # Errors
/// When the system cannot wait for them.
pub fn ready(watched: &mut [PollFd], limit: Span) -> Result<bool, Error> {
    match poll(watched, Some(&timespec(limit))) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(e) => Err(Error::failed(format_args!("cannot wait: {e}"))),
    }
}

/// A length of time as system calls have it.
#[must_use]
pub fn timespec(span: Span) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: span.subsec_nanos().into(),
    }
}

/// A length of time as the standard library has it.
#[must_use]
pub fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_ps() / 1000)
}
