//! Words and counters of this law for a [data path outside Rust](crate::offload). The words are router id, number of
//! intervals, price and interval length. The counter is the number of bytes.

use levelflow_units::Bytes;

use super::{Router, RouterParams};
use crate::offload::{Counts, Offload, Words};

impl Offload for Router {
    fn words(&self, _params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..4].copy_from_slice(&[
            self.id.into(),
            self.seq.into(),
            self.price.to_bits().into(),
            self.delta.to_bits().into(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &RouterParams, counted: &Counts) {
        self.arrived = Bytes::new(self.arrived.get().saturating_add(counted[0]));
    }
}
