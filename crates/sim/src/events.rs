//! Event list. A link or a delay line has one pending event for all its packets, so the list is small. A winner tree
//! contains the deliveries of links. In addition, each sending flow has an event. With thousands of flows, only the
//! earliest events are sorted.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use levelflow_units::Time;

use crate::id::{AckDelayId, EntryId, FlowId, LinkId, PipeId, RouterId, SessionId};
use crate::winner_tree::WinnerTree;

/// Target of an event. Events at equal times are ordered by variant, then by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The next packet reaches the far end of this link.
    Link(LinkId),
    /// The next packet of a host arrives at this link. At equal times, the arrival precedes the end of a control
    /// interval.
    FlowEntry(LinkId),
    /// The next ACK of this delay line reaches its sender.
    Pipe(PipeId),
    /// The next ACK leaves this delay element.
    AckDelay(AckDelayId),
    /// This flow may send.
    Send(FlowId),
    /// The timer of this flow expires.
    Timer(FlowId),
    /// Flows of this entry start.
    Arrival(EntryId),
    /// The control interval of this router ends.
    Interval(RouterId),
    /// The control interval of this queue discipline ends.
    Queue(LinkId),
    /// The buffer of this link is resized.
    Buffer(LinkId),
    /// The transmitter of this link completes a packet.
    Transmitter(LinkId),
    /// The timer of this receiver's delayed ACK expires.
    Ack(FlowId),
    /// The application of this flow writes.
    Write(FlowId),
    /// The user of this session requests the next page.
    Session(SessionId),
    /// Capacity, delay or loss of this link changes.
    Change(LinkId),
    /// Routes change.
    Routes,
    /// Results are sampled.
    Sample,
}

const INDEX_BITS: u32 = 27;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl Target {
    /// Returns a number that determines the order of events at equal times.
    pub fn code(self) -> u32 {
        let (kind, index) = match self {
            Self::Link(i) => (0, i.0),
            Self::FlowEntry(i) => (1, i.0),
            Self::Pipe(i) => (2, i.0),
            Self::AckDelay(i) => (3, i.0),
            Self::Send(i) => (4, i.0),
            Self::Timer(i) => (5, i.0),
            Self::Arrival(i) => (6, i.0),
            Self::Interval(i) => (7, i.0),
            Self::Queue(i) => (8, i.0),
            Self::Buffer(i) => (9, i.0),
            Self::Transmitter(i) => (10, i.0),
            Self::Ack(i) => (11, i.0),
            Self::Write(i) => (12, i.0),
            Self::Session(i) => (13, i.0),
            Self::Change(i) => (14, i.0),
            Self::Routes => (15, 0),
            Self::Sample => (16, 0),
        };
        debug_assert!(index <= INDEX);
        kind << INDEX_BITS | index
    }

    #[inline]
    fn from_code(code: u32) -> Self {
        let index = code & INDEX;
        match code >> INDEX_BITS {
            0 => Self::Link(LinkId(index)),
            1 => Self::FlowEntry(LinkId(index)),
            2 => Self::Pipe(PipeId(index)),
            3 => Self::AckDelay(AckDelayId(index)),
            4 => Self::Send(FlowId(index)),
            5 => Self::Timer(FlowId(index)),
            6 => Self::Arrival(EntryId(index)),
            7 => Self::Interval(RouterId(index)),
            8 => Self::Queue(LinkId(index)),
            9 => Self::Buffer(LinkId(index)),
            10 => Self::Transmitter(LinkId(index)),
            11 => Self::Ack(FlowId(index)),
            12 => Self::Write(FlowId(index)),
            13 => Self::Session(SessionId(index)),
            14 => Self::Change(LinkId(index)),
            15 => Self::Routes,
            _ => Self::Sample,
        }
    }
}

/// Number of pending events above which the list stores later events unsorted.
const MAX_SORTED_EVENTS: usize = 4096;
/// Duration of a time slice, 268 us. Shorter slices need more vectors, and the ends of all vectors would not fit the
/// cache.
const SLICE_PS: u64 = 1 << 28;
/// Number of time slices. They cover 550 ms, within which most retransmission timers expire.
const SLICES_AHEAD: usize = 2048;

