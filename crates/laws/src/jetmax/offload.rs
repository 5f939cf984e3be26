//! Words and counters of this law for a [data path outside Rust](crate::offload).
//!
//! The words are, in order:
//!
//! - price, share and epoch (number of the interval),
//! - largest magnitude of a price that counts as zero,
//! - 1 if `hysteresis` is on.
//!
//! The counters are the bytes of responsive flows, the other bytes, and the inter-packet times (`gap`) of responsive
//! flows. Each counter has two words: the sum of the low 32 bits and the sum of the high 32 bits of the counted values.
//! [`Offload::absorb`] saturates the sums, because headers may have wrong values.

use levelflow_units::Bytes;

use super::{Router, RouterParams};
use crate::offload::{Counts, Offload, Words};

impl Offload for Router {
    fn words(&self, params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..5].copy_from_slice(&[
            self.price.to_bits().into(),
            self.share.to_bits().into(),
            self.epoch.into(),
            largest_zero(params.eps_p).to_bits().into(),
            params.hysteresis.into(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &RouterParams, counted: &Counts) {
        let &[r_low, r_high, u_low, u_high, g_low, g_high, ..] = counted;
        self.responsive = self.responsive.saturating_add(joined(r_low, r_high));
        self.unresponsive = self.unresponsive.saturating_add(joined(u_low, u_high));
        self.gaps = self.gaps.saturating_add(joined(g_low, g_high));
    }
}

fn joined(low: u64, high: u64) -> u64 {
    let sum = (u128::from(high) << 32) + u128::from(low);
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Returns the largest `f32` up to `limit`, which must be at least 0.
fn largest_zero(limit: f64) -> f32 {
    let near = limit as f32;
    if f64::from(near) > limit {
        near.next_down()
    } else {
        near
    }
}
