//! What a law does at a hop.

use levelflow_laws::Arriving;
use levelflow_units::{Bytes, Time};

use crate::fifo::{Backlog, Departure};
use crate::scheduler::Class;

/// The router half of a law at a hop, which sees packets of type `T` come and go.
pub trait HopLaw<T> {
    /// A packet comes, and may be stamped; it may not fit into the queue.
    fn handle_arrival(&mut self, _arriving: &Arriving, _packet: &mut T) {}

    /// A packet left the queue, and may be stamped.
    fn handle_departure(&mut self, _departure: &mut Departure<T>) {}

    /// A packet that came did not fit.
    fn handle_drop(&mut self, _size: Bytes) {}

    /// What queues that do more than wait know of a packet.
    fn classify(&self, _packet: &T) -> Class {
        Class::default()
    }

    /// A queue marks a packet that its class allows to be; gives whether it had no mark before.
    fn mark(&mut self, _packet: &mut T) -> bool {
        false
    }

    /// When the running interval ends.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The interval ends, with this much in the queue.
    fn handle_timeout(&mut self, _now: Time, _backlog: Backlog) {}
}

/// A hop without a law.
impl<T> HopLaw<T> for () {}

/// A hop that may have a law.
impl<T, L: HopLaw<T>> HopLaw<T> for Option<L> {
    fn handle_arrival(&mut self, arriving: &Arriving, packet: &mut T) {
        if let Some(law) = self {
            law.handle_arrival(arriving, packet);
        }
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

    fn classify(&self, packet: &T) -> Class {
        self.as_ref().map_or_else(Class::default, |law| law.classify(packet))
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
