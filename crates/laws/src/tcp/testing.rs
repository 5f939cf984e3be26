//! For the tests of the family: a sender by hand, and one over a queue and a wire.

use std::boxed::Box;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{Ack, Cause, Congestion, Rtt, Tcp, TcpParams, TcpSender, Variant};
use crate::{Feedback, FlowInfo, Kind, Law, Loss, NoHeader, Outgoing, SenderLaw};

pub const PACKET: Bytes = Bytes::new(1000);

pub fn params<V: Variant>(changes: &[(&str, f64)]) -> TcpParams<V::Params> {
    let table = V::INFO.params;
    let known = |name: &str| table.iter().any(|row| row.name == name);
    assert!(changes.iter().all(|(name, _)| known(name)), "{changes:?}");
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let values: Vec<f64> = table.iter().map(|row| value(row.name).unwrap_or(row.default)).collect();
    Tcp::<V>::params(&values).expect("they fit together")
}

pub fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

/// The ACK for one packet after a steady round-trip time.
pub fn ack(now: f64, rtt: f64) -> Ack {
    Ack {
        now: at(now),
        acked: 1,
        outstanding: 0,
        marked: false,
        rtt: Rtt {
            last: rtt,
            smooth: rtt,
            min: rtt,
        },
        round: false,
    }
}

pub fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds).expect("a time")
}

struct Packet {
    /// When its ACK arrives.
    back: Time,
    number: u32,
    data: u32,
    sent: Time,
    marked: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    Passes,
    Marked,
    Lost,
}

/// One sender that always has data, a first-in first-out queue that serves `capacity` packets per second, and a wire.
pub struct Path<V: Variant> {
    pub params: TcpParams<V::Params>,
    pub sender: TcpSender<V>,
    pub now: Time,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets taken for lost.
    pub losses: u64,
    service: Duration,
    delay: Duration,
    buffer: usize,
    threshold: usize,
    free_at: Time,
    fate: Box<dyn FnMut(u32, u32) -> Fate>,
    acks: VecDeque<Packet>,
    /// Lost and not yet noticed: number, data, packets acknowledged since.
    lost: VecDeque<(u32, u32, u32)>,
    resend: VecDeque<u32>,
    /// Data that the receiver misses, and the number under which it was first sent.
    missing: BTreeMap<u32, u32>,
    number: u32,
    data: u32,
}

impl<V: Variant> Path<V> {
    pub fn new(changes: &[(&str, f64)], capacity: f64, delay: f64) -> Self {
        let params = params::<V>(changes);
        let sender = TcpSender::new(&params, &FlowInfo { packet_size: PACKET });
        let mut path = Self {
            sender,
            params,
            now: Time::ZERO,
            delivered: 0,
            losses: 0,
            service: Duration::from_secs_f64(1.0 / capacity).expect("a capacity"),
            delay: Duration::from_secs_f64(delay).expect("a delay"),
            buffer: usize::MAX,
            threshold: usize::MAX,
            free_at: Time::ZERO,
            fate: Box::new(|_, _| Fate::Passes),
            acks: VecDeque::new(),
            lost: VecDeque::new(),
            resend: VecDeque::new(),
            missing: BTreeMap::new(),
            number: 0,
            data: 0,
        };
        path.open();
        path
    }

    pub fn with_buffer(mut self, packets: usize) -> Self {
        self.buffer = packets;
        self
    }

    /// Marks a packet that finds so many waiting or in service.
    pub fn with_threshold(mut self, packets: usize) -> Self {
        self.threshold = packets;
        self
    }

    /// `fate` says what becomes of a packet, from its number and that of the data in it: a retransmission has a new
    /// number and old data.
    pub fn with_fate(mut self, fate: impl FnMut(u32, u32) -> Fate + 'static) -> Self {
        self.fate = Box::new(fate);
        self
    }

