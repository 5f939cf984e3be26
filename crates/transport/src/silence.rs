//! Senders that hear nothing slow down, whatever their law says.
//!
//! Some laws keep their rate until an answer changes it, so that on a path that is dead they would send at it for ever. Once
//! no answer has come for [`PATIENCE`] (or for [`ROUND_TRIPS`] round-trip times, if that is longer), gaps between packets
//! double with each further second, up to [`SLOWEST`] or what the law asks for, whichever is longer. The first answer
//! ends this.

use levelflow_units::{Duration, Time};

/// Silence up to this long changes nothing.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Nor does silence of up to so many round-trip times.
pub const ROUND_TRIPS: u64 = 4;
/// Longest gap that silence makes.
pub const SLOWEST: Duration = Duration::from_secs(1);

/// The gap between two packets at `now`, where the law asks for `gap` and nothing has been heard since `heard`.
pub(super) fn stretched(gap: Duration, now: Time, heard: Time, rtt: Option<Duration>) -> Duration {
    let trips = rtt
        .and_then(|rtt| rtt.checked_mul(ROUND_TRIPS))
        .unwrap_or(Duration::ZERO);
    let silence = now.since(heard).saturating_sub(PATIENCE.max(trips));
    if silence == Duration::ZERO {
        return gap;
    }
    let doubled = gap.as_secs_f64() * silence.as_secs_f64().min(1000.0).exp2();
    let doubled = Duration::from_secs_f64(doubled).unwrap_or(SLOWEST);
    gap.max(doubled.min(SLOWEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_double_with_each_second_of_silence_up_to_a_second() {
        let gap = Duration::from_ms(10);
        let after = |ms| stretched(gap, Time::ZERO + Duration::from_ms(ms), Time::ZERO, None);
        assert_eq!(after(1000), gap);
        assert_eq!(after(2000), gap * 2);
        assert_eq!(after(4000), gap * 8);
        assert_eq!(after(60_000), SLOWEST);
        assert_eq!(after(100_000_000), SLOWEST);
    }

    #[test]
    fn on_long_paths_silence_is_measured_in_round_trips() {
        let gap = Duration::from_ms(10);
        let after = |ms| {
            stretched(
                gap,
                Time::ZERO + Duration::from_ms(ms),
                Time::ZERO,
                Some(Duration::from_secs(1)),
            )
        };
        assert_eq!(after(4000), gap);
        assert_eq!(after(5000), gap * 2);
    }

    #[test]
    fn a_law_that_is_slower_still_stays_so() {
        let gap = Duration::from_secs(10);
        assert_eq!(
            stretched(gap, Time::ZERO + Duration::from_secs(100), Time::ZERO, None),
            gap
        );
    }
}
