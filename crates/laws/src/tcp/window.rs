//! Window and round-trip times of one flow.

use levelflow_units::{Duration, Rate};

use crate::rtt;

/// Floor of round-trip samples, in seconds.
const SHORTEST_RTT: f64 = 1e-6;

/// Round-trip time from which rates are computed before the first sample, in seconds (initial timeout of RFC 6298,
/// section 2.1).
const ASSUMED_RTT: f64 = 1.0;

/// Smallest slow-start threshold, packets (RFC 5681, eq 4).
pub(super) const MIN_SSTHRESH: f64 = 2.0;

/// Congestion window and slow-start threshold, in packets, with fractions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// Limit on packets in flight.
    pub size: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
}

impl Window {
    /// Grows the window in slow start, up to the threshold.
    #[inline]
    pub fn slow_start(&mut self, packets: f64) {
        self.size = (self.size + packets).min(self.ssthresh);
    }

    /// Sets the threshold. Reduces the window to at most the threshold.
    pub(super) fn cut(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.size = self.size.min(self.ssthresh);
    }

    /// Reduces the window to at most `size`. With `may_rise`, the threshold is first raised to at least three quarters
    /// of the window (`tcp_current_ssthresh` of Linux).
    pub(super) fn rest(&mut self, size: f64, may_rise: bool) {
        if may_rise {
            self.ssthresh = self.ssthresh.max(0.75 * self.size);
        }
        //= RFC 5681, section 4.1
        //# For the purposes of this standard, we define RW = min(IW,cwnd).
        self.size = self.size.min(size);
    }

    /// Sets the threshold. Sets the window to 1 packet.
    pub(super) fn restart(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.size = 1.0;
    }

    /// Returns the window in whole packets, rounded down, at least 1.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        (self.size as u32).max(1)
    }

    /// Returns the window in whole packets, rounded up.
    #[inline]
    pub(super) fn packets_begun(&self) -> u32 {
        libm::ceil(self.size) as u32
    }
}

/// Round-trip times in seconds; all 0 before the first ACK.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rtt {
    /// Sample of the last ACK.
    pub last: f64,
    /// Moving average with weight 1/8 (RFC 6298).
    pub smooth: f64,
    /// Smallest sample so far. The first ACK for data discards the sample of the handshake.
    pub min: f64,
}

impl Rtt {
    /// Adds the sample of the first ACK for data. The sample replaces the minimum, because packets of the handshake are
    /// smaller.
    pub(crate) fn take_first(&mut self, sample: Duration) {
        self.min = f64::INFINITY;
        self.take(sample);
    }

    #[inline]
    pub(crate) fn take(&mut self, sample: Duration) {
        let sample = sample.as_secs_f64().max(SHORTEST_RTT);
        *self = if self.last == 0.0 {
            Self {
                last: sample,
                smooth: sample,
                min: sample,
            }
        } else {
            Self {
                last: sample,
                smooth: self.smooth + rtt::GAIN * (sample - self.smooth),
                min: self.min.min(sample),
            }
        };
    }

    /// Returns the rate of a window of `window` packets of `packet_size` bytes.
    #[inline]
    pub(crate) fn rate_of(&self, window: f64, packet_size: f64) -> Rate {
        let rtt = if self.smooth == 0.0 { ASSUMED_RTT } else { self.smooth };
        Rate::clamped(window * 8.0 * packet_size / rtt)
    }
}
