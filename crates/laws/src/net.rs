//! A network for the tests of laws whose receivers only echo.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::{Arriving, Feedback, FlowInfo, Kind, Law, Outgoing, PortInfo, PortView, Protocol, RouterLaw, SenderLaw};

pub fn port(id: u32, capacity: f64) -> PortInfo {
    PortInfo {
        id,
        capacity: Rate::new(capacity).unwrap(),
    }
}

pub fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

pub fn close(measured: f64, expected: f64, relative: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= relative,
        "{measured}, expected {expected} within {relative}"
    );
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick { router: usize },
    Send { flow: usize, turn: u32 },
    Arrive { flow: usize, packet: usize, hop: usize },
}

pub struct Flow<L: Protocol> {
    pub sender: L::Sender,
    /// Routers of the path; a packet reaches each one `hop_delay` after the last, and its ACK the sender likewise.
    path: Vec<usize>,
    hop_delay: Duration,
    turn: u32,
    last: Time,
    sent: Vec<(Time, L::Header)>,
    /// Each change of the rate, bit/s.
    pub rates: Vec<(Time, f64)>,
}

/// Routers without queues on paths of fixed delay: only the law is at work.
pub struct Net<L: Protocol> {
    params: L::Params,
    pub routers: Vec<L::Router>,
    pub flows: Vec<Flow<L>>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
}

impl<L: Law> Net<L> {
    pub fn new(params: L::Params, capacities: &[f64]) -> Self {
        let routers: Vec<_> = (1..)
            .zip(capacities)
            .map(|(id, c)| L::Router::new(&params, &port(id, *c)))
            .collect();
        let first = |router| Reverse((ms(7 + 11 * router as u64), Event::Tick { router }));
        let events = (0..routers.len()).map(first).collect();
        Self {
            params,
            routers,
            flows: Vec::new(),
            events,
        }
    }

    pub fn flow(&mut self, size: Bytes, path: &[usize], rtt: Duration, start: Time) {
        let hop_delay = Duration::from_ps(rtt.as_ps() / (path.len() as u64 + 1));
        let sender = L::Sender::new(&self.params, &FlowInfo { packet_size: size });
        self.events.push(Reverse((
            start,
            Event::Send {
                flow: self.flows.len(),
                turn: 0,
            },
        )));
        let (sent, rates) = (Vec::new(), Vec::new());
        self.flows.push(Flow {
            sender,
            path: path.to_vec(),
            hop_delay,
            turn: 0,
            last: start,
            sent,
            rates,
        });
    }

    pub fn run(&mut self, until: Time) {
        while self.events.peek().is_some_and(|next| next.0.0 < until) {
            let Reverse((now, event)) = self.events.pop().expect("just seen");
            match event {
                Event::Tick { router } => {
                    let interval = self.routers[router].interval(&self.params);
                    self.routers[router].on_interval(&self.params, interval, &PortView::IDLE);
                    self.events.push(Reverse((now + interval, event)));
                }
                Event::Send { flow, turn } => self.send(now, flow, turn),
                Event::Arrive { flow, packet, hop } => self.arrive(now, flow, packet, hop),
            }
        }
    }

    fn send(&mut self, now: Time, flow: usize, turn: u32) {
        let f = &mut self.flows[flow];
        if turn != f.turn {
            return;
        }
        let packet = f.sent.len();
        let size = f.sender.packet_size(&self.params);
        let outgoing = Outgoing {
            number: packet as u32,
            size,
            kind: Kind::Data,
        };
        f.sent.push((now, f.sender.on_send(&self.params, now, &outgoing)));
        f.last = now;
        self.events
            .push(Reverse((now + f.hop_delay, Event::Arrive { flow, packet, hop: 0 })));
        self.pace(now, flow);
    }

    fn pace(&mut self, now: Time, flow: usize) {
        let f = &mut self.flows[flow];
        f.turn += 1;
        let gap = f
            .sender
            .rate()
            .time_to_send(f.sender.packet_size(&self.params))
            .unwrap();
        self.events
            .push(Reverse(((f.last + gap).max(now), Event::Send { flow, turn: f.turn })));
    }

    fn arrive(&mut self, now: Time, flow: usize, packet: usize, hop: usize) {
        let f = &mut self.flows[flow];
        if let Some(&router) = f.path.get(hop) {
            let size = f.sender.packet_size(&self.params);
            self.routers[router].on_arrival(&self.params, &Arriving::alone(size), Some(&mut f.sent[packet].1));
            self.events.push(Reverse((
                now + f.hop_delay,
                Event::Arrive {
                    flow,
                    packet,
                    hop: hop + 1,
                },
            )));
            return;
        }
        let (sent, header) = f.sent[packet];
        let feedback = Feedback::plain(packet as u32, Kind::Data, now - sent, header);
        let before = f.sender.rate();
        f.sender.on_feedback(&self.params, now, &feedback);
        if f.sender.rate() != before {
            f.rates.push((now, f.sender.rate().bps()));
            self.pace(now, flow);
        }
    }

    pub fn rate(&self, flow: usize) -> f64 {
        self.flows[flow].sender.rate().bps()
    }

    pub fn peak(&self, flow: usize) -> f64 {
        self.flows[flow].rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}
