//! Words for a data path: id, count of intervals, price, length of the interval. Counted: bytes.

use levelflow_units::Bytes;

use super::{EmkcParams, EmkcRouter};
use crate::offload::{Counts, Offload, Words};

impl Offload for EmkcRouter {
    fn words(&self, _params: &EmkcParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..4].copy_from_slice(&[
            self.id.into(),
            self.seq.into(),
            self.price.to_bits().into(),
            self.delta.to_bits().into(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &EmkcParams, counted: &Counts) {
        self.arrived = Bytes::new(self.arrived.get().saturating_add(counted[0]));
    }
}
