//! Packets live in a slab and are passed around by index.

use levelflow_protocols::Kind;
use levelflow_units::Time;

/// Index of a packet in the slab.
pub type PacketId = u32;

/// One packet; small enough that a cache line holds it for every law's header.
#[derive(Debug, Clone)]
pub struct Packet<H> {
    pub header: H,
    /// When the sender sent the packet that this is, or answers.
    pub sent: Time,
    /// In data, the first byte's position in its transfer; in an answer, how many bytes from the start have arrived.
    pub offset: u64,
    pub flow: u32,
    /// Transmission number.
    pub number: u32,
    /// Position in the table of hops.
    pub hop: u32,
    /// Wire size of this packet, bytes.
    pub size: u16,
    /// What it is, or what it answers.
    pub kind: Kind,
    pub answer: bool,
}

/// Packets in flight.
#[derive(Debug)]
pub struct Slab<H> {
    packets: Vec<Packet<H>>,
    free: Vec<PacketId>,
}

impl<H> Default for Slab<H> {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<H> Slab<H> {
    #[inline]
    pub fn insert(&mut self, packet: Packet<H>) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as PacketId
    }

    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Reads from a packet that will be needed soon, so that it comes from memory while other work goes on.
    #[inline]
    pub fn touch(&self, id: PacketId) {
        std::hint::black_box(self.packets[id as usize].hop);
    }

    /// Packets in the slab now.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.packets.capacity() * size_of::<Packet<H>>() + self.free.capacity() * size_of::<PacketId>()
    }
}

impl<H> std::ops::Index<PacketId> for Slab<H> {
    type Output = Packet<H>;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet<H> {
        &self.packets[id as usize]
    }
}

impl<H> std::ops::IndexMut<PacketId> for Slab<H> {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet<H> {
        &mut self.packets[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_protocols::AnyHeader;

    #[test]
    fn a_packet_of_any_law_fits_a_cache_line() {
        assert!(
            size_of::<Packet<AnyHeader>>() <= 64,
            "{}",
            size_of::<Packet<AnyHeader>>()
        );
    }
}