/// Prefetch distance, in events of a time slice. Handling this number of events takes about one memory latency.
const PREFETCH_DISTANCE_EVENTS: usize = 8;

/// Time and target in one number.
type Key = u128;
/// Key of an event in a time slice: time since the start of the slice, and target.
type InSlice = u64;

/// Heap of events. After the first event has been handled, it stays in the heap until another event replaces it. A
/// replacement is faster than a removal and an insertion.
#[derive(Debug, Default)]
struct Heap {
    events: BinaryHeap<Reverse<Key>>,
    vacant: bool,
}

impl Heap {
    #[inline]
    fn push(&mut self, key: Key) {
        if self.vacant {
            self.fill(key);
        } else {
            self.events.push(Reverse(key));
        }
    }

    /// Replaces the first event.
    #[inline]
    fn fill(&mut self, key: Key) {
        self.vacant = false;
        if let Some(mut top) = self.events.peek_mut() {
            *top = Reverse(key);
            drop::<PeekMut<'_, _>>(top);
        }
    }

    /// Returns the first event, or `otherwise` if the heap is empty.
    #[inline]
    fn first(&mut self, otherwise: Key) -> Key {
        if self.vacant {
            self.remove_first();
        }
        self.events.peek().map_or(otherwise, |&Reverse(key)| key)
    }

    #[inline(never)] // so that the caller is inlined
    fn remove_first(&mut self) {
        self.vacant = false;
        self.events.pop();
    }
}

/// Pending events in order of time, then target. The order does not depend on the order of insertion.
#[derive(Debug)]
pub struct EventList {
    /// Deliveries of links. The tree excludes deliveries that are too far in the future.
    links: WinnerTree,
    /// Other events before the time `horizon`.
    near: Heap,
    /// Remaining events of the current time slice, which ends at `horizon`. The latest event comes first.
    slice: Vec<Reverse<InSlice>>,
    slice_began: u64,
    /// Key of the next event in `slice`. If `slice` is empty, key of the time `horizon`.
    next_of_slice: Key,
    horizon: u64,
    /// Unsorted events of the time slices after `horizon`.
    slices: VecDeque<Vec<Reverse<InSlice>>>,
    sliced: usize,
    /// Events after the last slice.
    far: BinaryHeap<Reverse<Key>>,
    many: usize,
    /// Collection that contains the next event.
    place: Place,
}

/// Collection that contains an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Links,
    Near,
    Slice,
}

#[inline]
fn key(at: Time, target: Target) -> Key {
    Key::from(at.as_ps()) << 64 | Key::from(target.code())
}

#[inline]
fn target(Reverse(event): Reverse<InSlice>) -> Target {
    Target::from_code(event as u32)
}

#[inline]
fn time(key: Key) -> u64 {
    (key >> 64) as u64
}

impl EventList {
    /// Creates an empty list for this number of links.
    pub fn new(links: usize) -> Self {
        Self::with_at_most(MAX_SORTED_EVENTS, links)
    }

    /// Creates an empty list that keeps about `many` events sorted.
    fn with_at_most(many: usize, links: usize) -> Self {
        Self {
            links: WinnerTree::new(links),
            near: Heap::default(),
            slice: Vec::new(),
            slice_began: 0,
            next_of_slice: Key::from(u64::MAX) << 64,
            horizon: u64::MAX,
            slices: VecDeque::new(),
            sliced: 0,
            far: BinaryHeap::new(),
            many,
            place: Place::Near,
        }
    }

    /// Adds an event. For a link, the list keeps only the earliest delivery. The handler of a delivery schedules the
    /// next delivery.
    #[inline(always)] // runs once per event
    pub fn push(&mut self, at: Time, target: Target) {
        match target {
            Target::Link(i) if self.links.add(i.0, at) => {}
            _ => self.push_other(at, target),
        }
    }

