//! Loss intervals and their weighted average, RFC 5348, sections 5.2 to 5.4 and 6.3.1.

use core::iter;

use super::equation::loss_rate;
use crate::bytes::before;

/// Closed intervals that count.
const INTERVALS: usize = 8;

/// Weights, newest first (section 5.4).
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The loss events of a flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LossHistory {
    /// Packets from one event to the next, newest first.
    closed: [f64; INTERVALS],
    /// How many of them there are.
    count: usize,
    /// First packet lost in the latest event.
    start: u32,
    /// First packet sent after it was noticed, a round-trip time later. Older ones belong to the event.
    end: u32,
}

impl LossHistory {
    pub fn new() -> Self {
        Self {
            closed: [0.0; INTERVALS],
            ..Self::default()
        }
    }

    /// A packet is lost, and `next` will be sent next. Returns whether it begins a loss event. The interval before the
    /// first event is the one that explains the most packets that were received in a round-trip time, `best`; half a
    /// packet if there were none (section 6.3.1).
    pub fn lose(&mut self, number: u32, next: u32, best: f64) -> bool {
        if before(number, self.end) {
            return false;
        }
        let interval = if self.count == 0 {
            1.0 / loss_rate(if best > 0.0 { best } else { 0.5 })
        } else {
            f64::from(number.wrapping_sub(self.start).max(1))
        };
        self.closed.rotate_right(1);
        self.closed[0] = interval;
        self.count = (self.count + 1).min(INTERVALS);
        self.start = number;
        self.end = next;
        true
    }

    /// The loss event rate `p`, where `latest` is the latest packet that arrived; `None` before the first loss.
    pub fn rate(&self, latest: u32) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let open = if before(latest, self.start) {
            0.0
        } else {
            f64::from(latest.wrapping_sub(self.start)) + 1.0
        };
        let closed = self.closed.into_iter();
        let sum = self
            .weigh(closed.clone())
            .max(self.weigh(iter::once(open).chain(closed)));
        let mean = sum / self.weigh(iter::repeat(1.0));
        Some(1.0 / mean.max(1.0))
    }

    /// Weighted sum of as many values as there are closed intervals.
    fn weigh(&self, values: impl Iterator<Item = f64>) -> f64 {
        values
            .zip(WEIGHTS)
            .take(self.count)
            .map(|(value, weight)| value * weight)
            .sum()
    }
}
