//! Table of peers by flow number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Peers by flow number.
#[derive(Debug)]
pub(super) struct Flows<P>(Mutex<HashMap<u32, Weak<P>>>);

impl<P> Default for Flows<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> Flows<P> {
    /// Registers a flow for a peer, unless the flow is already registered for another peer.
    pub fn enter(flows: &Arc<Self>, flow: u32, peer: &Weak<P>) -> FlowSlot<P> {
        lock(&flows.0).entry(flow).or_insert_with(|| Weak::clone(peer));
        FlowSlot {
            flows: Arc::clone(flows),
            flow,
            peer: Weak::clone(peer),
        }
    }

    /// Returns the number of registered flows.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Returns the peer of a flow.
    pub fn find(&self, flow: u32) -> Option<Arc<P>> {
        lock(&self.0).get(&flow).and_then(Weak::upgrade)
    }
}

/// Registration of a flow for a peer. Dropping this value ends the registration.
#[derive(Debug)]
pub(super) struct FlowSlot<P> {
    flows: Arc<Flows<P>>,
    flow: u32,
    peer: Weak<P>,
}

impl<P> FlowSlot<P> {
    /// Registers another flow for the same peer.
    pub fn replaced_by(&self, flow: u32) -> Self {
        Flows::enter(&self.flows, flow, &self.peer)
    }
}

impl<P> Drop for FlowSlot<P> {
    fn drop(&mut self) {
        let mut flows = lock(&self.flows.0);
        if flows.get(&self.flow).is_some_and(|peer| peer.ptr_eq(&self.peer)) {
            flows.remove(&self.flow);
        }
    }
}
