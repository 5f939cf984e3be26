//! HyStart++: slow start that ends when the round-trip time grows (RFC 9406, section 4.2).

use crate::tcp::Ack;

/// Growth of the round-trip time that ends slow start: an eighth of it, within these bounds, s (section 4.3).
const MIN_RTT_THRESH: f64 = 0.004;
const MAX_RTT_THRESH: f64 = 0.016;
const MIN_RTT_DIVISOR: f64 = 8.0;
/// Round trips that must have been measured in a round.
const N_RTT_SAMPLE: u32 = 8;
/// How much slower the window grows in conservative slow start, and for how many rounds.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// What one flow remembers during its first slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HyStart {
    /// Smallest round-trip time of the last round and of this one, s; infinite before there is one.
    last: f64,
    current: f64,
    /// Round trips measured in this round.
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start (CSS): whether the delay stays is seen at a quarter of the growth.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Conservative {
    /// Smallest round-trip time at which it began, s.
    baseline: f64,
    /// Rounds that have ended in it.
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
    /// Takes the round-trip time of an ACK. Returns whether slow start is over.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> bool {
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

    /// Growth of the window, as a share of that of slow start.
    pub(super) fn growth(&self) -> f64 {
        self.conservative.map_or(1.0, |_| 1.0 / CSS_GROWTH_DIVISOR)
    }
}
