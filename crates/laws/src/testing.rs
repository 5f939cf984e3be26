//! Network for closed-loop tests: paced or ACK-clocked flows over ports with routers of the law.

use std::boxed::Box;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::{
    Arrived, Arriving, Delivery, Feedback, FlowInfo, HeaderOf, Kind, Law, Loss, Opening, Outgoing, ParamError,
    ParamSpec, Parameters, PortInfo, PortView, Protocol, ReceiverOf, RouterLaw, RouterOf, RouterParamsOf, SenderLaw,
    Signalling, Transport,
};

/// Timeout without an ACK. All packets in flight are then declared lost.
const ACK_TIMEOUT: Duration = Duration::from_secs(1);
/// Reordering threshold: a packet is declared lost after ACKs for this number of later packets.
const REORDERING_THRESHOLD: u32 = 3;

pub fn port(id: u32, capacity: f64) -> PortInfo {
    let capacity = Rate::new(capacity).expect("a capacity");
    PortInfo { id, capacity }
}

pub fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

pub fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds).expect("a time")
}

/// Computes the max-min fair rates and the number of distinct levels, by progressive filling. `targets` are the targets
/// of the links. `paths` are the links of each flow.
pub fn max_min(targets: &[f64], paths: &[Vec<usize>]) -> (Vec<f64>, usize) {
    let mut rates = std::vec![f64::NAN; paths.len()];
    let mut levels = 0;
    loop {
        let equal = |link: usize| {
            let here = || paths.iter().zip(&rates).filter(|(path, _)| path.contains(&link));
            let open = here().filter(|(_, rate)| rate.is_nan()).count();
            let taken: f64 = here().map(|(_, rate)| rate).filter(|rate| !rate.is_nan()).sum();
            if open == 0 {
                f64::INFINITY
            } else {
                (targets[link] - taken) / open as f64
            }
        };
        let parts: Vec<f64> = (0..targets.len()).map(equal).collect();
        let least = parts.iter().copied().fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            return (rates, levels);
        }
        levels += 1;
        for (path, rate) in paths.iter().zip(&mut rates) {
            if rate.is_nan() && path.iter().any(|link| parts[*link] <= least * (1.0 + 1e-12)) {
                *rate = least;
            }
        }
    }
}

pub fn close(measured: f64, expected: f64, relative: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= relative,
        "{measured}, expected {expected} within {relative}"
    );
}

/// Event. Simultaneous events are processed in the order of these variants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Depart { port: usize },
    EndLeg { flow: usize, leg: usize },
    TimeOut { flow: usize },
    Send { flow: usize },
    Tick { port: usize },
}

struct Packet<H> {
    flow: usize,
    /// Number of ports already passed.
    hop: usize,
    number: u32,
    /// Data number; a retransmission has a new `number` and the same `data`.
    data: u32,
    kind: Kind,
    size: Bytes,
    sent: Time,
    header: H,
    marked: bool,
    /// State of the flow when the packet was sent; see [`Delivery`].
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
}

/// Router with its queue and line.
pub struct TestPort<L: Protocol> {
    pub router: RouterOf<L>,
    /// Line rate; `None` if packets pass the port without queueing.
    pub line: Option<Rate>,
    /// Largest queue length, including the packet in service, in packets. Arrivals at a queue of this length are
    /// dropped.
    pub buffer: usize,
    /// Smallest queue length at which arriving packets are marked, in packets.
    pub threshold: usize,
    /// Largest queue so far, in packets.
    pub deepest: usize,
    queue: VecDeque<Packet<HeaderOf<L>>>,
    waiting: u64,
    dropped: u64,
    departs: Option<Time>,
    ticked: Time,
    ticks: Time,
}

impl<L: Protocol> TestPort<L> {
    /// Returns the queue length, including the packet in service, in packets.
    pub fn queue(&self) -> usize {
        self.queue.len()
    }

    fn serve(&mut self, now: Time) {
        let service = |first: &Packet<_>| self.line?.time_to_send(first.size);
        self.departs = self.queue.front().and_then(service).map(|service| now + service);
    }
}