    /// Adds an event that does not fit into `links`.
    #[inline(never)]
    fn push_other(&mut self, at: Time, target: Target) {
        let key = key(at, target);
        if time(key) >= self.horizon {
            return self.put_off(key);
        }
        self.near.push(key);
        if self.near.events.len() > self.many {
            self.spill();
        }
    }

    /// Returns the next event before `end`. Calls `soon` with the target of an event that follows a few events later.
    #[inline(always)] // runs once per event
    pub fn next_before(&mut self, end: Time, mut soon: impl FnMut(Target)) -> Option<(Time, Target)> {
        let link = self.links.first();
        let near = self.near.first(Key::MAX);
        if let Some((at, i)) = link
            && at.as_ps() < time(near)
            && at.as_ps() < time(self.next_of_slice)
        {
            // Most events are deliveries. The processor therefore predicts this branch and continues before it has the
            // result of the comparison.
            self.place = Place::Links;
            return (at < end).then_some((at, Target::Link(LinkId(i))));
        }
        // General case, which also handles events at equal times.
        let link = link.map_or(Key::MAX, |(at, i)| key(at, Target::Link(LinkId(i))));
        let mut key = link.min(near).min(self.next_of_slice);
        if time(key) >= self.horizon {
            self.refill(&mut soon);
            key = self.next_of_slice.min(link);
        }
        self.place = match key {
            _ if key == near => Place::Near,
            _ if key == link => Place::Links,
            _ => Place::Slice,
        };
        let at = Time::from_ps(time(key));
        if at >= end {
            return None;
        }
        if self.place == Place::Slice
            && let Some(later) = self.slice.len().checked_sub(1 + PREFETCH_DISTANCE_EVENTS)
        {
            soon(target(self.slice[later]));
        }
        Some((at, Target::from_code(key as u32)))
    }

    /// Removes the next event. `target` is the target of this event.
    #[inline(always)] // runs once per event
    pub fn pop(&mut self, target: Target) {
        debug_assert!(self.is_next(target));
        match (self.place, target) {
            (Place::Links, Target::Link(i)) => self.links.clear(i.0),
            _ => self.pop_other(),
        }
    }

    /// Removes the next event, which is not in `links`.
    fn pop_other(&mut self) {
        let key = if self.place == Place::Slice {
            let key = self.next_of_slice;
            self.slice.pop();
            self.find_next_of_slice();
            key
        } else {
            self.near.vacant = true;
            self.near.events.peek().map_or(0, |&Reverse(key)| key)
        };
        self.links.move_epoch(Time::from_ps(time(key)));
    }

    #[inline]
    fn find_next_of_slice(&mut self) {
        let horizon = Key::from(self.horizon) << 64;
        self.next_of_slice = self.slice.last().map_or(horizon, |&Reverse(event)| {
            Key::from(self.slice_began + (event >> 32)) << 64 | Key::from(event as u32)
        });
    }

    /// Removes the next event and adds an event with the same target, in one step.
    #[inline(always)] // runs once per event
    pub fn replace(&mut self, at: Time, target: Target) {
        debug_assert!(self.is_next(target));
        if self.place != Place::Links {
            self.pop_other();
        }
        match target {
            Target::Link(i) if self.links.set(i.0, at) => {}
            Target::Link(i) => {
                self.links.clear(i.0);
                self.push_other(at, target);
            }
            _ => self.push_other(at, target),
        }
    }

    fn is_next(&self, target: Target) -> bool {
        let first = match self.place {
            Place::Links => self.links.first().map(|(_, i)| Target::Link(LinkId(i)).code()),
            Place::Near if self.near.vacant => None,
            Place::Near => self.near.events.peek().map(|&Reverse(key)| key as u32),
            Place::Slice => Some(self.next_of_slice as u32),
        };
        first == Some(target.code())
    }

