//! Link that changes during the run: its current state, and the effect of a change on the packet in service.

use levelflow_scenario::LinkState;
use levelflow_units::{Bytes, Duration, Rate, Time};

/// Additional state of a link that changes.
#[derive(Debug)]
pub struct Changing {
    states: Vec<LinkState>,
    /// Index of the next state.
    next: usize,
    capacity: Rate,
    service: Service,
    /// Start of the current packet's service, shifted by the time for which the link was down.
    began: Time,
    /// Totals since time zero, for routers that measure the capacity.
    sent: Sent,
    /// Value of `sent` at the latest measurement by each port's router; none if routers do not measure the capacity.
    seen: Option<Vec<Sent>>,
}

/// Service of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Service {
    /// Transmission ends at this time.
    Until(Time),
    /// The link has been down since this time, with this number of bytes left to send.
    Stalled(Time, f64),
}

/// Number of bytes sent, and their time in service.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    busy: Duration,
}

impl Changing {
    /// Creates the state at time zero. If `measured`, the routers of `ports` ports measure the capacity; otherwise they
    /// are notified of changes.
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

    /// Time of the next change.
    pub fn due(&self) -> Option<Time> {
        self.states.get(self.next).map(|state| state.at)
    }

    /// Enters the next state and returns it.
    pub fn enter(&mut self) -> LinkState {
        let state = self.states[self.next];
        self.next += 1;
        self.capacity = state.capacity;
        state
    }

    /// Current line rate.
    pub fn capacity(&self) -> Rate {
        self.capacity
    }

    /// True if the link is down.
    pub fn is_dead(&self) -> bool {
        self.capacity == Rate::ZERO
    }

    /// Records that the service of a packet starts at `now` and ends at `done`.
    pub fn begins(&mut self, now: Time, done: Time) {
        self.began = now;
        self.service = Service::Until(done);
    }

    /// Changes the transmission time per byte, ps. Returns the new end of service of the current packet, unless the
    /// link is down.
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

    /// True if the service of the current packet ends now; false for an event that a change has made obsolete.
    pub fn is_done(&self, now: Time) -> bool {
        self.service == Service::Until(now)
    }

    /// Counts the packet in service as sent.
    pub fn sends(&mut self, now: Time, size: u32) {
        self.sent.bytes += u64::from(size);
        self.sent.busy = self.sent.busy + (now - self.began);
    }

    /// True if routers are notified of changes.
    pub fn notifies(&self) -> bool {
        self.seen.is_none()
    }

    /// Capacity measured by the router of a port: bytes over time in service, for the packets of its control interval.
    /// None if there are no such packets, or if routers are notified of changes.
    pub fn measured(&mut self, port: usize) -> Option<Rate> {
        let seen = &mut self.seen.as_mut()?[port];
        let bytes = self.sent.bytes - seen.bytes;
        let busy = self.sent.busy - seen.busy;
        *seen = self.sent;
        (bytes > 0).then(|| Rate::clamped(Bytes::new(bytes).as_bits_f64() / busy.as_secs_f64()))
    }
}