/// Sender with unlimited data, and its receiver.
pub struct Flow<L: Protocol> {
    pub sender: L::Sender,
    receiver: ReceiverOf<L>,
    path: Vec<usize>,
    /// Propagation delay before each port.
    pub hop: Duration,
    /// Delay from the last port to the sender, via the receiver.
    pub back: Duration,
    /// Packets in flight to each port, with their arrival times. The last queue has the ACKs in flight.
    legs: Vec<VecDeque<(Time, Packet<HeaderOf<L>>)>>,
    /// Loss model: returns true to lose the packet with this packet number and data number.
    loses: Box<dyn FnMut(u32, u32) -> bool>,
    start: Time,
    open: bool,
    /// Number of the next packet.
    pub next: u32,
    data: u32,
    /// Departure time of the last data packet.
    left: Option<Time>,
    /// Packets neither acknowledged nor declared lost: packet number, data number, and number of ACKs for later
    /// packets.
    flight: VecDeque<(u32, u32, u32)>,
    resend: VecDeque<u32>,
    /// Data that the receiver lacks: its number, and the number of the first lost packet that carried it.
    missing: BTreeMap<u32, u32>,
    /// Packets acknowledged.
    pub delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    /// Packets declared lost.
    pub losses: u32,
    /// History of the pacing rate: time of each change, and the new rate in bit/s.
    pub rates: Vec<(Time, f64)>,
}

impl<L: Protocol> Flow<L> {
    pub fn rate(&self) -> f64 {
        self.sender.rate().bps()
    }

    pub fn peak(&self) -> f64 {
        self.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Returns the time at which pacing and window allow the next packet; `None` if the window is full.
    fn due(&self, params: &L::Params) -> Option<Time> {
        if self.next == 0 {
            return Some(self.start);
        }
        if !self.open || self.flight.len() >= self.sender.window() as usize {
            return None;
        }
        let Some(left) = self.left.filter(|_| self.sender.paces()) else {
            return Some(self.start);
        };
        let gap = self.sender.pace().time_to_send(self.sender.packet_size(params));
        Some(left + gap.expect("a rate above zero"))
    }

    /// Removes an acknowledged packet from the packets in flight, and declares earlier packets lost.
    fn take(&mut self, params: &L::Params, now: Time, packet: &Packet<HeaderOf<L>>) {
        self.delivered += 1;
        (self.delivered_at, self.first_sent) = (now, packet.sent);
        self.missing.remove(&packet.data);
        if let Ok(place) = self.flight.binary_search_by_key(&packet.number, |flight| flight.0) {
            self.flight.remove(place);
            self.flight.range_mut(..place).for_each(|flight| flight.2 += 1);
        }
        while let Some((number, data, _)) = self.flight.pop_front_if(|flight| flight.2 >= REORDERING_THRESHOLD) {
            self.resend.push_back(data);
            self.losses += 1;
            let (next, outstanding) = (self.next, self.flight.len() as u32);
            let loss = Loss {
                number,
                next,
                outstanding,
            };
            self.sender.on_loss(params, now, &loss);
        }
    }
}

pub struct Network<L: Protocol> {
    pub params: L::Params,
    pub routers: RouterParamsOf<L>,
    transport: Transport,
    pub now: Time,
    pub ports: Vec<TestPort<L>>,
    pub flows: Vec<Flow<L>>,
    /// Largest sum of the pacing rates of all flows so far, bit/s.
    pub peak: f64,
}

impl<L: Law> Network<L> {
    /// Creates ports of these capacities, without queues.
    pub fn new(params: Both<L>, capacities: &[f64]) -> Self {
        let Both {
            sender: params,
            routers,
        } = params;
        let new = |(id, capacity): (u32, &f64)| TestPort {
            router: RouterOf::<L>::new(&routers, &port(id, *capacity)),
            line: None,
            buffer: usize::MAX,
            threshold: usize::MAX,
            deepest: 0,
            queue: VecDeque::new(),
            waiting: 0,
            dropped: 0,
            departs: None,
            ticked: Time::ZERO,
            // The control intervals of ports are not synchronised.
            ticks: ms(7 + 11 * u64::from(id - 1)),
        };
        Self {
            ports: (1..).zip(capacities).map(new).collect(),
            transport: L::transport(&params),
            params,
            routers,
            now: Time::ZERO,
            flows: Vec::new(),
            peak: 0.0,
        }
    }

    /// Adds a flow. All hops of its path, and the path back, have the same delay.
    pub fn flow(&mut self, size: Bytes, path: &[usize], rtt: Duration, start: Time) -> &mut Flow<L> {
        let delay = Duration::from_ps(rtt.as_ps() / (path.len() as u64 + 1));
        self.flows.push(Flow {
            sender: L::Sender::new(&self.params, &FlowInfo::of(size)),
            receiver: ReceiverOf::<L>::default(),
            path: path.to_vec(),
            hop: delay,
            back: delay,
            legs: (0..=path.len()).map(|_| VecDeque::new()).collect(),
            loses: Box::new(|_, _| false),
            start,
            open: self.transport.opening == Opening::Immediate,
            next: 0,
            data: 0,
            left: None,
            flight: VecDeque::new(),
            resend: VecDeque::new(),
            missing: BTreeMap::new(),
            delivered: 0,
            delivered_at: start,
            first_sent: start,
            losses: 0,
            rates: Vec::new(),
        });
        self.flows.last_mut().expect("just pushed")
    }

