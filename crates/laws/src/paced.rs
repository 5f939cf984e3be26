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

/// A byte in a second, as bits per second times picoseconds, and a margin for rounding.
const BYTE: f64 = 1.001 * 8e12;

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
        // Most rates are so high that this takes no division to tell.
        let enough = (largest.get() as f64 + 1.0) * self.packets * BYTE;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// About the rate from which on packets have their full size, where the sender decides without a division.
        #[test]
        fn so_many_packets_of_this_size_are_sent_in_an_interval(
            largest in 40_u64..9000, packets in 1_u32..200, us in 1_u64..1_000_000, share in 0.9..1.1,
        ) {
            let packets = f64::from(packets);
            let sizing = Sizing { interval: Duration::from_us(us), packets, smallest: Bytes::new(40) };
            let full = largest as f64 * 8.0 * packets / sizing.interval.as_secs_f64();
            let rate = Rate::clamped(full * share);
            let size = rate.bytes_in(sizing.interval) / packets;
            prop_assert_eq!(sizing.size(Bytes::new(largest), rate), Bytes::new((size as u64).clamp(40, largest)));
        }
    }
}
