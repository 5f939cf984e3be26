//! Snapshots of a router's readings. The forwarding thread passes the snapshots to threads that display them.

use std::sync::{Arc, Mutex, PoisonError};

use levelflow_laws::{RouterLaw, Signal};
use levelflow_path::port::PortCounters;
use levelflow_units::{Bytes, Rate, Time};
use serde::Serialize;

use super::Port;

/// State of a router at one time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Time since the start, s.
    pub time: f64,
    /// Name of the device, or addresses of the relay.
    pub place: String,
    /// Name of the law.
    pub law: String,
    /// Capacity of the line, bit/s.
    pub capacity: f64,
    /// Target load that the law computes, bit/s.
    pub target: f64,
    /// Kind of the feedback signal: `price`, `rate` (bit/s) or `change` (bytes).
    pub signal_name: &'static str,
    /// Value of the signal.
    pub signal: f64,
    /// Fair share of a flow, bit/s; `None` if the law computes none.
    pub share: Option<f64>,
    /// Backlog, bytes.
    pub queue_bytes: u64,
    /// Backlog, packets.
    pub queue_packets: u64,
    /// Largest backlog observed since the start, bytes.
    pub queue_peak: u64,
    /// Counters of packets and intervals.
    #[serde(flatten)]
    pub counters: PortCounters,
    /// Number of a relay's clients; `None` at a device.
    pub clients: Option<u64>,
    /// Datagrams that a relay could not forward.
    pub unsent: u64,
    /// Datagrams that a relay dropped because its table of clients was full.
    pub turned_away: u64,
}

impl Snapshot {
    /// Creates a snapshot of a port.
    #[must_use]
    pub fn of(port: &Port, place: &str, now: Time, queue: (Bytes, u32, Bytes)) -> Self {
        let signalling = port.params().signalling();
        Self {
            time: now.as_secs_f64(),
            place: place.to_owned(),
            law: signalling.name.to_owned(),
            capacity: port.info().capacity.bps(),
            target: port.law().target().bps(),
            signal_name: match signalling.signal {
                Signal::Rate => "rate",
                Signal::Change => "change",
                _ => "price",
            },
            signal: port.law().signal(),
            share: port.law().share().map(Rate::bps),
            queue_bytes: queue.0.get(),
            queue_packets: queue.1.into(),
            queue_peak: queue.2.get(),
            counters: *port.counters(),
            clients: None,
            unsent: 0,
            turned_away: 0,
        }
    }
}

/// Storage for the latest snapshot. Clones share the same storage.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Snapshot>>);

impl Board {
    /// Publishes a snapshot. If a reader holds the lock, the snapshot is discarded, because the forwarding loop must
    /// not wait.
    pub fn post(&self, snapshot: Snapshot) {
        if let Ok(mut latest) = self.0.try_lock() {
            *latest = snapshot;
        }
    }

    /// Publishes the final snapshot. Waits for the lock.
    pub fn post_last(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Returns the latest snapshot.
    #[must_use]
    pub fn read(&self) -> Snapshot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
