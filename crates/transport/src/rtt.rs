//! Round-trip time and retransmission timeout (RTO) of RFC 6298, with the limits of Linux.
//!
//! `RTO = SRTT + max(4 RTTVAR, floor)`. The floor is a lower bound of the variance term, like `tcp_rto_min` in Linux.
//! An optional second floor is a lower bound of the sum, as in the RFC and in ns-2. The clock granularity `G` of
//! section 2.3 is zero, so even a short floor has an effect.

use levelflow_units::Duration;

/// RTO before the first sample (section 2.1).
//= RFC 6298, section 2.1
//# Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver, the
//# sender SHOULD set RTO <- 1 second
pub(crate) const FIRST_RTO: Duration = Duration::from_secs(1);
/// Upper bound of the RTO: `TCP_RTO_MAX` of Linux.
//= RFC 6298, section 2.5
//# A maximum value MAY be placed on RTO provided it is at least 60 seconds.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(120);
/// Number of doublings that increase the smallest RTO, 1 us, above [`MAX_RTO`].
const MAX_DOUBLINGS: u8 = 27;

/// Returns the RTO `rto` after `doublings` backoffs.
#[inline]
pub(crate) fn backed_off(rto: Duration, doublings: u8) -> Duration {
    if doublings == 0 {
        return rto;
    }
    //= RFC 6298, section 5.5
    //# The maximum value discussed in (2.5) above may be used to provide an upper bound to this doubling operation.
    let doubled = rto.checked_mul(1 << doublings.min(MAX_DOUBLINGS));
    doubled.unwrap_or(Duration::MAX).min(MAX_RTO).max(rto)
}

/// SRTT, RTTVAR and the RTO derived from them.
#[derive(Debug, Clone, PartialEq)]
pub struct RttEstimator {
    /// SRTT and RTTVAR, s.
    smoothed: Option<(f64, f64)>,
    /// Lower bound of the RTO's variance term, s.
    floor: f64,
    /// Lower bound of the RTO.
    least: Duration,
    /// Number of timeouts since the last sample.
    backoff: u8,
}

impl RttEstimator {
    /// Creates an estimator without a sample. The RTO is at least `SRTT + floor`, and at least `least`.
    #[must_use]
    #[inline]
    pub fn new(floor: Duration, least: Duration) -> Self {
        Self {
            smoothed: None,
            floor: floor.as_secs_f64(),
            least,
            backoff: 0,
        }
    }

