//! Buffer-sizing algorithm of a link, and its input per interval.

use levelflow_laws::PortInfo;
use levelflow_laws::buffers::{AnyBufferAlgorithm, AnyBufferParams, Load};
use levelflow_units::{Bytes, Time};

use crate::counters::LinkCounters;

/// Buffer-sizing algorithm, and the counters at its latest decision.
#[derive(Debug)]
pub struct Sizing {
    pub law: AnyBufferAlgorithm,
    capacity: f64,
    since: Time,
    /// Maximum so far of bytes arrived less bytes dropped. The difference falls when a queue drops packets that it had
    /// accepted.
    kept: u64,
    sent: u64,
    /// Bytes dropped for lack of room in the current interval.
    refused: u64,
    /// Value of `w^2/2` at the start of the interval, plus its increases by packets since then, s^2. `w` is the work
    /// left.
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

    /// Adds `more` seconds of work, which may be negative, to the `before` seconds that the transmitter has left.
    ///
    /// The work left, `w`, falls by one second per second. Its integral over an interval is thus the decrease of
    /// `w^2/2` over the interval, plus the increases of `w^2/2` by packets. This sum needs no departure times and is
    /// exact.
    #[inline]
    pub fn work(&mut self, before: f64, more: f64) {
        self.waits += more * (before + 0.5 * more);
    }

    /// Counts bytes dropped for lack of room.
    #[inline]
    pub fn refuse(&mut self, bytes: u64) {
        self.refused += bytes;
    }

    /// Ends an interval; `queue` is the backlog in bytes and packets, and `left` the time to transmit it, s.
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
