//! State of a link that changes during the run, and the effect of a change on the packet in service.

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
    /// Start of the current packet's transmission, plus the time for which the link was down since then.
    began: Time,
    /// Bytes and transmission times since time zero, for routers that measure the capacity.
    sent: Sent,
    /// Value of `sent` at the latest measurement by the router of each port. `None` if routers do not measure the
    /// capacity.
    seen: Option<Vec<Sent>>,
}

/// State of the current transmission.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Service {
    /// The transmission ends at this time.
    Until(Time),
    /// The link has been down since this time. This number of bytes is left to send.
    Stalled(Time, f64),
}

/// Number of bytes sent, and the sum of their transmission times.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    busy: Duration,
}

impl Changing {
    /// Creates the state at time zero. If `measured` is true, the routers of `ports` ports measure the capacity.
    /// Otherwise, the link notifies them of changes.
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

    /// Returns the time of the next change.
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

    /// Returns the current line rate.
    pub fn capacity(&self) -> Rate {
        self.capacity
    }

    /// Returns true if the link is down.
    pub fn is_dead(&self) -> bool {
        self.capacity == Rate::ZERO
    }

    /// Records that the transmission of a packet starts at `now` and ends at `done`.
    pub fn begins(&mut self, now: Time, done: Time) {
        self.began = now;
        self.service = Service::Until(done);
    }

    /// Changes the transmission time per byte, ps. Returns the new end of the current transmission, or `None` if the
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

    /// Returns true if the current transmission ends now. False for an event that a change has made obsolete.
    pub fn is_done(&self, now: Time) -> bool {
        self.service == Service::Until(now)
    }

    /// Counts the packet in service as sent.
    pub fn sends(&mut self, now: Time, size: u32) {
        self.sent.bytes += u64::from(size);
        self.sent.busy = self.sent.busy + (now - self.began);
    }

    /// Returns true if the link notifies routers of changes.
    pub fn notifies(&self) -> bool {
        self.seen.is_none()
    }

    /// Returns the capacity measured by the router of a port. This is `bytes / time`, for the packets transmitted since
    /// the previous call. Returns `None` without such packets, or if the link notifies routers of changes.
    pub fn measured(&mut self, port: usize) -> Option<Rate> {
        let seen = &mut self.seen.as_mut()?[port];
        let bytes = self.sent.bytes - seen.bytes;
        let busy = self.sent.busy - seen.busy;
        *seen = self.sent;
        (bytes > 0).then(|| Rate::clamped(Bytes::new(bytes).as_bits_f64() / busy.as_secs_f64()))
    }
}
