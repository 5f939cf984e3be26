//! Round-trip time and retransmission timeout (RFC 6298).

use levelflow_units::Duration;

/// RTO before the first sample (section 2.1).
//= RFC 6298, section 2.1
//# Until a round-trip time (RTT) measurement has been made for a segment sent between the sender and receiver, the
//# sender SHOULD set RTO <- 1 second
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// Clock granularity `G` of section 2.3, seconds. Virtual time has none: without it a packet that waits on a calm path would
/// time out. This is the tick of ns-2.
const GRANULARITY: f64 = 0.01;
/// Most doublings of the RTO (section 5.5).
const MAX_BACKOFF: u32 = 6;

/// SRTT, RTTVAR and the RTO that follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct RttEstimator {
    /// SRTT and RTTVAR, seconds.
    smoothed: Option<(f64, f64)>,
    backoff: u32,
    min_timeout: Duration,
}

impl RttEstimator {
    /// No sample yet; the RTO is never below `min_timeout` once there is one.
    #[must_use]
    #[inline]
    pub fn new(min_timeout: Duration) -> Self {
        Self {
            smoothed: None,
            backoff: 0,
            min_timeout,
        }
    }

    /// SRTT, none before the first sample.
    #[must_use]
    #[inline]
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.and_then(|(srtt, _)| Duration::from_secs_f64(srtt))
    }

    /// An ACK brought a sample. Numbers are never reused, so every sample is valid (Karn) and ends the backoff.
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

    /// The timer ran out.
    #[inline]
    pub fn on_timeout(&mut self) {
        //= RFC 6298, section 5.5
        //# The host MUST set RTO <- RTO * 2 ("back off the timer").
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// RTO, with backoff.
    #[must_use]
    #[inline]
    pub fn timeout(&self) -> Duration {
        let base = match self.smoothed {
            None => FIRST_TIMEOUT,
            //= RFC 6298, section 4
            //# if the K*RTTVAR term in the RTO calculation equals zero, the variance term MUST be rounded to G
            //# seconds
            Some((srtt, rttvar)) => Duration::from_secs_f64(srtt + (4.0 * rttvar).max(GRANULARITY))
                .unwrap_or(FIRST_TIMEOUT)
                .max(self.min_timeout),
        };
        base.checked_mul(1 << self.backoff).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_sets_the_first_timeout() {
        let mut rtt = RttEstimator::new(Duration::from_ms(200));
        assert_eq!(rtt.timeout(), FIRST_TIMEOUT);
        rtt.on_sample(Duration::from_ms(1600));
        assert_eq!(rtt.timeout(), Duration::from_ms(4800));
    }

    #[test]
    fn a_calm_path_leaves_room_for_a_packet_that_waits() {
        let mut rtt = RttEstimator::new(Duration::from_ms(200));
        (0..100).for_each(|_| rtt.on_sample(Duration::from_ms(1600)));
        assert_eq!(rtt.timeout(), Duration::from_ms(1610));
    }

    #[test]
    fn timeouts_double_and_a_sample_ends_that() {
        let mut rtt = RttEstimator::new(Duration::from_ms(200));
        rtt.on_sample(Duration::from_ms(10));
        for doublings in [0, 1, 2, 3, 4, 5, 6, 6, 6] {
            assert_eq!(rtt.timeout(), Duration::from_ms(200) * (1 << doublings));
            rtt.on_timeout();
        }
        rtt.on_sample(Duration::from_ms(10));
        assert_eq!(rtt.timeout(), Duration::from_ms(200));
    }
}
