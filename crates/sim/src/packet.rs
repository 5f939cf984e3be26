//! Packets, stored in a slab. Other modules refer to a packet by its index.

use levelflow_laws::{Kind, Transport};
use levelflow_path::scheduler::{Ecn, FlowKey};
use levelflow_units::Time;

use crate::id::{EntryId, FlowId, HopId, Id, IdVec, PacketId};
use crate::prefetch::prefetch;

/// Packet. Its size is one cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Packet<H> {
    pub header: H,
    /// Send time of the packet. For an ACK, send time of the acknowledged packet.
    pub sent: Time,
    /// Position of the packet's first byte in the transfer.
    pub offset: u64,
    pub flow: FlowId,
    /// Packet number. A retransmission has a new number.
    pub number: u32,
    /// Index into the table of hops.
    pub hop: HopId,
    /// Size on the wire, bytes.
    pub size: u16,
    pub label: Label,
    /// Number of packets that an ACK acknowledges.
    pub acks: u8,
}

/// Kind and flags of a packet, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u8);

impl Label {
    const KIND: u8 = 3;
    const ACK: u8 = 1 << 2;
    const CAPABLE: u8 = 1 << 3;
    const MARKED: u8 = 1 << 4;
    const LOST: u8 = 1 << 5;
    const SCALABLE: u8 = 1 << 6;

    /// Returns the flags of data packets of a law with this transport: not ECN-capable, ECT(0) or ECT(1).
    pub fn flags(transport: &Transport) -> u8 {
        match (transport.ecn, transport.scalable) {
            (false, _) => 0,
            (true, false) => Self::CAPABLE,
            (true, true) => Self::CAPABLE | Self::SCALABLE,
        }
    }

    /// Returns the label of a packet sent by a sender. Only data packets have `flags`.
    #[inline]
    pub fn of(kind: Kind, flags: u8) -> Self {
        Self(kind as u8 | if kind == Kind::Data { flags } else { 0 })
    }

    /// Returns the ECN field of the IP header. Queues cannot mark an ACK.
    #[inline]
    pub fn ecn(self) -> Ecn {
        match (
            self.is_ack() || !self.is_capable(),
            self.is_marked(),
            self.0 & Self::SCALABLE,
        ) {
            (true, ..) => Ecn::NotCapable,
            (_, true, _) => Ecn::Marked,
            (_, _, 0) => Ecn::Classic,
            _ => Ecn::Scalable,
        }
    }

    /// Returns the kind of the packet. For an ACK, returns the kind of the acknowledged packet.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 & Self::KIND {
            0 => Kind::Data,
            1 => Kind::Syn,
            2 => Kind::Fin,
            _ => Kind::Ack,
        }
    }

    #[inline]
    pub fn is_ack(self) -> bool {
        self.0 & Self::ACK != 0
    }

    /// Returns true if the packet has been marked. For an ACK, returns true if an acknowledged packet was marked.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.0 & Self::MARKED != 0
    }

    /// Returns true if queues may mark the packet.
    #[inline]
    pub fn is_capable(self) -> bool {
        self.0 & Self::CAPABLE != 0
    }

    /// Marks the packet if it is ECN-capable. Returns true for an ECN-capable packet.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let capable = self.is_capable();
        if capable {
            self.0 |= Self::MARKED;
        }
        capable
    }

    /// Records that the wire loses the packet.
    #[inline]
    pub fn lose(&mut self) {
        self.0 |= Self::LOST;
    }

    /// Returns true if the current wire loses the packet.
    #[inline]
    pub fn is_lost(self) -> bool {
        self.0 & Self::LOST != 0
    }

    /// Returns the label of the packet's ACK. Queues cannot mark the ACK.
    #[inline]
    pub fn acked(self) -> Self {
        Self((self.0 | Self::ACK) & !Self::CAPABLE)
    }
}

/// Packets in flight.
#[derive(Debug)]
pub struct Slab<H> {
    packets: IdVec<PacketId, Packet<H>>,
    /// History of each ACK, indexed by packet. Empty while no flow tracks losses.
    histories: IdVec<PacketId, u128>,
    free: Vec<PacketId>,
    /// Class of the data packets of each flow, and the flow's entry.
    classes: IdVec<FlowId, (FlowKey, EntryId)>,
}

impl<H> Default for Slab<H> {
    fn default() -> Self {
        Self {
            packets: IdVec::default(),
            histories: IdVec::default(),
            free: Vec::new(),
            classes: IdVec::default(),
        }
    }
}

