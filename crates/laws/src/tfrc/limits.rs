//! Rates at which packets arrived, and the limit that they set: `X_recv_set` of RFC 5348, section 4.3.

/// Longest time between two packets, s: `t_mbi` of section 4.3.
pub(super) const LONGEST_GAP: f64 = 64.0;
/// Factor on the received rate of an application-limited flow that lost packets.
const LOSSY_LIMIT_FACTOR: f64 = 0.85;

/// `X_recv_set`, bit/s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReceiveRates {
    /// Those of the last two round-trip times, infinite before the first, 0 where there is none.
    recent: [f64; 2],
    /// `recv_limit` is this many times the larger one.
    factor: f64,
    /// True if an application-limited flow lost packets in this round-trip time.
    lossy: bool,
    /// The largest so far.
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

    /// The larger of the two.
    pub fn largest(&self) -> f64 {
        self.recent[0].max(self.recent[1])
    }

    /// `recv_limit`.
    pub fn limit(&self) -> f64 {
        self.factor * self.largest()
    }

    /// A round-trip time ends in which packets arrived at this rate. If the application `limited` all of them, the rate says
    /// little about the path, and a larger one before still counts.
    pub fn on_round(&mut self, received: f64, limited: bool) {
        self.most = self.most.max(received);
        let old = self.recent.map(|rate| if rate.is_finite() { rate } else { 0.0 });
        self.recent = if limited {
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

    /// A loss event in a round-trip time in which the application limited the flow so far.
    pub fn on_limited_loss(&mut self) {
        self.recent = self.recent.map(|rate| 0.5 * rate);
        (self.factor, self.lossy) = (1.0, true);
    }

    /// `Update_Limits` of section 4.4: nothing received before allows more than `limit`.
    pub fn bound(&mut self, limit: f64, packet_bits: f64) {
        let limit = limit.max(packet_bits / LONGEST_GAP);
        self.recent = [0.5 * limit, 0.0];
        self.factor = 2.0;
    }
}
