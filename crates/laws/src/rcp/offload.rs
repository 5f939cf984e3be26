//! Words and counters of this law for a [data path outside Rust](crate::offload).
//!
//! The words are, in order:
//!
//! - rate (`f32`),
//! - 1 for the largest round-trip time or 0 for the mean,
//! - weight of a packet in the mean, weight of the previous mean, and initial mean,
//! - limit on round-trip times.
//!
//! The counters are the number of bytes, the largest round-trip time and the mean round-trip time. The mean is not
//! reset after an interval. It is 0 before the first packet.

use levelflow_units::Bytes;

use super::{Router, RouterParams, RttEstimate};
use crate::offload::{Counts, Offload, Words};

impl Offload for Router {
    fn lacks(&self, params: &RouterParams) -> Option<&'static str> {
        (params.rtt == RttEstimate::Interval).then_some("rtt = \"interval\"")
    }

    fn words(&self, params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..6].copy_from_slice(&[
            (self.rate as f32).to_bits().into(),
            (params.rtt == RttEstimate::Max).into(),
            params.gain.to_bits(),
            (1.0 - params.gain).to_bits(),
            self.rtt.to_bits(),
            params.longest_rtt.to_bits(),
        ]);
        words
    }

    fn absorb(&mut self, params: &RouterParams, counted: &Counts) {
        let &[bytes, longest, _, mean, ..] = counted;
        self.arrived = Bytes::new(self.arrived.get().saturating_add(bytes));
        match params.rtt {
            RttEstimate::Mean if mean != 0 => self.rtt = f64::from_bits(mean),
            RttEstimate::Mean | RttEstimate::Interval => {}
            RttEstimate::Max => self.longest = self.longest.max(f64::from_bits(longest)),
        }
    }
}
