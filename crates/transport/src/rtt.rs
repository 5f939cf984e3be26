//! How long to wait for an answer (RFC 6298), as the simulator does.

use levelflow_units::Duration;

const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Least time to wait beyond the smoothed round trip, seconds.
const TICK: f64 = 0.01;
const MOST_BACKOFF: u32 = 6;

/// Smoothed round-trip time and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rtt {
    /// Mean and deviation, seconds.
    smoothed: Option<(f64, f64)>,
    backoff: u32,
    min_timeout: Duration,
}

impl Rtt {
    pub fn new(min_timeout: Duration) -> Self {
        Self {
            smoothed: None,
            backoff: 0,
            min_timeout,
        }
    }

    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.and_then(|(mean, _)| Duration::from_secs_f64(mean))
    }

    pub fn on_sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        let rtt = rtt.as_secs_f64();
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2.0),
            Some((mean, deviation)) => (
                mean + (rtt - mean) / 8.0,
                deviation + ((mean - rtt).abs() - deviation) / 4.0,
            ),
        });
    }

    pub fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(MOST_BACKOFF);
    }

    pub fn timeout(&self) -> Duration {
        let base = match self.smoothed {
            None => FIRST_TIMEOUT,
            Some((mean, deviation)) => Duration::from_secs_f64(mean + (4.0 * deviation).max(TICK))
                .unwrap_or(FIRST_TIMEOUT)
                .max(self.min_timeout),
        };
        base.checked_mul(1 << self.backoff).unwrap_or(Duration::MAX)
    }
}
