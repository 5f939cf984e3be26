//! ACK-starvation backoff. Without ACKs, a sender slows down with almost any law.
//!
//! Some laws keep their rate until an ACK changes it. Such a law would never slow down on a path that delivers nothing.
//! Backoff begins after [`MIN_STARVATION`] without ACKs, or after [`ROUND_TRIPS`] round-trip times if that is longer.
//! The inter-packet time then doubles with each further second, up to [`MAX_GAP`]. It is never shorter than the
//! inter-packet time of the law. The first ACK ends the backoff. The time without ACKs starts when the sender sends
//! the first packet after the latest ACK.
//!
//! Backoff excludes laws with their own timer, laws whose receivers send no ACKs, and laws with a constant rate.
//!
//! Before the first ACK, the round-trip time is unknown, and backoff begins after [`FIRST_PATIENCE`]. On a path with a
//! longer round-trip time, a flow therefore slows down until its first ACK arrives. This also holds in the simulator.

use levelflow_units::{Duration, Time};

/// Minimum time without ACKs before backoff begins.
pub const MIN_STARVATION: Duration = Duration::from_secs(1);
/// Time before backoff begins while no ACK has arrived yet. The round-trip time is then unknown. The value is the first
/// RTO of RFC 1122.
pub const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// Minimum time without ACKs before backoff begins, in round-trip times.
pub const ROUND_TRIPS: u64 = 4;
/// Maximum inter-packet time that the backoff causes.
pub const MAX_GAP: Duration = Duration::from_secs(1);

/// Returns the inter-packet time after a packet sent at `now`. `gap` is the inter-packet time of the law. The result
/// grows with the time since the latest ACK. `rtt` is the latest round-trip time, or zero before the first ACK.
#[inline]
pub(crate) fn backed_off(gap: Duration, now: Time, last_ack_at: Time, rtt: Duration) -> Duration {
    let starved = now.since(last_ack_at);
    if starved <= MIN_STARVATION {
        gap
    } else {
        stretch(gap, starved, rtt)
    }
}

#[cold]
fn stretch(gap: Duration, starved: Duration, rtt: Duration) -> Duration {
    let trips = rtt.checked_mul(ROUND_TRIPS).unwrap_or(Duration::MAX);
    let least = if rtt == Duration::ZERO {
        FIRST_PATIENCE
    } else {
        MIN_STARVATION
    };
    let excess = starved.saturating_sub(least.max(trips));
    if excess == Duration::ZERO {
        return gap;
    }
    let doubled = gap.as_secs_f64() * libm::exp2(excess.as_secs_f64().min(1000.0));
    let doubled = Duration::from_secs_f64(doubled).unwrap_or(MAX_GAP);
    gap.max(doubled.min(MAX_GAP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_double_with_each_second_without_acks_up_to_a_second() {
        let gap = Duration::from_ms(10);
        let rtt = Duration::from_ms(1);
        let after = |ms| backed_off(gap, Time::ZERO + Duration::from_ms(ms), Time::ZERO, rtt);
        assert_eq!(after(1000), gap);
        assert_eq!(after(2000), gap * 2);
        assert_eq!(after(4000), gap * 8);
        assert_eq!(after(60_000), MAX_GAP);
        assert_eq!(after(100_000_000), MAX_GAP);
    }

    #[test]
    fn before_the_first_ack_the_round_trip_may_be_long() {
        let gap = Duration::from_ms(10);
        let after = |s| backed_off(gap, Time::ZERO + Duration::from_secs(s), Time::ZERO, Duration::ZERO);
        assert_eq!((after(3), after(4)), (gap, gap * 2));
    }

    #[test]
    fn on_long_paths_starvation_is_measured_in_round_trips() {
        let gap = Duration::from_ms(10);
        let after = |ms| {
            backed_off(
                gap,
                Time::ZERO + Duration::from_ms(ms),
                Time::ZERO,
                Duration::from_secs(1),
            )
        };
        assert_eq!(after(4000), gap);
        assert_eq!(after(5000), gap * 2);
    }

    #[test]
    fn a_slower_law_keeps_its_gap() {
        let gap = Duration::from_secs(10);
        assert_eq!(
            backed_off(gap, Time::ZERO + Duration::from_secs(100), Time::ZERO, Duration::ZERO),
            gap
        );
    }
}
