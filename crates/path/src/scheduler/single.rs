//! A single queue whose discipline drops or marks packets, for [`Hop`](crate::Hop). The simulator's links have their
//! own implementation.

use levelflow_laws::aqm::{AnyQueue, AnyQueueParams, Verdict};
use levelflow_laws::{Arriving, PortInfo, PortView};
use levelflow_random::Stream;
use levelflow_units::{Bytes, Rate, Time};

use super::pool::{List, Queued};
use super::{Ecn, Store};

/// The queue and its discipline.
#[derive(Debug)]
pub struct Single {
    law: AnyQueue,
    params: AnyQueueParams,
    packets: List,
    /// Start of the current control interval.
    since: Time,
    dropped: u64,
}

impl Single {
    pub fn new(params: &AnyQueueParams, capacity: Rate) -> Self {
        Self {
            law: AnyQueue::new(params, &PortInfo { id: 0, capacity }),
            params: params.clone(),
            packets: List::EMPTY,
            since: Time::ZERO,
            dropped: 0,
        }
    }

    /// Changes the line rate.
    pub fn set_capacity(&mut self, now: Time, capacity: Rate) {
        self.law.on_capacity(&self.params, now, capacity);
    }

    pub fn signal(&self) -> f64 {
        self.law.signal()
    }

    fn view<T>(&self, store: &Store<T>) -> PortView {
        PortView {
            queue: Bytes::new(store.waiting.bytes + u64::from(store.in_service)),
            packets: store.waiting.packets + u32::from(store.in_service > 0),
            in_service: Bytes::new(store.in_service.into()),
            dropped: Bytes::new(self.dropped),
        }
    }

    fn drop<T>(&mut self, store: &mut Store<T>, queued: Queued<T>) {
        self.dropped += u64::from(queued.size);
        store.drop(queued);
    }

    pub fn enqueue<T>(&mut self, store: &mut Store<T>, mut queued: Queued<T>, stream: &mut Stream) {
        let view = self.view(store);
        let arriving = Arriving {
            now: queued.came,
            size: Bytes::new(queued.size.into()),
            queue: view.queue,
            packets: view.packets,
        };
        match self.law.on_arrival(&self.params, &arriving, stream.unit()) {
            Verdict::Pass => {}
            Verdict::Notify if store.can_mark(&queued.class) => queued.class.ecn = Ecn::Marked,
            Verdict::Notify | Verdict::Drop => return self.drop(store, queued),
        }
        store.push(&mut self.packets, queued);
    }

    /// Removes and returns the next packet, and true if it must be marked.
    pub fn dequeue<T>(&mut self, store: &mut Store<T>, now: Time) -> Option<(Queued<T>, bool)> {
        loop {
            let queued = store.pop(&mut self.packets)?;
            let view = PortView {
                in_service: Bytes::ZERO,
                dropped: Bytes::ZERO,
                ..self.view(store)
            };
            let waited = now.since(queued.came);
            let marked = queued.class.ecn == Ecn::Marked;
            match self.law.on_departure(&self.params, now, waited, &view) {
                Verdict::Pass => return Some((queued, marked)),
                Verdict::Notify if store.can_mark(&queued.class) => return Some((queued, true)),
                Verdict::Notify | Verdict::Drop => self.drop(store, queued),
            }
        }
    }

    /// Evicts the packet at the head of the queue.
    pub fn shed<T>(&mut self, store: &mut Store<T>) {
        if let Some(queued) = store.pop(&mut self.packets) {
            self.drop(store, queued);
        }
    }

    pub fn handle_interval<T>(&mut self, store: &Store<T>, now: Time) {
        let view = self.view(store);
        self.dropped = 0;
        let elapsed = now - std::mem::replace(&mut self.since, now);
        self.law.on_interval(&self.params, elapsed, &view);
    }
}