    /// Stores an event whose time is at or after `horizon`.
    fn put_off(&mut self, key: Key) {
        let after = time(key) - self.horizon;
        match self.slices.get_mut((after / SLICE_PS) as usize) {
            Some(events) => {
                events.push(Reverse(((after % SLICE_PS) << 32) | InSlice::from(key as u32)));
                self.sliced += 1;
            }
            None => self.far.push(Reverse(key)),
        }
    }

    /// Moves the later events from the heap to time slices. Does nothing if a horizon has already been set.
    #[cold]
    fn spill(&mut self) {
        let Some(&Reverse(next)) = self.near.events.peek().filter(|_| self.horizon == u64::MAX) else {
            return;
        };
        self.horizon = time(next).saturating_add(SLICE_PS);
        self.slices.resize_with(SLICES_AHEAD, Vec::new);
        for Reverse(key) in std::mem::take(&mut self.near.events) {
            if time(key) < self.horizon {
                self.near.push(key);
            } else {
                self.put_off(key);
            }
        }
        self.find_next_of_slice();
    }

    /// Advances to the next time slice that has events. Advances `horizon` to the end of this slice.
    #[cold]
    fn refill(&mut self, soon: impl FnMut(Target)) {
        self.next_slice();
        self.find_next_of_slice();
        let events = self.slice.iter().rev().take(PREFETCH_DISTANCE_EVENTS);
        events.map(|&event| target(event)).for_each(soon);
    }

    fn next_slice(&mut self) {
        while self.slice.is_empty() {
            if self.sliced == 0 {
                let Some(&Reverse(next)) = self.far.peek() else {
                    self.horizon = u64::MAX;
                    return;
                };
                self.horizon = time(next);
                self.take_from_far();
            }
            let Some(mut events) = self.slices.pop_front() else {
                return;
            };
            self.sliced -= events.len();
            std::mem::swap(&mut self.slice, &mut events);
            self.slice.sort_unstable();
            self.slices.push_back(events);
            self.slice_began = self.horizon;
            self.horizon = self.horizon.saturating_add(SLICE_PS);
            self.take_from_far();
        }
    }

