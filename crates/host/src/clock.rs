//! Real time in the unit of laws, and waits with low timer latency.

use std::time::{Duration as Span, Instant};

use levelflow_units::{Duration, Time};
use rustix::event::{PollFd, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::Error;

/// Time before a deadline at which a wait stops sleeping and polls the clock. The reason is that sleeps end 10 to 60 us
/// late.
const SPIN_BELOW: Span = Span::from_micros(60);
/// Time before a deadline at which a wait for descriptors polls the clock. It is shorter than [`SPIN_BELOW`], because
/// descriptors are not checked while the clock is polled.
const SHORT_SPIN: Span = Span::from_micros(30);

/// Reads the machine's monotonic clock, in ns, for time stamps in packets. All programs of a machine share this clock.
#[must_use]
pub fn stamp() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Clock that counts the time since its start, in the unit of laws.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Creates a clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ps(ns.saturating_mul(1000))
    }

    /// Returns the remaining time until `then`; zero if `then` has passed.
    #[must_use]
    pub fn until(&self, then: Time) -> Span {
        Span::from_nanos(then.since(self.now()).as_ps() / 1000)
    }

    /// Waits until `then`. Sleeps first and polls the clock at the end, so that the latency on an idle core is below
    /// one microsecond.
    pub fn wait(&self, then: Time) {
        let left = self.until(then);
        if left > SPIN_BELOW {
            std::thread::sleep(left.saturating_sub(SPIN_BELOW));
        }
        while self.now() < then {
            std::hint::spin_loop();
        }
    }

    /// Waits until a descriptor is ready (returns `true`) or `then` has passed (returns `false`). The precision is the
    /// same as in [`wait`](Self::wait).
    ///
    /// # Errors
    /// When the system cannot wait for these descriptors.
    pub fn ready(&self, watched: &mut [PollFd], then: Time) -> Result<bool, Error> {
        let came = ready(watched, self.until(then).saturating_sub(SHORT_SPIN))?;
        if !came {
            self.wait(then);
        }
        Ok(came)
    }
}

/// Waits until a descriptor is ready (returns `true`) or the limit has passed (returns `false`). After a signal,
/// returns `true`.
///
/// # Errors
/// When the system cannot wait for these descriptors.
pub fn ready(watched: &mut [PollFd], limit: Span) -> Result<bool, Error> {
    match poll(watched, Some(&timespec(limit))) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(e) => Err(Error::failed(format_args!("cannot wait: {e}"))),
    }
}

/// Converts a span to the type of system calls.
#[must_use]
pub fn timespec(span: Span) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: span.subsec_nanos().into(),
    }
}

/// Converts a duration to the type of the standard library.
#[must_use]
pub fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_ps() / 1000)
}
