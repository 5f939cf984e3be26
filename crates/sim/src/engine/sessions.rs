//! Sessions of users who read pages. The objects of a page are flows that start together. After all objects have
//! arrived, the user waits for a think time. Then the user requests the next page.

use levelflow_laws::Protocol;
use levelflow_units::Duration;

use super::Sim;
use crate::events::Target;
use crate::flow::NO_SESSION;
use crate::id::{EntryId, FlowId, SessionId};

/// Session of one user.
#[derive(Debug)]
pub struct Session {
    entry: EntryId,
    /// Pages not yet requested.
    pages: u64,
    /// Objects of the current page that have not arrived.
    objects: u64,
}

impl<P: Protocol> Sim<P> {
    /// Starts the session of a user and requests the first page.
    pub(super) fn start_session(&mut self, entry: EntryId) {
        let e = &mut self.entries[entry];
        let spec = e.spec.session.as_ref().expect("the entry has sessions");
        let pages = spec.pages.sample(&mut e.sessions).ceil().max(1.0) as u64;
        let session = Session {
            entry,
            pages,
            objects: 0,
        };
        // Like flows, sessions reuse free slots of their own entry.
        let id = if let Some(id) = e.free_sessions.pop() {
            self.sessions[id] = session;
            id
        } else {
            self.sessions.push(session)
        };
        self.next_page(id);
    }

    /// Requests the next page.
    pub(super) fn next_page(&mut self, id: SessionId) {
        let session = &mut self.sessions[id];
        let entry = session.entry;
        let e = &mut self.entries[entry];
        if e.spec.stop.is_some_and(|stop| self.now >= stop) {
            e.free_sessions.push(id);
            return;
        }
        let spec = e.spec.session.as_ref().expect("the entry has sessions");
        let objects = spec.objects.sample(&mut e.sessions).ceil().max(1.0) as u64;
        session.pages -= 1;
        session.objects = objects;
        for _ in 0..objects {
            if self.is_full() {
                return;
            }
            self.start_flow(entry, id);
        }
    }

    /// Handles a complete flow. After the last object of a page, the user's think time begins. After the last page, the
    /// session ends.
    pub(super) fn object_is_there(&mut self, flow: FlowId) {
        let id = std::mem::replace(&mut self.flows[flow].session, NO_SESSION);
        if id == NO_SESSION {
            return;
        }
        let session = &mut self.sessions[id];
        session.objects -= 1;
        if session.objects > 0 {
            return;
        }
        let e = &mut self.entries[session.entry];
        if session.pages == 0 {
            e.free_sessions.push(id);
            return;
        }
        let spec = e.spec.session.as_ref().expect("the entry has sessions");
        let think = Duration::from_secs_f64(spec.think.sample(&mut e.sessions));
        if let Some(at) = think.and_then(|think| self.now.checked_add(think)) {
            self.schedule(at, Target::Session(id));
        }
    }
}
