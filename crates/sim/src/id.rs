//! Numbers of links, flows and other entities of a run. Each class of entities has its own number type, which indexes
//! only tables of this class.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Number of an entity: its index in a table.
pub trait Id: Copy {
    fn of(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn of(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// One direction of a link.
    LinkId
    /// Flow slot. A later flow reuses the slot after this flow has ended and has no packets in flight.
    FlowId
    /// Flow entry of the scenario.
    EntryId
    /// Web session slot.
    SessionId
    /// Router with a periodic control interval.
    RouterId
    /// Delay line for ACKs, without a rate limit.
    PipeId
    /// Queue that delays the ACKs of one flow at random.
    AckDelayId
    /// Index into the table of hops, which lists the links of all paths.
    HopId
    /// Packet slot.
    PacketId
    /// Path of a flow entry.
    PathId
    /// Node of the graph that is cut into parts.
    NodeId
    /// Part of a network that has been cut.
    PartId
}

impl HopId {
    /// Returns the next hop of the same path.
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Vector indexed by the numbers of one class of entities.
#[derive(Debug, Clone)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    /// Adds an item and returns its number.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::of(self.items.len() - 1)
    }

    /// Extends the vector with copies of an item, so that this number is a valid index.
    #[inline]
    pub fn reach(&mut self, id: I, item: T)
    where
        T: Clone,
    {
        if self.items.len() <= id.index() {
            self.items.resize(id.index() + 1, item);
        }
    }

    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Returns the numbers of all items.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::of)
    }

    /// Returns all items with their numbers.
    pub fn pairs(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.items)
    }

    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, id: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<I, T> Extend<T> for IdVec<I, T> {
    fn extend<It: IntoIterator<Item = T>>(&mut self, items: It) {
        self.items.extend(items);
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