    /// Sets the loss model of the last flow. `loses` returns true to lose the packet with this packet number and data
    /// number.
    pub fn losing(mut self, loses: impl FnMut(u32, u32) -> bool + 'static) -> Self {
        self.flows.last_mut().expect("a flow").loses = Box::new(loses);
        self
    }

    pub fn run(&mut self, until: Time) {
        self.watch(until, |_| {});
    }

    /// Runs until `until`. Calls `see` after each ACK, before the sender sends further packets.
    pub fn watch(&mut self, until: Time, mut see: impl FnMut(&Self)) {
        while self.upcoming().0 <= until {
            if self.step() {
                see(self);
            }
        }
        self.now = until;
    }

    fn upcoming(&self) -> (Time, Event) {
        let mut first = (Time::from_ps(u64::MAX), Event::Tick { port: 0 });
        let mut may = |at: Time, event| first = first.min((at, event));
        for (port, p) in self.ports.iter().enumerate() {
            may(p.ticks, Event::Tick { port });
            p.departs.into_iter().for_each(|at| may(at, Event::Depart { port }));
        }
        for (flow, f) in self.flows.iter().enumerate() {
            for (leg, packets) in f.legs.iter().enumerate() {
                packets
                    .front()
                    .into_iter()
                    .for_each(|packet| may(packet.0, Event::EndLeg { flow, leg }));
            }
            if self.transport.tracks_losses && !f.flight.is_empty() {
                may(f.delivered_at + ACK_TIMEOUT, Event::TimeOut { flow });
            }
            if let Some(at) = f.due(&self.params) {
                may(at.max(self.now), Event::Send { flow });
            }
        }
        first
    }

    /// Processes one event; returns true if it was an ACK.
    pub fn step(&mut self) -> bool {
        let (now, event) = self.upcoming();
        self.now = now;
        match event {
            Event::Depart { port } => self.depart(port),
            Event::EndLeg { flow, leg } => {
                let (_, packet) = self.flows[flow].legs[leg].pop_front().expect("a packet is due");
                if packet.hop == self.flows[flow].path.len() {
                    self.ack(&packet);
                    return true;
                }
                self.arrive(packet);
            }
            Event::TimeOut { flow } => self.time_out(flow),
            Event::Send { flow } => self.send(flow),
            Event::Tick { port } => self.tick(port),
        }
        false
    }

    fn tick(&mut self, index: usize) {
        let (now, port) = (self.now, &mut self.ports[index]);
        let view = PortView {
            queue: Bytes::new(port.waiting),
            packets: port.queue.len() as u32,
            in_service: port.queue.front().map_or(Bytes::ZERO, |packet| packet.size),
            dropped: Bytes::new(port.dropped),
        };
        port.router.on_interval(&self.routers, now.since(port.ticked), &view);
        (port.ticked, port.dropped) = (now, 0);
        port.ticks = now.saturating_add(port.router.interval(&self.routers));
    }

    /// Sends a packet. The packet of the handshake has size zero and no transmission time.
    fn send(&mut self, index: usize) {
        let (now, flow) = (self.now, &mut self.flows[index]);
        let (number, mut data) = (flow.next, 0);
        let (mut kind, mut size) = (Kind::Syn, Bytes::ZERO);
        if flow.open {
            (kind, size) = (Kind::Data, flow.sender.packet_size(&self.params));
            if flow.flight.is_empty() {
                (flow.first_sent, flow.delivered_at) = (now, now);
            }
            flow.data += u32::from(flow.resend.is_empty());
            data = flow.resend.pop_front().unwrap_or(flow.data);
            flow.flight.push_back((number, data, 0));
            flow.left = Some(now);
        }
        flow.next += 1;
        let sent = Outgoing { number, size, kind };
        let packet = Packet {
            flow: index,
            hop: 0,
            number,
            data,
            kind,
            size,
            sent: now,
            header: flow.sender.on_send(&self.params, now, &sent),
            marked: false,
            delivered: flow.delivered,
            delivered_at: flow.delivered_at,
            first_sent: flow.first_sent,
        };
        if (flow.loses)(number, data) {
            self.lose(&packet);
        } else {
            flow.legs[0].push_back((now + flow.hop, packet));
        }
        self.measure_peak();
    }

    fn lose(&mut self, packet: &Packet<HeaderOf<L>>) {
        let missing = &mut self.flows[packet.flow].missing;
        missing.entry(packet.data).or_insert(packet.number);
    }