    fn open(&mut self) {
        self.stamp(Kind::Syn);
        self.now += self.delay;
        self.sender.on_feedback(
            &self.params,
            self.now,
            &Feedback::plain(0, Kind::Syn, self.delay, NoHeader),
        );
    }

    /// Runs until `end`; `see` is called after each ACK.
    pub fn run(&mut self, end: f64, mut see: impl FnMut(&Self)) {
        let end = at(end);
        loop {
            while self.outstanding() < self.sender.window() {
                self.send();
            }
            match self.acks.front() {
                Some(packet) if packet.back <= end => self.now = packet.back,
                Some(_) => return,
                None => self.time_out(),
            }
            if let Some(packet) = self.acks.pop_front() {
                self.take(&packet);
                see(self);
            }
        }
    }

    pub fn variant_mut(&mut self) -> &mut V {
        &mut self.sender.variant
    }

    pub fn window(&self) -> f64 {
        self.sender.window.size
    }

    /// Packets waiting or in service.
    pub fn queue(&self) -> usize {
        let left = self.free_at.as_ps().saturating_sub(self.now.as_ps());
        left.div_ceil(self.service.as_ps()) as usize
    }

    fn outstanding(&self) -> u32 {
        (self.acks.len() + self.lost.len()) as u32
    }

    fn stamp(&mut self, kind: Kind) -> u32 {
        let number = self.number;
        self.number += 1;
        let size = PACKET;
        self.sender
            .on_send(&self.params, self.now, &Outgoing { number, size, kind });
        number
    }

    fn send(&mut self) {
        let number = self.stamp(Kind::Data);
        let data = self.resend.pop_front().unwrap_or_else(|| {
            self.data += 1;
            self.data
        });
        let fate = (self.fate)(number, data);
        if fate == Fate::Lost || self.queue() >= self.buffer {
            self.missing.entry(data).or_insert(number);
            self.lost.push_back((number, data, 0));
            return;
        }
        let marked = fate == Fate::Marked || self.queue() >= self.threshold;
        self.free_at = self.free_at.max(self.now) + self.service;
        self.acks.push_back(Packet {
            back: self.free_at + self.delay,
            number,
            data,
            sent: self.now,
            marked,
        });
    }

    fn take(&mut self, packet: &Packet) {
        self.delivered += 1;
        self.missing.remove(&packet.data);
        for lost in &mut self.lost {
            lost.2 += u32::from(lost.0 < packet.number);
        }
        while let Some(&(number, data, 3..)) = self.lost.front() {
            self.lost.pop_front();
            self.resend.push_back(data);
            self.losses += 1;
            let loss = Loss {
                number,
                next: self.number,
                outstanding: self.outstanding(),
            };
            self.sender.on_loss(&self.params, self.now, &loss);
        }
        let feedback = Feedback {
            marked: packet.marked,
            outstanding: self.outstanding(),
            gap: self.missing.values().any(|&first| first < packet.number),
            ..Feedback::plain(packet.number, Kind::Data, self.now.since(packet.sent), NoHeader)
        };
        self.sender.on_feedback(&self.params, self.now, &feedback);
    }

    fn time_out(&mut self) {
        self.now += Duration::from_secs(1);
        self.losses += self.lost.len() as u64;
        self.resend.extend(self.lost.drain(..).map(|(_, data, _)| data));
        self.sender.on_timeout(&self.params, self.now, self.number);
    }
}

/// What a loss leaves of a window, by a sender in this state.
pub fn cut<V: Variant>(mut state: V, changes: &[(&str, f64)], window: f64) -> f64 {
    state.reduce(&params::<V>(changes).own, &loss(0.0, 0.1, window))
}

/// A loss after a steady round-trip time.
pub fn loss(now: f64, rtt: f64, window: f64) -> Congestion {
    Congestion {
        cause: Cause::Loss,
        now: at(now),
        window,
        rtt: ack(now, rtt).rtt,
    }
}
