//! HyStart++: slow start that ends when the round-trip time increases (RFC 9406, section 4.2).

use crate::tcp::AckEvent;

/// Bounds of the RTT increase that ends slow start, in seconds. Within these bounds, the increase is an eighth of the
/// RTT (section 4.3).
const MIN_RTT_THRESH: f64 = 0.004;
const MAX_RTT_THRESH: f64 = 0.016;
const MIN_RTT_DIVISOR: f64 = 8.0;
/// Number of round-trip samples that a round needs before its smallest round-trip time is used.
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of the window growth in conservative slow start. `CSS_ROUNDS` is the duration of conservative slow start in
/// rounds.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// State of one flow during its first slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HyStart {
    /// Smallest round-trip time of the last round, in seconds; infinite before the first sample. `current` is the
    /// smallest round-trip time of the current round.
    last: f64,
    current: f64,
    /// Number of round-trip samples in this round.
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start (CSS): checks that the higher delay persists. The window grows at a quarter of the rate of
/// slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Conservative {
    /// Smallest round-trip time of the round in which CSS began, in seconds.
    baseline: f64,
    /// Rounds completed in conservative slow start.
    rounds: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            last: f64::INFINITY,
            current: f64::INFINITY,
            samples: 0,
            conservative: None,
        }
    }
}

impl HyStart {
    /// Adds the round-trip sample of an ACK. Returns true if slow start is over.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> bool {
        if ack.round {
            (self.last, self.current, self.samples) = (self.current, f64::INFINITY, 0);
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CSS_ROUNDS {
                    return true;
                }
            }
        }
        self.current = self.current.min(ack.rtt.last);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        false
    }

    fn judge(&mut self) {
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.current < baseline => self.conservative = None,
            None if self.current >= self.last + (self.last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) => {
                self.conservative = Some(Conservative {
                    baseline: self.current,
                    rounds: 0,
                });
            }
            _ => {}
        }
    }

    /// Returns the factor on the window growth of slow start.
    pub(super) fn growth(&self) -> f64 {
        self.conservative.map_or(1.0, |_| 1.0 / CSS_GROWTH_DIVISOR)
    }
}