    fn arrive(&mut self, mut packet: Packet<HeaderOf<L>>) {
        let index = self.flows[packet.flow].path[packet.hop];
        let (now, port) = (self.now, &mut self.ports[index]);
        let packets = port.queue.len();
        let arriving = Arriving {
            now,
            size: packet.size,
            queue: Bytes::new(port.waiting),
            packets: packets as u32,
        };
        let header = Some(&mut packet.header);
        port.router.on_arrival(&self.routers, &arriving, header);
        if packets >= port.buffer {
            port.dropped += packet.size.get();
            return self.lose(&packet);
        }
        packet.marked |= packets >= port.threshold;
        port.waiting += packet.size.get();
        port.queue.push_back(packet);
        port.deepest = port.deepest.max(packets + 1);
        if port.line.is_none() {
            self.depart(index);
        } else if packets == 0 {
            port.serve(now);
        }
    }

    fn depart(&mut self, index: usize) {
        let (now, port) = (self.now, &mut self.ports[index]);
        let mut packet = port.queue.pop_front().expect("a packet is due");
        let (kind, size) = (packet.kind, packet.size);
        port.waiting -= size.get();
        port.router.on_departure(&self.routers, size, &mut packet.header);
        port.serve(now);
        packet.hop += 1;
        let flow = &mut self.flows[packet.flow];
        let mut delay = flow.hop;
        if packet.hop == flow.path.len() {
            let arrived = Arrived { now, kind, size };
            packet.header = <L::Signalling as Signalling>::reflect(&mut flow.receiver, &arrived, &packet.header);
            delay = flow.back;
        }
        flow.legs[packet.hop].push_back((now + delay, packet));
    }

    fn ack(&mut self, packet: &Packet<HeaderOf<L>>) {
        let (now, flow) = (self.now, &mut self.flows[packet.flow]);
        let before = flow.rate();
        flow.open = true;
        let rtt = now.since(packet.sent);
        let mut feedback = Feedback::plain(packet.number, packet.kind, rtt, packet.header);
        if packet.kind == Kind::Data {
            flow.take(&self.params, now, packet);
            let sending = packet.sent.since(packet.first_sent);
            feedback.delivery = self.transport.measures_delivery.then(|| Delivery {
                total: flow.delivered,
                prior: packet.delivered,
                interval: sending.max(now.since(packet.delivered_at)),
                app_limited: false,
            });
            feedback.marked = packet.marked;
            feedback.outstanding = flow.flight.len() as u32;
            feedback.gap = flow.missing.values().any(|first| *first < packet.number);
        }
        flow.sender.on_feedback(&self.params, now, &feedback);
        if flow.sender.paces() && flow.rate() != before {
            flow.rates.push((now, flow.rate()));
            self.measure_peak();
        }
    }

    fn measure_peak(&mut self) {
        let flows = self.flows.iter().filter(|flow| flow.next > 0 && flow.sender.paces());
        self.peak = self.peak.max(flows.map(Flow::rate).sum());
    }

    fn time_out(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.losses += flow.flight.len() as u32;
        flow.resend.extend(flow.flight.drain(..).map(|(_, data, _)| data));
        flow.sender.on_timeout(&self.params, self.now, flow.next);
    }
}

/// Parameters of senders and routers for a test. Dereferences to the parameters of senders.
#[derive(Debug, Clone)]
pub struct Both<L: Law> {
    pub sender: L::Params,
    pub routers: RouterParamsOf<L>,
}

impl<L: Law> Deref for Both<L> {
    type Target = L::Params;

    fn deref(&self) -> &L::Params {
        &self.sender
    }
}

/// Returns the default parameters with these changes, by name.
pub fn both<L: Law>(changes: &[(&str, f64)]) -> Both<L> {
    try_both(changes).expect("the values do not conflict")
}

/// Returns the default parameters with these changes. Returns an error if values conflict.
pub fn try_both<L: Law>(changes: &[(&str, f64)]) -> Result<Both<L>, ParamError> {
    let tables = [L::INFO.params, L::INFO.signalling.params];
    let known = |name: &str| tables.iter().any(|table| table.iter().any(|row| row.name == name));
    assert!(changes.iter().all(|(name, _)| known(name)), "{changes:?}");
    let value = |row: &ParamSpec| {
        let change = changes.iter().find(|(name, _)| *name == row.name);
        change.map_or(row.default, |(_, value)| row.check(*value).expect("in range"))
    };
    let [sender, routers] = tables.map(|table| table.iter().map(value).collect::<Vec<f64>>());
    Ok(Both {
        sender: L::Params::read(&sender)?,
        routers: RouterParamsOf::<L>::read(&routers)?,
    })
}
