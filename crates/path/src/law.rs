//! Interface between a hop and the router side of a law.

use levelflow_laws::Arriving;
use levelflow_units::{Bytes, Time};

use crate::fifo::{Backlog, Departure};
use crate::scheduler::FlowKey;

/// Router side of a law at a hop. `T` is the packet type.
pub trait HopLaw<T> {
    /// Handles an arriving packet. May stamp its header. Returns false to drop the packet. Otherwise, the queue may
    /// still drop it.
    fn handle_arrival(&mut self, _arriving: &Arriving, _packet: &mut T) -> bool {
        true
    }

    /// Handles a packet that leaves the queue. May stamp its header.
    fn handle_departure(&mut self, _departure: &mut Departure<T>) {}

    /// Handles a packet dropped by the queue.
    fn handle_drop(&mut self, _size: Bytes) {}

    /// Returns the flow key of a packet.
    fn classify(&self, _packet: &T) -> FlowKey {
        FlowKey::default()
    }

    /// Marks an ECN-capable packet. Returns true if the packet had no mark before.
    fn mark(&mut self, _packet: &mut T) -> bool {
        false
    }

    /// Returns the end of the current control interval.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Ends the control interval. `backlog` is the current content of the queue.
    fn handle_timeout(&mut self, _now: Time, _backlog: Backlog) {}
}

/// A hop without a law.
impl<T> HopLaw<T> for () {}

/// A hop with an optional law.
impl<T, L: HopLaw<T>> HopLaw<T> for Option<L> {
    fn handle_arrival(&mut self, arriving: &Arriving, packet: &mut T) -> bool {
        self.as_mut().is_none_or(|law| law.handle_arrival(arriving, packet))
    }

    fn handle_departure(&mut self, departure: &mut Departure<T>) {
        if let Some(law) = self {
            law.handle_departure(departure);
        }
    }

    fn handle_drop(&mut self, size: Bytes) {
        if let Some(law) = self {
            law.handle_drop(size);
        }
    }

    fn classify(&self, packet: &T) -> FlowKey {
        self.as_ref().map_or_else(FlowKey::default, |law| law.classify(packet))
    }

    fn mark(&mut self, packet: &mut T) -> bool {
        self.as_mut().is_some_and(|law| law.mark(packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.as_ref().and_then(L::poll_timeout)
    }

    fn handle_timeout(&mut self, now: Time, backlog: Backlog) {
        if let Some(law) = self {
            law.handle_timeout(now, backlog);
        }
    }
}