impl<H> Slab<H> {
    #[inline]
    pub fn insert(&mut self, packet: Packet<H>) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id] = packet;
            return id;
        }
        self.packets.push(packet)
    }

    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Stores the history of an ACK.
    #[inline]
    pub fn set_history(&mut self, id: PacketId, history: u128) {
        self.histories.reach(id, 0);
        self.histories[id] = history;
    }

    /// Returns the bitmap of recently received packets in an ACK. The bitmap must have been stored.
    #[inline]
    pub fn history(&self, id: PacketId) -> u128 {
        self.histories[id]
    }

    /// Sets the class of a flow's data packets.
    pub fn set_class(&mut self, flow: FlowId, entry: EntryId, class: FlowKey) {
        self.classes.reach(flow, (class, entry));
        self.classes[flow] = (class, entry);
    }

    /// Returns the service class at flow queues. Data of flow entry `n` has class `2 n`, and ACKs have class `2 n + 1`.
    pub fn entry_class(&self, id: PacketId) -> usize {
        let packet = &self.packets[id];
        let (_, entry) = self.classes[packet.flow];
        2 * entry.index() + usize::from(packet.label.is_ack())
    }

    /// Returns the header fields by which queues classify a packet.
    pub fn class(&self, id: PacketId) -> FlowKey {
        let packet = &self.packets[id];
        let ecn = packet.label.ecn();
        let (data, _) = self.classes[packet.flow];
        if packet.label.is_ack() {
            return FlowKey {
                flow: !data.flow,
                source: data.destination,
                destination: data.source,
                ecn,
            };
        }
        FlowKey { ecn, ..data }
    }

    /// Prefetches a packet that will be needed soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.packets[id]);
        if let Some(history) = self.histories.get(id) {
            prefetch(history);
        }
    }

    /// Returns the largest number of packets stored so far.
    #[inline]
    pub fn most(&self) -> usize {
        self.packets.len()
    }

    /// Returns the number of packets stored now.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Returns the memory used, bytes.
    pub fn memory(&self) -> usize {
        let histories = self.histories.capacity() * size_of::<u128>();
        let classes = self.classes.capacity() * size_of::<(FlowKey, EntryId)>();
        self.packets.capacity() * size_of::<Packet<H>>()
            + histories
            + classes
            + self.free.capacity() * size_of::<PacketId>()
    }
}

impl<H> std::ops::Index<PacketId> for Slab<H> {
    type Output = Packet<H>;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet<H> {
        &self.packets[id]
    }
}

impl<H> std::ops::IndexMut<PacketId> for Slab<H> {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet<H> {
        &mut self.packets[id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_laws::AnyHeader;

    #[test]
    fn a_label_returns_its_fields() {
        for kind in [Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack] {
            let mut plain = Label::of(kind, 0);
            assert!(!plain.mark() && !plain.is_marked() && !plain.is_ack() && plain.kind() == kind);
            let mut capable = Label(kind as u8 | Label::CAPABLE);
            assert!(capable.mark() && capable.is_marked() && capable.kind() == kind);
            let mut ack = capable.acked();
            assert!(ack.is_ack() && ack.is_marked() && !ack.mark() && ack.kind() == kind);
            assert_eq!(
                [plain.ecn(), capable.ecn(), ack.ecn()],
                [Ecn::NotCapable, Ecn::Marked, Ecn::NotCapable]
            );
            let data = kind == Kind::Data;
            for (ecn, scalable, said) in [
                (false, true, Ecn::NotCapable),
                (true, false, Ecn::Classic),
                (true, true, Ecn::Scalable),
            ] {
                let transport = Transport {
                    ecn,
                    scalable,
                    ..Transport::PLAIN
                };
                let mut label = Label::of(kind, Label::flags(&transport));
                assert_eq!(label.ecn(), if data { said } else { Ecn::NotCapable });
                assert!(label.mark() == (data && ecn) && label.kind() == kind && !label.is_ack());
            }
        }
    }

    // **Invariant** (The engine): a packet of any law is 64 bytes, one cache line. See
    // `a_label_returns_its_fields`.
    #[test]
    fn a_packet_of_any_law_fits_a_cache_line() {
        assert!(
            size_of::<Packet<AnyHeader>>() == 64,
            "{}",
            size_of::<Packet<AnyHeader>>()
        );
    }
}
