//! The window and the round-trip times of one flow.

use levelflow_units::Duration;

/// A smaller round-trip time counts as this, s.
const SHORTEST_RTT: f64 = 1e-6;

/// Weight of one sample in the smoothed round-trip time (RFC 6298, section 2.3).
const RTT_GAIN: f64 = 0.125;

/// Smallest threshold, packets (RFC 5681, eq 4).
pub(super) const MIN_SSTHRESH: f64 = 2.0;

/// Congestion window and threshold, in packets and fractions of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// Most packets on their way.
    pub size: f64,
    /// Slow start ends here.
    pub ssthresh: f64,
}

impl Window {
    /// Grows the window in slow start, up to the threshold.
    #[inline]
    pub fn slow_start(&mut self, packets: f64) {
        self.size = (self.size + packets).min(self.ssthresh);
    }

    /// Sets the threshold, and the window to it if it is larger.
    pub(super) fn cut(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.size = self.size.min(self.ssthresh);
    }

    /// Sets the window to `size` if it is larger; a threshold below three quarters of it rises to that, if it `may_rise`
    /// (`tcp_current_ssthresh` of Linux).
    pub(super) fn rest(&mut self, size: f64, may_rise: bool) {
        if may_rise {
            self.ssthresh = self.ssthresh.max(0.75 * self.size);
        }
        //= RFC 5681, section 4.1
        //# For the purposes of this standard, we define RW = min(IW,cwnd).
        self.size = self.size.min(size);
    }

    /// Sets the threshold, and the window to 1 packet.
    pub(super) fn restart(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.size = 1.0;
    }

    /// Whole packets.
    #[inline]
    pub(super) fn packets(&self) -> u32 {
        (self.size as u32).max(1)
    }

    /// Whole packets and the one begun.
    #[inline]
    pub(super) fn packets_begun(&self) -> u32 {
        libm::ceil(self.size) as u32
    }
}

/// Round-trip times in seconds; all 0 before the first ACK.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rtt {
    /// Of the latest ACK.
    pub last: f64,
    /// Moving average with weight 1/8 (RFC 6298).
    pub smooth: f64,
    /// Smallest so far; that of the handshake only until data have been acknowledged.
    pub min: f64,
}

impl Rtt {
    /// The first ACK for data: the handshake's packets were smaller.
    pub(super) fn take_first(&mut self, sample: Duration) {
        self.min = f64::INFINITY;
        self.take(sample);
    }

    #[inline]
    pub(super) fn take(&mut self, sample: Duration) {
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
                smooth: self.smooth + RTT_GAIN * (sample - self.smooth),
                min: self.min.min(sample),
            }
        };
    }
}