    /// Returns SRTT. `None` before the first sample.
    #[must_use]
    #[inline]
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.and_then(|(srtt, _)| Duration::from_secs_f64(srtt))
    }

    /// Adds the sample of an ACK and ends the backoff. Packet numbers are never reused, so every sample is valid
    /// (Karn).
    #[inline]
    pub fn on_sample(&mut self, rtt: Duration) {
        //= RFC 6298, section 3
        //# RTT samples MUST NOT be made using segments that were retransmitted
        self.backoff = 0;
        let rtt = rtt.as_secs_f64();
        self.smoothed = Some(match self.smoothed {
            //= RFC 6298, section 2.2
            //# When the first RTT measurement R is made, the host MUST set SRTT <- R RTTVAR <- R/2
            None => (rtt, rtt / 2.0),
            //= RFC 6298, section 2.3
            //# The value of SRTT used in the update to RTTVAR is its value before updating SRTT itself using the
            //# second assignment. The above SHOULD be computed using alpha=1/8 and beta=1/4
            Some((srtt, rttvar)) => (srtt + (rtt - srtt) / 8.0, rttvar + ((srtt - rtt).abs() - rttvar) / 4.0),
        });
    }

    /// Doubles the RTO after the timer has expired.
    #[inline]
    pub fn on_timeout(&mut self) {
        //= RFC 6298, section 5.5
        //# The host MUST set RTO <- RTO * 2 ("back off the timer").
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Returns the RTO, including backoff.
    #[must_use]
    #[inline]
    pub fn timeout(&self) -> Duration {
        let rto = match self.smoothed {
            None => FIRST_RTO,
            //= RFC 6298, section 4
            //# if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be rounded to G
            //# seconds
            Some((srtt, rttvar)) => Duration::from_secs_f64(srtt + (4.0 * rttvar).max(self.floor))
                .unwrap_or(Duration::MAX)
                .max(self.least),
        };
        backed_off(rto, self.backoff)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINUX_MIN_RTO_VARIANCE: Duration = Duration::from_ms(200);

    fn after(floor: Duration, samples: u32, rtt: Duration) -> RttEstimator {
        let mut estimator = RttEstimator::new(floor, Duration::ZERO);
        (0..samples).for_each(|_| estimator.on_sample(rtt));
        estimator
    }

    #[test]
    fn the_handshake_sets_the_first_rto() {
        assert_eq!(
            after(LINUX_MIN_RTO_VARIANCE, 0, LINUX_MIN_RTO_VARIANCE).timeout(),
            FIRST_RTO
        );
        assert_eq!(
            after(LINUX_MIN_RTO_VARIANCE, 1, Duration::from_ms(1600)).timeout(),
            Duration::from_ms(4800)
        );
    }

    #[test]
    fn timeouts_double_up_to_120_s_and_a_sample_ends_that() {
        let mut rtt = after(LINUX_MIN_RTO_VARIANCE, 1000, Duration::from_ms(20));
        for doublings in 0..20 {
            let expected = Duration::from_ms(220 * (1 << doublings)).min(MAX_RTO);
            assert_eq!(rtt.timeout(), expected, "after {doublings} timeouts");
            rtt.on_timeout();
        }
        (0..300).for_each(|_| rtt.on_timeout());
        assert_eq!(rtt.timeout(), MAX_RTO);
        rtt.on_sample(Duration::from_ms(20));
        assert_eq!(rtt.timeout(), Duration::from_ms(220));
    }

    /// The upper bound of the RTO in Linux would be below the round-trip time of this path.
    #[test]
    fn the_cap_is_never_below_the_rto_itself() {
        let mut rtt = after(LINUX_MIN_RTO_VARIANCE, 1000, Duration::from_secs(200));
        let rto = rtt.timeout();
        rtt.on_timeout();
        assert_eq!((rtt.timeout(), rto > Duration::from_secs(200)), (rto, true));
    }

    /// Uses two settings of ns-2: a clock resolution of 10 ms, and `minrto_` of 200 ms.
    #[test]
    fn the_sum_may_have_a_floor_too() {
        for (rtt, expected) in [(20, 200), (189, 200), (191, 201), (1600, 1610)] {
            let mut estimator = RttEstimator::new(Duration::from_ms(10), Duration::from_ms(200));
            (0..1000).for_each(|_| estimator.on_sample(Duration::from_ms(rtt)));
            assert_eq!(estimator.timeout(), Duration::from_ms(expected), "{rtt} ms");
            estimator.on_timeout();
            assert_eq!(
                estimator.timeout(),
                Duration::from_ms(2 * expected),
                "{rtt} ms, once doubled"
            );
        }
    }

    #[test]
    fn any_floor_reaches_the_cap() {
        for us in [1, 10, 1000, 10_000_000, 60_000_000] {
            let mut rtt = after(Duration::from_us(us), 1000, Duration::from_ps(1));
            (0..MAX_DOUBLINGS).for_each(|_| rtt.on_timeout());
            assert_eq!(rtt.timeout(), MAX_RTO, "{us} us");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A delay increase below the floor causes no timeout if the delay was constant before, as in Linux. This holds
        /// for any delay.
        #[test]
        fn a_step_of_less_than_the_floor_is_no_timeout(
            rtt_us in 1_u64..10_000_000, floor_us in 1_u64..60_000_000, step in 0.0..0.999_f64, samples in 1_u32..200,
        ) {
            let (rtt, floor) = (Duration::from_us(rtt_us), Duration::from_us(floor_us));
            let step = Duration::from_secs_f64(step * floor.as_secs_f64()).unwrap();
            let rto = after(floor, samples, rtt).timeout();
            prop_assert!(rto > rtt + step, "{rtt}, step {step}: {rto}");
            // The variance term is `2 RTT` after the first sample. Each further sample reduces it by a quarter.
            let variance = 2.0 * rtt.as_secs_f64() * 0.75_f64.powi(samples as i32 - 1);
            let expected = rtt.as_secs_f64() + variance.max(floor.as_secs_f64());
            prop_assert!((rto.as_secs_f64() / expected - 1.0).abs() < 1e-9, "{rto}, expected {expected} s");
        }
    }
}
