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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_events() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let event = (0..4_u64, 0..8_u32, 0..3_u32).prop_map(|(at, kind, index)| (at, kind << INDEX_BITS | index));
        prop::collection::vec(event, 1..30)
    }

    fn filled(events: &[(u64, u32)]) -> EventList {
        let mut list = EventList::default();
        for &(at, code) in events {
            list.push(Time::from_ps(at), Target::from_code(code));
        }
        list
    }

    fn drained(mut list: EventList) -> Vec<(Time, Target)> {
        std::iter::from_fn(|| list.peek().inspect(|_| list.pop())).collect()
    }

    proptest! {
        #[test]
        fn the_order_of_events_is_that_of_time_then_target_whenever_they_were_scheduled(
            (events, shuffled) in some_events().prop_flat_map(|e| (Just(e.clone()), Just(e).prop_shuffle())),
        ) {
            let order = drained(filled(&events));
            let keys = |o: &[(Time, Target)]| o.iter().map(|&(at, t)| (at, t.code())).collect::<Vec<_>>();
            prop_assert!(keys(&order).is_sorted());
            prop_assert_eq!(order, drained(filled(&shuffled)));
        }

        #[test]
        fn replacing_is_removing_and_adding(events in some_events(), at in 0..4_u64) {
            let (mut replaced, mut removed) = (filled(&events), filled(&events));
            replaced.replace(Time::from_ps(at), Target::Link(7));
            removed.pop();
            removed.push(Time::from_ps(at), Target::Link(7));
            prop_assert_eq!(drained(replaced), drained(removed));
        }
    }
}