    /// Moves events from `far` to the time slices that now cover their times.
    fn take_from_far(&mut self) {
        let end = self.horizon.saturating_add(SLICE_PS * SLICES_AHEAD as u64);
        while let Some(Reverse(key)) = self.far.peek().copied().filter(|&Reverse(key)| time(key) < end) {
            self.far.pop();
            self.put_off(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    /// Generates events, at most one per link.
    fn some_events() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let event = (some_time(), 0..8_u32, 0..3_u32).prop_map(|(at, kind, index)| (at, kind << INDEX_BITS | index));
        prop::collection::vec(event, 1..30).prop_map(|mut events| {
            let mut of_links = [false; 3];
            let mut is_first = |code: u32| !std::mem::replace(&mut of_links[code as usize], true);
            events.retain(|&(_, code)| code >> INDEX_BITS > 0 || is_first(code));
            events
        })
    }

    /// Generates times from the first time slice to after the last time slice. Many times are equal.
    fn some_time() -> impl Strategy<Value = u64> {
        let unit = prop::sample::select(vec![
            1,
            SLICE_PS / 2,
            3 * SLICE_PS,
            SLICE_PS * SLICES_AHEAD as u64 / 2,
            1 << 60,
        ]);
        (0..4_u64, unit).prop_map(|(n, unit)| n * unit)
    }

    fn filled(events: &[(u64, u32)]) -> EventList {
        let mut list = EventList::with_at_most(5, 8);
        for &(at, code) in events {
            list.push(Time::from_ps(at), Target::from_code(code));
        }
        list
    }

    /// Adds an event, unless the link already has an event.
    fn add(list: &mut EventList, sorted: &mut BTreeMap<Key, u32>, at: Time, target: Target) {
        let is_pending = |key: &Key| *key as u32 == target.code();
        if matches!(target, Target::Link(_)) && sorted.keys().any(is_pending) {
            return;
        }
        list.push(at, target);
        *sorted.entry(key(at, target)).or_default() += 1;
    }

    fn drained(mut list: EventList) -> Vec<(Time, Target)> {
        std::iter::from_fn(|| {
            list.next_before(Time::NEVER, |_| ())
                .inspect(|&(_, target)| list.pop(target))
        })
        .collect()
    }

    /// A delivery is beyond the range of the winner tree and therefore pending outside the tree. Another packet
    /// overtakes the packet of this delivery. Later, the first delivery comes into range.
    #[test]
    fn a_delivery_that_is_pending_twice_does_not_hide_the_next() {
        const DAY: u64 = 86_400_000_000_000_000;
        let (send, link) = (Target::Send(FlowId(0)), Target::Link(LinkId(1)));
        let mut list = filled(&[
            (30 * DAY, link.code()),
            (15 * DAY, send.code()),
            (20 * DAY, link.code()),
        ]);
        let mut handled = Vec::new();
        let mut deliveries = [30 * DAY, 35 * DAY].map(Time::from_ps).into_iter();
        while let Some((at, target)) = list.next_before(Time::NEVER, |_| ()) {
            handled.push((at.as_ps() / DAY, target));
            let next = if target == link { deliveries.next() } else { None };
            match next {
                Some(next) => list.replace(next, target),
                None => list.pop(target),
            }
        }
        assert_eq!(handled, [(15, send), (20, link), (30, link), (35, link)]);
    }

    proptest! {
        // **Invariant** (The engine): at equal times, the order of events does not depend on when they were scheduled.
        // See `the_winner_has_the_earliest_time_and_of_equal_ones_the_smallest_number`.
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
        fn replacing_is_removing_and_adding(events in some_events(), later in some_time()) {
            let (mut replaced, mut removed) = (filled(&events), filled(&events));
            let (next, target) = replaced.next_before(Time::NEVER, |_| ()).unwrap();
            let at = next.as_ps() + later;
            removed.next_before(Time::NEVER, |_| ());
            replaced.replace(Time::from_ps(at), target);
            removed.pop(target);
            removed.push(Time::from_ps(at), target);
            prop_assert_eq!(drained(replaced), drained(removed));
        }

        /// Simulates a run. Events are handled in order, and each event adds later events. Sometimes events from other
        /// parts of the network are added between two events.
        #[test]
        fn a_spilled_list_hands_out_what_a_sorted_one_does(events in some_events(), steps in prop::collection::vec(some_time(), 60)) {
            let mut list = filled(&events);
            let mut sorted = BTreeMap::new();
            for &(at, code) in &events {
                *sorted.entry(key(Time::from_ps(at), Target::from_code(code))).or_default() += 1;
            }
            let mut now = 0;
            for (i, step) in steps.into_iter().enumerate() {
                if let Some(entry) = sorted.first_entry().filter(|_| i % 5 == 4) {
                    let first = time(*entry.key());
                    list.next_before(Time::NEVER, |_| ()); // returns the next event without removing it
                    prop_assert_eq!(list.next_before(Time::from_ps(first), |_| ()), None);
                    let between = Time::from_ps(now + (first - now) / 2);
                    for target in [Target::Send(FlowId(77)), Target::Link(LinkId(2))] {
                        add(&mut list, &mut sorted, between, target);
                    }
                }
                let Some((at, target)) = list.next_before(Time::NEVER, |_| ()) else { break };
                now = at.as_ps();
                let mut first = sorted.first_entry().unwrap();
                prop_assert_eq!(key(at, target), *first.key());
                *first.get_mut() -= 1;
                if *first.get() == 0 {
                    first.remove();
                }
                let next = Time::from_ps(at.as_ps().saturating_add(step));
                let late = i % 4 == 3 && next > at; // events may be added before the current event is removed
                if !late {
                    list.pop(target);
                }
                for target in [Target::Send(FlowId(i as u32)), Target::Link(LinkId(1))].into_iter().take(i % 3) {
                    if !late || target != Target::Link(LinkId(1)) {
                        add(&mut list, &mut sorted, next, target);
                    }
                }
                if late {
                    list.pop(target);
                }
            }
        }
    }
}
