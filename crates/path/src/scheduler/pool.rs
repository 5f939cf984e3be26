//! Memory for the packets of several queues, allocated at the start.

use levelflow_units::Time;

use super::FlowKey;

/// Index that denotes no slot.
const NONE: u32 = u32::MAX;

/// A queued packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued<T> {
    /// Arrival time.
    pub came: Time,
    /// Size, bytes.
    pub size: u32,
    /// Header fields that queues read.
    pub class: FlowKey,
    /// The packet.
    pub packet: T,
}

/// A queue of packets in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
    pub packets: u32,
    pub bytes: u64,
}

impl List {
    pub const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        packets: 0,
        bytes: 0,
    };

    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

#[derive(Debug)]
struct Slot<T> {
    next: u32,
    queued: Option<Queued<T>>,
}

/// Memory for a fixed number of packets.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    free: u32,
}

impl<T> Pool<T> {
    /// Creates a pool with `packets` free slots.
    pub fn new(packets: u32) -> Self {
        let slot = |i: u32| Slot {
            next: if i + 1 < packets { i + 1 } else { NONE },
            queued: None,
        };
        Self {
            slots: (0..packets).map(slot).collect(),
            free: 0,
        }
    }

    /// Appends a packet to a queue. The pool must have a free slot.
    pub fn push(&mut self, list: &mut List, queued: Queued<T>) {
        let place = self.free;
        let slot = &mut self.slots[place as usize];
        self.free = std::mem::replace(&mut slot.next, NONE);
        (list.packets, list.bytes) = (list.packets + 1, list.bytes + u64::from(queued.size));
        slot.queued = Some(queued);
        match std::mem::replace(&mut list.tail, place) {
            NONE => list.head = place,
            tail => self.slots[tail as usize].next = place,
        }
    }

    /// Removes and returns the first packet of a queue.
    pub fn pop(&mut self, list: &mut List) -> Option<Queued<T>> {
        let place = list.head;
        let slot = self.slots.get_mut(place as usize)?;
        let queued = slot.queued.take()?;
        list.head = std::mem::replace(&mut slot.next, self.free);
        self.free = place;
        if list.head == NONE {
            list.tail = NONE;
        }
        (list.packets, list.bytes) = (list.packets - 1, list.bytes - u64::from(queued.size));
        Some(queued)
    }

    /// Returns the first packet of a queue.
    pub fn head(&self, list: &List) -> Option<&Queued<T>> {
        self.slots.get(list.head as usize)?.queued.as_ref()
    }

    /// Returns all packets of the pool in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.slots.iter().filter_map(|slot| slot.queued.as_ref())
    }

    /// Returns the memory used, bytes.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>()
    }
}
