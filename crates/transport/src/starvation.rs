//! ACK-starvation backoff: a sender that gets no ACKs slows down, whatever its law says.
//!
//! Some laws keep their rate until an ACK changes it, so that on a dead path they would send at it for ever. Once no ACK has
//! come for [`PATIENCE`] (or for [`ROUND_TRIPS`] round-trip times, if that is longer), gaps between packets double with each
//! further second, up to [`MAX_GAP`] or what the law asks for, whichever is longer. The first ACK ends this. An idle time before
//! a packet does not count. Laws with a timer of their own back off by themselves. Laws
//! without ACKs and those with a constant rate never back off.
//!
//! What is simulated is what runs: in the simulator, too, a flow over a path of more than [`FIRST_PATIENCE`] slows down until its
//! first ACK comes.

use levelflow_units::{Duration, Time};

/// Starvation up to this long changes nothing.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Before the first ACK the round trip is not known, so that patience is longer: the first RTO of RFC 1122.
pub const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// Nor does that of so many round-trip times.
pub const ROUND_TRIPS: u64 = 4;
/// Longest gap that starvation makes.
pub const MAX_GAP: Duration = Duration::from_secs(1);

/// The gap between two packets at `now`, where the law asks for `gap` and no ACK has come since `heard`; the latest round trip
/// took `rtt`, zero before the first.
#[inline]
pub(crate) fn backed_off(gap: Duration, now: Time, heard: Time, rtt: Duration) -> Duration {
    let starved = now.since(heard);
    if starved <= PATIENCE {
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
        PATIENCE
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
    fn a_law_that_is_slower_still_stays_so() {
        let gap = Duration::from_secs(10);
        assert_eq!(
            backed_off(gap, Time::ZERO + Duration::from_secs(100), Time::ZERO, Duration::ZERO),
            gap
        );
    }
}
