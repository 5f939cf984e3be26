//! What senders have in common whose routers work in intervals.

use levelflow_units::{Bytes, Duration, Rate, Time};
const PS_PER_S: f64 = 1e12;

/// Without an ACK for this long, and for [`SILENT_RTTS`], the path counts as lost. (Levelflow; no paper has a timeout.)
const SILENCE: Duration = Duration::from_secs(1);
/// More than any error of rounding.
const ABUNDANT: f64 = 1.001;
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

/// How a sender sizes packets, so that routers see enough of them in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Of routers.
    pub interval: Duration,
    /// Packets in an interval; 0 keeps them at their largest.
    pub packets: f64,
    /// Smallest packet.
    pub smallest: Bytes,
}

impl Sizing {
    /// Size of a packet at a rate: small at a low one.
    #[inline]
    #[must_use]
    pub fn size(&self, largest: Bytes, rate: Rate) -> Bytes {
        if self.packets == 0.0 {
            return largest;
        }
        // Most senders are so fast that no division is needed to tell.
        let enough = ABUNDANT * (largest.as_bits_f64() + 8.0) * self.packets * PS_PER_S;
        if rate.bps() * self.interval.as_ps() as f64 > enough {
            return largest;
        }
        let share = rate.bytes_in(self.interval) / self.packets;
        largest.min(self.smallest.max(Bytes::new(share as u64)))
    }

    /// The rate below which a sender does not fall, bit/s: `min_rate`, or two of the smallest packets in an interval.
    /// A packet brings back what the interval before it showed, so a sender needs one in each.
    #[must_use]
    pub fn floor(&self, min_rate: f64) -> f64 {
        if self.packets == 0.0 {
            return min_rate;
        }
        min_rate.max(2.0 * self.smallest.as_bits_f64() / self.interval.as_secs_f64())
    }
}
