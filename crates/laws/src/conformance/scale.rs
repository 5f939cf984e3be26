//! One flow in a closed loop at two scales.

use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{CAPACITY, ack, new_router};
use crate::params::{ParamSpec, Unit};
use crate::{Arriving, FlowInfo, Kind, Law, Opening, Outgoing, PortView, Protocol, RouterLaw, SenderLaw, Signal};

const PACKET: u64 = 64;

/// One flow over one router and its queue, every rate and size times a power of two: a closed loop must take the same
/// times and give rates that many times as large, to the last bit.
pub fn scale<L: Law>() {
    if !L::INFO.scale_invariant {
        return;
    }
    // Sums in fixed point are exact from about this scale on.
    let base = 1024.0;
    let reference = Loop::<L>::run(base);
    assert!(
        reference.iter().any(|sample| sample[0] != reference[0][0]),
        "the rate never moved"
    );
    for factor in [2.0, 4096.0] {
        let scaled = Loop::<L>::run(base * factor);
        let signal = if matches!(L::INFO.signal, Signal::Rate | Signal::Change) {
            factor
        } else {
            1.0
        };
        for (i, (a, b)) in reference.iter().zip(&scaled).enumerate() {
            assert_eq!(
                [a[0] * factor, (a[1] * factor).min(f64::MAX), a[2] * signal],
                *b,
                "interval {i}, {factor} times as fast"
            );
        }
    }
}

/// A packet in the network, with the time at which its present leg ends.
struct Moving<H> {
    at: Time,
    sent: Outgoing,
    since: Time,
    header: H,
}

struct Loop<L: Protocol> {
    params: L::Params,
    sender: L::Sender,
    router: L::Router,
    capacity: Rate,
    size: Bytes,
    queue: VecDeque<Moving<L::Header>>,
    acks: VecDeque<Moving<L::Header>>,
    next: u32,
    free_at: Time,
}

impl<L: Law> Loop<L> {
    const BACK: Duration = Duration::from_ms(73);
    const TICKS: usize = 400;
    /// Between two samples of a law whose routers do nothing.
    const LONGEST: Duration = Duration::from_ms(100);

    /// Rate, target and signal at the end of each interval.
    fn run(scale: f64) -> Vec<[f64; 3]> {
        let scaled = |row: &ParamSpec| match row.unit {
            Unit::Rate | Unit::Size => row.default * scale,
            _ => row.default,
        };
        let values: Vec<f64> = L::INFO.params.iter().map(scaled).collect();
        let params = L::params(&values).expect("scaled defaults fit together");
        let size = Bytes::new(PACKET * scale as u64);
        let mut this = Self {
            sender: L::Sender::new(&params, &FlowInfo { packet_size: size }),
            router: new_router::<L>(&params, CAPACITY * scale),
            capacity: Rate::clamped(CAPACITY * scale),
            size,
            queue: VecDeque::new(),
            acks: VecDeque::new(),
            next: 0,
            free_at: Time::ZERO,
            params,
        };
        this.samples()
    }

    fn samples(&mut self) -> Vec<[f64; 3]> {
        let mut samples = Vec::new();
        let (mut last, mut tick) = (Time::ZERO, Time::ZERO + self.interval());
        let mut send = Some(Time::ZERO);
        while samples.len() < Self::TICKS {
            let due = |packets: &VecDeque<Moving<_>>| packets.front().map(|packet| packet.at);
            let (leaves, returns) = (due(&self.queue), due(&self.acks));
            let now = [leaves, returns, send].into_iter().flatten().fold(tick, Time::min);
            if leaves == Some(now) {
                self.depart();
            } else if returns == Some(now) {
                self.take_ack(now);
                send = send.or(Some(now));
            } else if send == Some(now) {
                send = self.send(now);
            } else {
                let queue = self.queue.iter().map(|packet| packet.sent.size).sum();
                let port = PortView {
                    queue,
                    packets: self.queue.len() as u32,
                    dropped: Bytes::ZERO,
                };
                self.router.on_interval(&self.params, now.since(last), &port);
                samples.push([
                    self.sender.rate().bps(),
                    self.router.target().bps(),
                    self.router.signal(),
                ]);
                (last, tick) = (now, now + self.interval());
            }
        }
        samples
    }

    fn interval(&self) -> Duration {
        self.router.interval(&self.params).min(Self::LONGEST)
    }

    /// Sends a packet; returns when the next one is due, if that does not wait for an ACK.
    fn send(&mut self, now: Time) -> Option<Time> {
        let opens = self.next == 0 && L::transport(&self.params).opening == Opening::Handshake;
        let kind = if opens { Kind::Syn } else { Kind::Data };
        let sent = Outgoing {
            number: self.next,
            size: self.size,
            kind,
        };
        self.next += 1;
        let mut header = self.sender.on_send(&self.params, now, &sent);
        self.router.on_arrival(
            &self.params,
            &Arriving {
                now,
                ..Arriving::alone(self.size)
            },
            Some(&mut header),
        );
        let service = self.capacity.time_to_send(self.size).expect("the link has a rate");
        self.free_at = self.free_at.max(now) + service;
        self.queue.push_back(Moving {
            at: self.free_at,
            sent,
            since: now,
            header,
        });
        let gap = self
            .sender
            .rate()
            .time_to_send(self.size)
            .expect("the sender has a rate");
        (!opens).then(|| now + gap)
    }

    fn depart(&mut self) {
        let mut packet = self.queue.pop_front().expect("a packet is due");
        self.router.on_departure(&self.params, self.size, &mut packet.header);
        packet.at += Self::BACK;
        self.acks.push_back(packet);
    }

    fn take_ack(&mut self, now: Time) {
        let Moving {
            sent, since, header, ..
        } = self.acks.pop_front().expect("an ACK is due");
        self.sender.on_feedback(
            &self.params,
            now,
            &ack::<L>(&self.params, &sent, now.since(since), &header),
        );
    }
}
