//! The buffer-sizing algorithm of a link, and its input for an interval.

use levelflow_laws::PortInfo;
use levelflow_laws::buffers::{AnyBufferAlgorithm, AnyBufferParams, Load};
use levelflow_units::{Bytes, Time};

use crate::counters::LinkCounters;

/// An algorithm, and the counters at its last decision.
#[derive(Debug)]
pub struct Sizing {
    pub law: AnyBufferAlgorithm,
    capacity: f64,
    since: Time,
    /// Most bytes so far that had arrived and were not dropped: fewer after a queue dropped what it had taken.
    kept: u64,
    sent: u64,
    /// Bytes that found no room in the running interval.
    refused: u64,
    /// What has raised half the square of the work left, in the running interval, and that square at its beginning; seconds squared.
    waits: f64,
}

impl Sizing {
    pub fn new(params: &AnyBufferParams, port: &PortInfo) -> Self {
        Self {
            law: AnyBufferAlgorithm::new(params, port),
            capacity: port.capacity.bps(),
            since: Time::ZERO,
            kept: 0,
            sent: 0,
            refused: 0,
            waits: 0.0,
        }
    }

    /// The transmitter, which had `before` seconds of work left, has so much more now, or less.
    ///
    /// What is left falls by one a second. So over an interval it integrates to what half its square has fallen by, and what
    /// packets raised that by: one sum that each packet adds to, exact without a look at departures.
    #[inline]
    pub fn work(&mut self, before: f64, more: f64) {
        self.waits += more * (before + 0.5 * more);
    }

    /// There was no room for so much.
    #[inline]
    pub fn refuse(&mut self, bytes: u64) {
        self.refused += bytes;
    }

    /// An interval ends; so many bytes and packets wait, for which the transmitter needs `left` seconds.
    pub fn close(&mut self, now: Time, counters: &LinkCounters, queue: (u64, u32), left: f64) {
        let (bytes, packets) = queue;
        let kept = counters.arrived_bytes - counters.dropped_bytes;
        let gone = kept - bytes;
        let elapsed = now - std::mem::replace(&mut self.since, now);
        let ahead = 0.5 * left * left;
        let wait = (self.waits - ahead) / elapsed.as_secs_f64();
        self.waits = ahead;
        let load = Load {
            elapsed,
            admitted: Bytes::new(kept.saturating_sub(self.kept)),
            dropped: Bytes::new(std::mem::take(&mut self.refused)),
            sent: Bytes::new(gone - std::mem::replace(&mut self.sent, gone)),
            queue: Bytes::new((wait * self.capacity / 8.0 + 0.5) as u64),
            packets,
        };
        self.kept = self.kept.max(kept);
        self.law.on_interval(&load);
    }
}
