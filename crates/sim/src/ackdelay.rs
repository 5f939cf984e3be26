//! Random delay of ACKs at a receiver (Zhang 2008, section VI.3.5 and figs 23b, 26, 36b). ACKs leave in order with a
//! fixed spacing. After every `m` ACKs, the next ACK is delayed by `d`. All later ACKs wait for the delayed ACK.

use std::collections::VecDeque;

use levelflow_units::{Duration, Time};

use crate::id::PacketId;
use levelflow_random::Stream;
use levelflow_scenario::AckDelaySpec;

/// Queue that delays the ACKs of one flow.
#[derive(Debug)]
pub struct AckDelay {
    spec: AckDelaySpec,
    stream: Stream,
    queue: VecDeque<PacketId>,
    until_hold: u64,
    last: Option<Time>,
}

impl AckDelay {
    /// Creates an empty queue.
    pub fn new(spec: AckDelaySpec, mut stream: Stream) -> Self {
        let until_hold = group(&spec, &mut stream);
        Self {
            spec,
            stream,
            queue: VecDeque::new(),
            until_hold,
            last: None,
        }
    }

    /// Returns true if the receiver withholds an ACK.
    pub fn withholds(&mut self) -> bool {
        self.spec.withheld > 0.0 && self.stream.unit() < self.spec.withheld
    }

    /// Adds an ACK. Returns its release time if no other ACK is queued.
    pub fn push(&mut self, now: Time, packet: PacketId) -> Option<Time> {
        self.queue.push_back(packet);
        (self.queue.len() == 1).then(|| self.release(now))
    }

    /// Removes and returns the ACK that is due now. Also returns the release time of the next ACK.
    pub fn pop(&mut self, now: Time) -> (PacketId, Option<Time>) {
        let packet = self.queue.pop_front().expect("a release event has an ACK");
        self.last = Some(now);
        let next = (!self.queue.is_empty()).then(|| self.release(now));
        (packet, next)
    }

    /// Returns the release time of an ACK that becomes the first of the queue at `now`.
    fn release(&mut self, now: Time) -> Time {
        let spaced = self
            .last
            .map_or(now, |last| now.max(last.saturating_add(self.spec.spacing)));
        if self.until_hold > 0 {
            self.until_hold -= 1;
            return spaced;
        }
        self.until_hold = group(&self.spec, &mut self.stream);
        let hold = Duration::from_secs_f64(self.spec.hold.sample(&mut self.stream));
        spaced.saturating_add(hold.unwrap_or(Duration::MAX))
    }

    /// Returns the queued ACKs.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.queue.iter().copied()
    }
}

fn group(spec: &AckDelaySpec, stream: &mut Stream) -> u64 {
    spec.every.sample(stream) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_scenario::Dist;

    #[test]
    fn every_third_ack_is_held_and_delays_those_behind_it() {
        let us = Duration::from_us;
        let spec = AckDelaySpec {
            every: Dist::Constant(2.0),
            hold: Dist::Constant(1e-3),
            spacing: us(10),
            withheld: 0.0,
        };
        let mut element = AckDelay::new(spec, Stream::new(1, "ack", "x"));
        let mut due = None;
        let mut out = Vec::new();
        for id in 0..6 {
            let now = Time::ZERO + us(100) * u64::from(id);
            while let Some(at) = due.filter(|&at| at <= now) {
                let (packet, next) = element.pop(at);
                out.push((packet.0, at.as_ps() / 1_000_000));
                due = next;
            }
            due = element.push(now, PacketId(id)).or(due);
        }
        while let Some(at) = due {
            let (packet, next) = element.pop(at);
            out.push((packet.0, at.as_ps() / 1_000_000));
            due = next;
        }
        assert_eq!(out, [(0, 0), (1, 100), (2, 1200), (3, 1210), (4, 1220), (5, 2230)]);
    }
}
