//! Windows, a queue and a router in a closed loop.

use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use super::{params, sender};
use crate::xcp::{Xcp, XcpHeader, XcpParams, XcpRouter, XcpSender};
use crate::{Arrived, Arriving, Feedback, Kind, Outgoing, PortInfo, PortView, Protocol, RouterLaw, SenderLaw};

const PACKET: Bytes = Bytes::new(1000);

/// A packet or its ACK on the way.
struct Moving {
    at: Time,
    sent: Time,
    flow: usize,
    header: XcpHeader,
}

struct Flow {
    sender: XcpSender,
    outstanding: u32,
    start: Time,
    delay: Duration,
    acks: VecDeque<Moving>,
    /// Packets acknowledged since the count was last read.
    acked: u32,
}

/// Flows over one queue of a link.
struct Link {
    params: XcpParams,
    router: XcpRouter,
    capacity: Rate,
    flows: Vec<Flow>,
    queue: VecDeque<Moving>,
    /// Largest queue so far, packets.
    deepest: usize,
    free_at: Time,
    closed: Time,
    now: Time,
}

impl Link {
    fn new(capacity: f64, rtts_ms: &[u64]) -> Self {
        let (params, capacity) = (params(&[]), Rate::new(capacity).unwrap());
        let flow = |(i, rtt): (usize, &u64)| Flow {
            sender: sender(&params),
            outstanding: 0,
            start: Time::ZERO + Duration::from_ms(500 * i as u64),
            delay: Duration::from_ms(*rtt),
            acks: VecDeque::new(),
            acked: 0,
        };
        Self {
            router: XcpRouter::new(&params, &PortInfo { id: 1, capacity }),
            flows: rtts_ms.iter().enumerate().map(flow).collect(),
            params,
            capacity,
            queue: VecDeque::new(),
            deepest: 0,
            free_at: Time::ZERO,
            closed: Time::ZERO,
            now: Time::ZERO,
        }
    }

    /// Runs on; returns the rates of the flows in that time, bit/s.
    fn run(&mut self, time: Duration) -> Vec<f64> {
        let end = self.now + time;
        self.flows.iter_mut().for_each(|flow| flow.acked = 0);
        while self.now < end {
            self.step();
        }
        let rate = |flow: &Flow| f64::from(flow.acked) * PACKET.as_bits_f64() / time.as_secs_f64();
        self.flows.iter().map(rate).collect()
    }

    fn step(&mut self) {
        let tick = self.closed + self.router.interval(&self.params);
        let leaves = self.queue.front().map(|packet| packet.at);
        let returns = |flow: &Flow| flow.acks.front().map_or(flow.start, |ack| ack.at);
        let waits = |flow: &Flow| !flow.acks.is_empty() || flow.start > self.now;
        let back = (0..self.flows.len())
            .filter(|i| waits(&self.flows[*i]))
            .map(|i| (returns(&self.flows[i]), i))
            .min();
        self.now = leaves.into_iter().chain(back.map(|(at, _)| at)).fold(tick, Time::min);
        if leaves == Some(self.now) {
            self.depart();
        } else if let Some((at, i)) = back
            && at == self.now
        {
            self.ack(i);
        } else {
            self.router
                .on_interval(&self.params, self.now.since(self.closed), &PortView::IDLE);
            self.closed = self.now;
        }
        for i in 0..self.flows.len() {
            self.send(i);
        }
    }

    fn send(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        while flow.start <= self.now && flow.outstanding < flow.sender.window() {
            flow.outstanding += 1;
            let packet = Outgoing {
                number: 0,
                size: PACKET,
                kind: Kind::Data,
            };
            let mut header = flow.sender.on_send(&self.params, self.now, &packet);
            let arriving = Arriving {
                now: self.now,
                size: PACKET,
                queue: Bytes::new(PACKET.get() * self.queue.len() as u64),
                packets: self.queue.len() as u32,
            };
            self.router.on_arrival(&self.params, &arriving, Some(&mut header));
            self.free_at = self.free_at.max(self.now) + self.capacity.time_to_send(PACKET).unwrap();
            self.queue.push_back(Moving {
                at: self.free_at,
                sent: self.now,
                flow: i,
                header,
            });
            self.deepest = self.deepest.max(self.queue.len());
        }
    }

    fn depart(&mut self) {
        let mut packet = self.queue.pop_front().unwrap();
        self.router.on_departure(&self.params, PACKET, &mut packet.header);
        let flow = &mut self.flows[packet.flow];
        packet.at += flow.delay;
        flow.acks.push_back(packet);
    }

    fn ack(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        let Some(ack) = flow.acks.pop_front() else { return };
        let arrived = Arrived {
            now: self.now,
            kind: Kind::Data,
            size: PACKET,
        };
        let header = Xcp::reflect(&self.params, &mut (), &arrived, &ack.header);
        let rtt = self.now.since(ack.sent);
        flow.sender
            .on_feedback(&self.params, self.now, &Feedback::plain(0, Kind::Data, rtt, header));
        flow.outstanding -= 1;
        flow.acked += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sections 3.3 and 3.4: the link is full, its queue is short, and the rates are equal whatever the round-trip times.
    #[test]
    fn flows_of_any_round_trip_times_get_equal_rates(
        capacity in 5e6..50e6, rtts_ms in [40_u64..120, 120_u64..240],
    ) {
        let mut link = Link::new(capacity, &rtts_ms);
        link.run(Duration::from_secs(30));
        link.deepest = 0;
        let rates = link.run(Duration::from_secs(10));
        let used: f64 = rates.iter().sum::<f64>() / capacity;
        prop_assert!((0.95..1.001).contains(&used), "{used} of the link is used");
        for rate in &rates {
            prop_assert!((rate / (capacity / 2.0) - 1.0).abs() < 0.1, "{rates:?} of {capacity}");
        }
        prop_assert!(link.deepest < 30, "{} packets waited", link.deepest);
    }
}

#[test]
fn a_flow_alone_fills_the_link_within_ten_round_trips() {
    let mut link = Link::new(20e6, &[100]);
    link.run(Duration::from_secs(1));
    let rates = link.run(Duration::from_secs(1));
    assert!(rates[0] > 0.9 * 20e6, "{rates:?}");
}
