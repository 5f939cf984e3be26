//! Words for a data path: the codes of price and spare capacity. Counted: bytes.

use levelflow_units::Bytes;

use super::{MaxNetParams, MaxNetRouter};
use crate::offload::{Counts, Offload, Words};

impl Offload for MaxNetRouter {
    fn words(&self, _params: &MaxNetParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..2].copy_from_slice(&[self.price_code.into(), self.spare_code.into()]);
        words
    }

    fn absorb(&mut self, _params: &MaxNetParams, counted: &Counts) {
        self.arrived = Bytes::new(self.arrived.get().saturating_add(counted[0]));
    }
}
