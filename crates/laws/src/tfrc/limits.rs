//! Receive rates and the limit derived from them: `X_recv_set` of RFC 5348, section 4.3.

/// `t_mbi` of section 4.3: longest inter-packet time, in seconds.
pub(super) const LONGEST_GAP: f64 = 64.0;
/// Factor on the receive rate of an application-limited flow with losses.
const LOSSY_LIMIT_FACTOR: f64 = 0.85;

/// `X_recv_set`: set of receive rates, in bit/s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReceiveRates {
    /// Receive rates of the last two round-trip times; infinite before the first round-trip time, and 0 without a
    /// measurement.
    recent: [f64; 2],
    /// Ratio of `recv_limit` to the larger receive rate.
    factor: f64,
    /// True if the flow lost packets in this round-trip time while it was application-limited.
    lossy: bool,
    /// Largest receive rate so far.
    pub most: f64,
}

impl ReceiveRates {
    pub fn new() -> Self {
        Self {
            recent: [f64::INFINITY; 2],
            factor: 2.0,
            lossy: false,
            most: 0.0,
        }
    }

    /// Returns the larger of the two receive rates.
    pub fn largest(&self) -> f64 {
        self.recent[0].max(self.recent[1])
    }

    /// Returns `recv_limit`, the limit on the sending rate.
    pub fn limit(&self) -> f64 {
        self.factor * self.largest()
    }

    /// Processes the receive rate at the end of a round-trip time. If the flow was `app_limited` for the whole
    /// round-trip time, the application limited this rate. A larger earlier rate is then kept.
    pub fn on_round(&mut self, received: f64, app_limited: bool) {
        self.most = self.most.max(received);
        let old = self.recent.map(|rate| if rate.is_finite() { rate } else { 0.0 });
        self.recent = if app_limited {
            let counts = if self.lossy {
                LOSSY_LIMIT_FACTOR * received
            } else {
                received
            };
            [counts.max(old[0]).max(old[1]), 0.0]
        } else {
            [received, old[0]]
        };
        (self.factor, self.lossy) = (2.0, false);
    }

    /// Processes a loss event in a round-trip time in which the flow has been application-limited so far.
    pub fn on_limited_loss(&mut self) {
        self.recent = self.recent.map(|rate| 0.5 * rate);
        (self.factor, self.lossy) = (1.0, true);
    }

    /// Implements `Update_Limits` of section 4.4: lowers the receive rates to permit a sending rate of at most `limit`.
    pub fn bound(&mut self, limit: f64, packet_bits: f64) {
        let limit = limit.max(packet_bits / LONGEST_GAP);
        self.recent = [0.5 * limit, 0.0];
        self.factor = 2.0;
    }
}
