//! What senders have in common whose routers work in intervals.

use levelflow_units::{Bytes, Duration, Rate, Time};

/// Without an ACK for this long, and for [`SILENT_RTTS`], the path counts as lost. (Levelflow; no paper has a timeout.)
const SILENCE: Duration = Duration::from_secs(1);
/// See [`SILENCE`].
const SILENT_RTTS: u64 = 3;

/// Notices when ACKs stay away.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Silence {
    /// Of the last ACK.
    pub rtt: Duration,
    /// When the rate falls unless an ACK arrives.
    at: Option<Time>,
}

impl Silence {
    /// An ACK arrived after this round-trip time.
    #[inline]
    pub fn end(&mut self, now: Time, rtt: Duration) {
        self.rtt = rtt;
        self.at = rtt
            .checked_mul(SILENT_RTTS)
            .and_then(|rtts| now.checked_add(rtts.max(SILENCE)));
    }

    /// Whether the rate is to fall now; the next time is a round trip later.
    #[inline]
    pub fn expires(&mut self, now: Time) -> bool {
        let over = self.at.is_some_and(|at| now >= at);
        if over {
            self.at = now.checked_add(self.rtt);
        }
        over
    }
}

/// Size of a packet: small at a low rate, so that routers see so many `packets` of a flow in an interval; `largest`
/// where that is 0.
#[inline]
#[must_use]
pub fn size(largest: Bytes, smallest: Bytes, rate: Rate, interval: Duration, packets: f64) -> Bytes {
    if packets == 0.0 {
        return largest;
    }
    let share = rate.bytes_in(interval) / packets;
    largest.min(smallest.max(Bytes::new(share as u64)))
}

/// The rate below which a sender does not fall, bit/s: `min_rate`, or two of the smallest sized packets in an interval.
/// A packet brings back what the interval before it showed, so a sender needs one in each.
#[must_use]
pub fn floor(min_rate: f64, smallest: Bytes, interval: Duration, packets: f64) -> f64 {
    if packets == 0.0 {
        return min_rate;
    }
    min_rate.max(2.0 * smallest.as_bits_f64() / interval.as_secs_f64())
}
