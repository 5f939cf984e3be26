//! The limit of a queue.

use crate::Bytes;

/// How much a queue holds, the packet in service included; arrivals that do not fit are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// No limit.
    Unlimited,
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most this many packets.
    Packets(u64),
}

impl Buffer {
    /// Whether a packet of `size` bytes fits beside this many bytes and packets.
    #[inline]
    pub const fn admits(self, bytes: u64, packets: u64, size: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(limit) => bytes.saturating_add(size) <= limit.get(),
            Self::Packets(limit) => packets < limit,
        }
    }
}
