//! Data of a transfer: the sender splits it into chunks, and the receiver reassembles the chunks.

use std::collections::BTreeMap;

/// Contiguous bytes of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// First byte.
    pub offset: u64,
    /// Length, bytes. This is the payload of the packet that carries the chunk.
    pub length: u16,
}

impl Chunk {
    /// Chunk of packets without data.
    pub const NONE: Self = Self { offset: 0, length: 0 };

    /// Returns the position after the last byte.
    #[inline]
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Reassembles the chunks of a transfer.
#[derive(Debug, Clone, Default)]
pub struct Assembly {
    in_order: u64,
    /// Out-of-order data: start and end of each block. A retransmitted chunk has the same bounds as before, so two
    /// chunks are equal or disjoint.
    out_of_order: BTreeMap<u64, u64>,
}

impl Assembly {
    /// Adds a chunk. Returns the number of new bytes.
    #[inline]
    pub fn on_arrival(&mut self, chunk: Chunk) -> u64 {
        if chunk.offset == self.in_order && self.out_of_order.is_empty() {
            self.in_order = chunk.end();
            return u64::from(chunk.length);
        }
        if chunk.offset < self.in_order || self.out_of_order.insert(chunk.offset, chunk.end()).is_some() {
            return 0;
        }
        while let Some(run) = self
            .out_of_order
            .first_entry()
            .filter(|run| *run.key() == self.in_order)
        {
            self.in_order = run.remove();
        }
        u64::from(chunk.length)
    }

    /// Returns true if this is the next chunk and no data has arrived out of order.
    #[must_use]
    #[inline]
    pub fn expects(&self, chunk: Chunk) -> bool {
        chunk.offset == self.in_order && self.out_of_order.is_empty()
    }

    /// Returns the number of bytes received from the start without a gap.
    #[must_use]
    #[inline]
    pub fn in_order(&self) -> u64 {
        self.in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_byte_is_counted_once_in_any_order(order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle(),
                                                   twice in prop::collection::vec(0..40u64, 0..20)) {
            let mut assembly = Assembly::default();
            let chunk = |i| Chunk { offset: i * 100, length: 100 };
            let new: u64 = order.iter().chain(&twice).map(|&i| assembly.on_arrival(chunk(i))).sum();
            prop_assert_eq!((new, assembly.in_order()), (4000, 4000));
        }
    }
}
