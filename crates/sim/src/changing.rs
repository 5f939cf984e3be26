//! A link that changes while the run goes on: what it is now, and what that does to the packet in service.

use levelflow_scenario::LinkState;
use levelflow_units::{Bytes, Duration, Rate, Time};

/// What a link that changes knows more than others.
#[derive(Debug)]
pub struct Changing {
    states: Vec<LinkState>,
    /// Index of the first state to come.
    next: usize,
    capacity: Rate,
    service: Service,
    /// When it came into service, later by its stalls.
    began: Time,
    /// If routers measure: what was sent, how long that took, and by port what of that its router has seen.
    sent: Sent,
    seen: Option<Vec<Sent>>,
}

/// The packet in service.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Service {
    /// It will have been sent then.
    Until(Time),
    /// The line is dead since then; these bytes are left.
    Stalled(Time, f64),
}

/// Packets that were sent, and the time that they were in service.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    busy: Duration,
}

impl Changing {
    /// At time zero, with `ports` routers that measure if they are not notified.
    pub fn new(capacity: Rate, states: &[LinkState], measured: bool, ports: usize) -> Self {
        Self {
            states: states.to_vec(),
            next: 0,
            capacity,
            service: Service::Until(Time::ZERO),
            began: Time::ZERO,
            sent: Sent::default(),
            seen: measured.then(|| vec![Sent::default(); ports]),
        }
    }

    /// When the link changes next.
    pub fn due(&self) -> Option<Time> {
        self.states.get(self.next).map(|state| state.at)
    }

    /// The line is something else from now on.
    pub fn enter(&mut self) -> LinkState {
        let state = self.states[self.next];
        self.next += 1;
        self.capacity = state.capacity;
        state
    }

    /// The line rate.
    pub fn capacity(&self) -> Rate {
        self.capacity
    }

    /// Whether nothing can be sent.
    pub fn is_dead(&self) -> bool {
        self.capacity == Rate::ZERO
    }

    /// The transmitter takes a packet, and will be done with it at `done`.
    pub fn begins(&mut self, now: Time, done: Time) {
        self.began = now;
        self.service = Service::Until(done);
    }

    /// The line has another pace, ps per byte; gives the time when the packet in service will have been sent, if ever.
    pub fn repace(&mut self, now: Time, before: f64, after: f64) -> Option<Time> {
        let left = match self.service {
            Service::Until(done) => (done.max(now) - now).as_ps() as f64 / before,
            Service::Stalled(since, bytes) => {
                self.began += now - since;
                bytes
            }
        };
        if self.is_dead() {
            self.service = Service::Stalled(now, left);
            return None;
        }
        let done = now.saturating_add(Duration::from_ps((left * after + 0.5) as u64));
        self.service = Service::Until(done);
        Some(done)
    }

    /// Whether the packet in service has been sent now, and not at a time that a change has made wrong.
    pub fn is_done(&self, now: Time) -> bool {
        self.service == Service::Until(now)
    }

    /// The packet in service has been sent.
    pub fn sends(&mut self, now: Time, size: u32) {
        self.sent.bytes += u64::from(size);
        self.sent.busy = self.sent.busy + (now - self.began);
    }

    /// Whether routers are notified of changes.
    pub fn notifies(&self) -> bool {
        self.seen.is_none()
    }

    /// The capacity that the router of a port measures: bytes over time in service, of the packets of its interval; none
    /// without such packets, or if routers are notified of changes.
    pub fn measured(&mut self, port: usize) -> Option<Rate> {
        let seen = &mut self.seen.as_mut()?[port];
        let bytes = self.sent.bytes - seen.bytes;
        let busy = self.sent.busy - seen.busy;
        *seen = self.sent;
        (bytes > 0).then(|| Rate::clamped(Bytes::new(bytes).as_bits_f64() / busy.as_secs_f64()))
    }
}
