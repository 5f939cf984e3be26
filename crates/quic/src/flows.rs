//! Which flow is whose, by the numbers of flows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Peers by the numbers of flows.
#[derive(Debug)]
pub(super) struct Flows<P>(Mutex<HashMap<u32, Weak<P>>>);

impl<P> Default for Flows<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P> Flows<P> {
    /// From now on a flow is that peer's, unless it is another's already.
    pub fn enter(flows: &Arc<Self>, flow: u32, peer: &Weak<P>) -> Entry<P> {
        lock(&flows.0).entry(flow).or_insert_with(|| Weak::clone(peer));
        Entry {
            flows: Arc::clone(flows),
            flow,
            peer: Weak::clone(peer),
        }
    }

    /// How many flows are known.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Whose a flow is.
    pub fn find(&self, flow: u32) -> Option<Arc<P>> {
        lock(&self.0).get(&flow).and_then(Weak::upgrade)
    }
}

/// That a flow is a peer's, until this is dropped.
#[derive(Debug)]
pub(super) struct Entry<P> {
    flows: Arc<Flows<P>>,
    flow: u32,
    peer: Weak<P>,
}

impl<P> Entry<P> {
    /// Another flow of the same peer.
    pub fn replaced_by(&self, flow: u32) -> Self {
        Flows::enter(&self.flows, flow, &self.peer)
    }
}

impl<P> Drop for Entry<P> {
    fn drop(&mut self) {
        let mut flows = lock(&self.flows.0);
        if flows.get(&self.flow).is_some_and(|peer| peer.ptr_eq(&self.peer)) {
            flows.remove(&self.flow);
        }
    }
}
