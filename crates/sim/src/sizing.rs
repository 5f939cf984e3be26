//! Buffer-sizing algorithm of a link, and its inputs in each control interval.

use levelflow_laws::PortInfo;
use levelflow_laws::buffers::{AnyBufferAlgorithm, AnyBufferParams, Load};
use levelflow_units::{Bytes, Time};

use crate::counters::LinkCounters;

/// Buffer-sizing algorithm, and counters since its latest decision.
#[derive(Debug)]
pub struct Sizing {
    pub law: AnyBufferAlgorithm,
    capacity: f64,
    since: Time,
    /// Largest value so far of `arrived - dropped`, bytes. The difference decreases when a queue drops packets that it
    /// has accepted.
    kept: u64,
    sent: u64,
    /// Bytes dropped in the current interval because the buffer was full.
    refused: u64,
    /// Value of `w^2/2` at the start of the interval, plus its increase at each arrival of a packet, s^2. `w` is the
    /// time to transmit the backlog, s; see [`Self::work`].
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

    /// Records a change of the transmitter's work from `before` to `before + more` seconds. `more` may be negative.
    ///
    /// The work `w` is the time to transmit the backlog. Between arrivals, `w` decreases by one second per second. The
    /// integral of `w` over an interval is therefore the decrease of `w^2/2`, plus the increases of `w^2/2` by packets.
    /// This sum needs no departure times and is exact.
    #[inline]
    pub fn work(&mut self, before: f64, more: f64) {
        self.waits += more * (before + 0.5 * more);
    }

    /// Counts bytes dropped because the buffer was full.
    #[inline]
    pub fn refuse(&mut self, bytes: u64) {
        self.refused += bytes;
    }

    /// Ends an interval. `queue` is the backlog in bytes and packets. `left` is the time to transmit the backlog, s.
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
