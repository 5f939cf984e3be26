//! What a router tells people: one reading of everything, shared between the thread that forwards and those that show.

use std::sync::{Arc, Mutex, PoisonError};

use levelflow_laws::{RouterLaw, Signal};
use levelflow_path::port::Counters;
use levelflow_units::{Bytes, Rate, Time};
use serde::Serialize;

use super::Port;

/// One reading.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Seconds since the start.
    pub time: f64,
    /// What it runs on: a device, or the addresses of a relay.
    pub place: String,
    /// Name of the law.
    pub law: String,
    /// Line rate, bit/s.
    pub capacity: f64,
    /// Load that the law aims at, bit/s.
    pub target: f64,
    /// What is fed back: `price`, `rate` (bit/s) or `change` (bytes).
    pub signal_name: &'static str,
    /// Its value.
    pub signal: f64,
    /// Fair share of a flow, bit/s, where the law computes one and there is one.
    pub share: Option<f64>,
    /// Bytes waiting.
    pub queue_bytes: u64,
    /// Packets waiting.
    pub queue_packets: u64,
    /// Most bytes that have waited since the start, as far as the router has seen.
    pub queue_peak: u64,
    /// What has come and gone.
    #[serde(flatten)]
    pub counters: Counters,
    /// Of a relay: clients that it knows.
    pub clients: Option<u64>,
    /// Of a relay: datagrams that could not be sent on.
    pub unsent: u64,
    /// Of a relay: datagrams of clients for which there was no room in its table.
    pub turned_away: u64,
}

impl Snapshot {
    /// A reading of a port.
    #[must_use]
    pub fn of(port: &Port, place: &str, now: Time, queue: (Bytes, u32, Bytes)) -> Self {
        let law = port.params().law();
        Self {
            time: now.as_secs_f64(),
            place: place.to_owned(),
            law: law.name.to_owned(),
            capacity: port.info().capacity.bps(),
            target: port.law().target().bps(),
            signal_name: match law.signal {
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

/// Where the latest reading lies. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Snapshot>>);

impl Board {
    /// Publishes a reading, unless a reader holds the lock: the forwarding loop does not wait.
    pub fn post(&self, snapshot: Snapshot) {
        if let Ok(mut latest) = self.0.try_lock() {
            *latest = snapshot;
        }
    }

    /// Puts the last reading up.
    pub fn post_last(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// The latest reading.
    #[must_use]
    pub fn read(&self) -> Snapshot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
