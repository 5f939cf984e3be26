//! Loss intervals and their weighted average, RFC 5348, sections 5.2 to 5.4 and 6.3.1.

use core::iter;

use super::equation::loss_rate;
use crate::bytes::before;

/// Number of closed loss intervals in the average.
const MAX_LOSS_INTERVALS: usize = 8;

/// Weights of the loss intervals, newest first (section 5.4).
const LOSS_INTERVAL_WEIGHTS: [f64; MAX_LOSS_INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Loss intervals of a flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LossHistory {
    /// Lengths of the closed loss intervals, in packets, newest first.
    closed: [f64; MAX_LOSS_INTERVALS],
    /// Number of closed intervals.
    count: usize,
    /// Number of the first packet lost in the last loss event.
    start: u32,
    /// Number of the first packet sent after the detection of the last loss event. Losses of earlier packets belong to
    /// that event.
    end: u32,
}

impl LossHistory {
    pub fn new() -> Self {
        Self {
            closed: [0.0; MAX_LOSS_INTERVALS],
            ..Self::default()
        }
    }

    /// Records the loss of packet `number`. `next` is the number of the next packet to be sent. Returns true if the
    /// loss starts a loss event. The first interval is computed from `best`, the largest number of packets received in
    /// a round-trip time. If no packet was received, half a packet is assumed (section 6.3.1).
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
        self.count = (self.count + 1).min(MAX_LOSS_INTERVALS);
        self.start = number;
        self.end = next;
        true
    }

    /// Returns the loss event rate `p`; `None` before the first loss. `latest` is the largest number of an acknowledged
    /// packet.
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

    /// Returns the weighted sum of the first values, one value per closed interval.
    fn weigh(&self, values: impl Iterator<Item = f64>) -> f64 {
        values
            .zip(LOSS_INTERVAL_WEIGHTS)
            .take(self.count)
            .map(|(value, weight)| value * weight)
            .sum()
    }
}
