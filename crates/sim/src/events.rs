//! The event list: small, because a link or a delay line has one pending event however much is in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use levelflow_units::Time;

/// What happens. At equal times events happen in the order of these variants, then of their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The next packet reaches the far end of this link.
    Link(u32),
    /// The next answer reaches its sender through this delay line.
    Pipe(u32),
    /// The next answer leaves this delay element.
    AckDelay(u32),
    /// This flow may send.
    Send(u32),
    /// This flow's timer runs out.
    Timer(u32),
    /// This flow entry starts flows.
    Arrival(u32),
    /// This router closes its interval.
    Interval(u32),
    /// Results are sampled.
    Sample,
}

const INDEX_BITS: u32 = 28;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl Target {
    fn code(self) -> u32 {
        let (kind, index) = match self {
            Self::Link(i) => (0, i),
            Self::Pipe(i) => (1, i),
            Self::AckDelay(i) => (2, i),
            Self::Send(i) => (3, i),
            Self::Timer(i) => (4, i),
            Self::Arrival(i) => (5, i),
            Self::Interval(i) => (6, i),
            Self::Sample => (7, 0),
        };
        debug_assert!(index <= INDEX);
        kind << INDEX_BITS | index
    }

    #[inline]
    fn from_code(code: u32) -> Self {
        let index = code & INDEX;
        match code >> INDEX_BITS {
            0 => Self::Link(index),
            1 => Self::Pipe(index),
            2 => Self::AckDelay(index),
            3 => Self::Send(index),
            4 => Self::Timer(index),
            5 => Self::Arrival(index),
            6 => Self::Interval(index),
            _ => Self::Sample,
        }
    }
}

/// Pending events in the order of time, then target: an order that does not depend on when they were scheduled.
#[derive(Debug, Default)]
pub struct EventList {
    heap: BinaryHeap<Reverse<u128>>,
}

#[inline]
fn key(at: Time, target: Target) -> Reverse<u128> {
    Reverse(u128::from(at.as_ps()) << 32 | u128::from(target.code()))
}

impl EventList {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Time, target: Target) {
        self.heap.push(key(at, target));
    }

    /// The next event.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Target)> {
        let Reverse(key) = *self.heap.peek()?;
        Some((Time::from_ps((key >> 32) as u64), Target::from_code(key as u32)))
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) {
        self.heap.pop();
    }

    /// Removes the next event and adds another in one step.
    #[inline]
    pub fn replace(&mut self, at: Time, target: Target) {
        if let Some(mut top) = self.heap.peek_mut() {
            *top = key(at, target);
            drop::<PeekMut<'_, _>>(top);
        }
    }
}
