//! Words and counters of this law for a [data path outside Rust](crate::offload). The words are the codes of price and
//! spare capacity. The counter is the number of bytes.

use levelflow_units::Bytes;

use super::{Router, RouterParams};
use crate::offload::{Counts, Offload, Words};

impl Offload for Router {
    fn words(&self, _params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..2].copy_from_slice(&[self.price_code.into(), self.spare_code.into()]);
        words
    }

    fn absorb(&mut self, _params: &RouterParams, counted: &Counts) {
        self.arrived = Bytes::new(self.arrived.get().saturating_add(counted[0]));
    }
}
