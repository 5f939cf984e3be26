//! ACK timer and packet sizes of paced senders whose routers update their feedback once per control interval.

use levelflow_units::{Bytes, Duration, Rate, Time};

/// Lower bound of the ACK timeout. The sender reduces its rate at the timeout. (The papers have no timeout; Levelflow
/// adds it.)
const MIN_ACK_TIMEOUT: Duration = Duration::from_secs(1);
/// ACK timeout in round-trip times. [`MIN_ACK_TIMEOUT`] applies if it is longer.
const SILENT_RTTS: u64 = 3;

/// Longest inter-packet time that feedback can cause. A sender that sent no packets would never receive new feedback.
const SLOWEST_GAP: Duration = Duration::from_secs(10);

/// Returns the lowest rate of a sender: one packet per [`SLOWEST_GAP`].
pub fn slowest(packet_size: Bytes) -> Rate {
    packet_size.per(SLOWEST_GAP).expect("the gap is not zero")
}

/// Timer that detects missing ACKs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Silence {
    /// Round-trip time of the last ACK.
    pub rtt: Duration,
    /// Expiry of the timer; the sender then reduces its rate.
    at: Option<Time>,
}

impl Silence {
    /// Restarts the timer on an ACK with round-trip time `rtt`.
    #[inline]
    pub fn end(&mut self, now: Time, rtt: Duration) {
        self.rtt = rtt;
        self.at = rtt
            .checked_mul(SILENT_RTTS)
            .and_then(|rtts| now.checked_add(rtts.max(MIN_ACK_TIMEOUT)));
    }

    /// Returns true if the rate must be reduced now. The next timeout is a round trip later.
    #[inline]
    pub fn expires(&mut self, now: Time) -> bool {
        let over = self.at.is_some_and(|at| now >= at);
        if over {
            self.at = now.checked_add(self.rtt);
        }
        over
    }
}

/// Factor that converts bytes to bit/s times picoseconds, with a margin of 0.1 % for rounding.
const BYTE: f64 = 1.001 * 8e12;

/// Rule for packet sizes. At low rates, packets are smaller, so that routers receive enough packets per control
/// interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Control interval of routers.
    pub interval: Duration,
    /// Packets per control interval at low rates; 0 to send packets of the largest size at any rate.
    pub packets: f64,
    /// Smallest packet.
    pub smallest: Bytes,
}

impl Sizing {
    /// Returns the packet size for a sending rate.
    #[inline]
    #[must_use]
    pub fn size(&self, largest: Bytes, rate: Rate) -> Bytes {
        if self.packets == 0.0 {
            return largest;
        }
        // For most rates, this comparison avoids the division below.
        let enough = (largest.get() as f64 + 1.0) * self.packets * BYTE;
        if rate.bps() * self.interval.as_ps() as f64 > enough {
            return largest;
        }
        let share = rate.bytes_in(self.interval) / self.packets;
        largest.min(self.smallest.max(Bytes::new(share as u64)))
    }

    /// Returns the floor of the sending rate, bit/s. It is `min_rate`, but at least two packets of the smallest size
    /// per control interval. A sender needs a packet in each interval, because an ACK reports only the result of the
    /// previous interval.
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
        /// Verifies packet sizes near the rate at which packets reach full size.
        #[test]
        fn the_size_gives_the_number_of_packets_per_interval(
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
