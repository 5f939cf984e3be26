//! Packet schedulers: FQ-CoDel, DualPI2 and the CAKE-like shaper. Each scheduler serves several queues with one
//! transmitter.
//!
//! A [`Scheduler`] has no clock. Callers pass the time to each method. Random numbers are drawn from the stream passed
//! to the constructor. The constructor allocates all memory. The simulator's links and [`Hop`](crate::Hop) use
//! schedulers. Each packet of type `T` has a [`FlowKey`], which contains the header fields that queues read.

mod dual;
mod flows;
mod line;
mod pool;
mod single;

pub use levelflow_laws::aqm::AnyQueueParams;
use levelflow_laws::aqm::Overflow;
use levelflow_random::Stream;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use dual::Dual;
use flows::Flows;
pub use line::Scheduled;
pub use pool::Queued;
use pool::{List, Pool};
use single::Single;

/// Congestion information of a packet: the ECN field of its IP header (RFC 3168; RFC 9331).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: the sender does not support marks.
    #[default]
    NotCapable,
    /// ECT(0), from a classic sender.
    Classic,
    /// ECT(1), from a scalable sender.
    Scalable,
    /// CE: the packet has been marked.
    Marked,
}

impl Ecn {
    /// Returns the index of the packet's `DualPI2` queue (RFC 9332, section 2.3). ECT(1) and CE packets have index 0
    /// (low latency). Other packets have index 1 (classic).
    #[must_use]
    pub fn latency_class(self) -> usize {
        match self {
            Self::Scalable | Self::Marked => 0,
            Self::NotCapable | Self::Classic => 1,
        }
    }

    /// Returns true if queues may mark the packet.
    #[must_use]
    pub fn is_capable(self) -> bool {
        self != Self::NotCapable
    }
}

/// Service classes of a scheduler. Queueing delays are recorded for each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Classes {
    /// A single queue.
    #[default]
    One,
    /// The two queues of `DualPI2`, selected by [`Ecn::latency_class`].
    Latency,
    /// One queue per flow.
    Flows,
}

impl Classes {
    /// Returns the name of the service class `index`. `entry` returns the name of a flow entry of the scenario. With
    /// flow queues, data of flow entry `i` has class `2 i`, and ACKs have class `2 i + 1`.
    pub fn name<'a>(self, index: usize, entry: impl Fn(usize) -> &'a str) -> String {
        match (self, index % 2) {
            (Self::Flows, 0) => entry(index / 2).to_owned(),
            (Self::Flows, _) => format!("ACKs of {}", entry(index / 2)),
            (Self::One | Self::Latency, 0) => "low latency".to_owned(),
            (Self::One | Self::Latency, _) => "classic".to_owned(),
        }
    }
}

/// Header fields of a packet that queues read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// Identifier of the flow. The two directions of a flow have different identifiers.
    pub flow: u32,
    /// Source host identifier.
    pub source: u32,
    /// Destination host identifier.
    pub destination: u32,
    /// ECN field.
    pub ecn: Ecn,
}

/// Next action of an idle transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<T> {
    /// Send this packet. The flag is true if the packet must be marked.
    Packet(Queued<T>, bool),
    /// Wait until this time, because the shaper delays all packets.
    Shut(Time),
    /// No packet is queued.
    Nothing,
}

/// Number of packets and bytes that are queued. Dropped packets that the caller has not yet collected are not included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Waiting {
    packets: u32,
    bytes: u64,
}

impl Waiting {
    fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

/// Queued and dropped packets, used by all disciplines.
#[derive(Debug)]
struct Store<T> {
    pool: Pool<T>,
    waiting: Waiting,
    dropped: List,
    /// Size of the packet in service, bytes. Zero if the owner of the scheduler does not report it.
    in_service: u32,
    /// True if ECN-capable packets are marked instead of dropped.
    ecn: bool,
}

impl<T> Store<T> {
    fn push(&mut self, list: &mut List, queued: Queued<T>) {
        self.waiting.add(queued.size);
        self.pool.push(list, queued);
    }

    fn pop(&mut self, list: &mut List) -> Option<Queued<T>> {
        let queued = self.pool.pop(list)?;
        self.waiting.remove(queued.size);
        Some(queued)
    }

    fn drop(&mut self, queued: Queued<T>) {
        self.pool.push(&mut self.dropped, queued);
    }

    fn can_mark(&self, class: &FlowKey) -> bool {
        self.ecn && class.ecn.is_capable()
    }
}

#[derive(Debug)]
enum Discipline {
    Flows(Flows),
    Dual(Dual),
    Single(Box<Single>),
}

/// Shaper. It lets a packet pass only while its gate is open.
#[derive(Debug)]
struct Gate {
    /// Transmission time per byte, ps.
    pace: f64,
    /// Time at which the gate opens for the next packet.
    opens: Time,
}

/// Queues and their service order.
#[derive(Debug)]
pub struct Scheduler<T> {
    store: Store<T>,
    discipline: Discipline,
    gate: Option<Gate>,
    limit: u32,
    memory: u64,
    overflow: Overflow,
    interval: Option<Duration>,
    stream: Stream,
}

/// Limit on the packets in a single queue. A [`Hop`](crate::Hop) allocates memory for up to this number of packets.
const MAX_QUEUED_PACKETS: u32 = 100_000;
/// Smallest packet on a real link, bytes.
const MIN_PACKET_BYTES: u64 = 60;

impl<T> Scheduler<T> {
    /// Creates an empty scheduler. Returns `None` for a discipline with a single queue.
    #[must_use]
    pub fn new(params: &AnyQueueParams, mut stream: Stream) -> Option<Self> {
        let mut salt = || (stream.unit() * (1_u64 << 53) as f64) as u64;
        let (discipline, limit, memory, rate) = match params {
            AnyQueueParams::FqCodel(p) => (
                Discipline::Flows(Flows::fq_codel(p, salt())),
                p.limit,
                p.memory,
                Rate::ZERO,
            ),
            AnyQueueParams::Cake(p) => (Discipline::Flows(Flows::cake(p, salt())), p.limit, p.memory, p.rate),
            AnyQueueParams::DualPi2(p) => {
                let memory = Bytes::new(u64::MAX);
                (Discipline::Dual(Dual::new(*p)), p.limit, memory, Rate::ZERO)
            }
            _ => return None,
        };
        Some(Self::with(params, discipline, (limit, memory), rate, stream))
    }

    /// Creates an empty scheduler for any discipline. `room` is the queue limit. Returns `None` for drop-tail, which is
    /// implemented by [`Fifo`](crate::Fifo).
    #[must_use]
    pub fn of(params: &AnyQueueParams, capacity: Rate, room: Buffer, stream: Stream) -> Option<Self> {
        if params.schedules() {
            return Self::new(params, stream);
        }
        let limit = match room {
            Buffer::Unlimited => MAX_QUEUED_PACKETS,
            Buffer::Packets(packets) => packets.min(MAX_QUEUED_PACKETS.into()) as u32,
            Buffer::Bytes(bytes) => (1 + bytes.get() / MIN_PACKET_BYTES).min(MAX_QUEUED_PACKETS.into()) as u32,
        };
        let discipline = Discipline::Single(Box::new(Single::new(params, capacity)));
        let memory = Bytes::new(u64::MAX);
        let plain = matches!(params, AnyQueueParams::DropTail(()));
        (!plain).then(|| Self::with(params, discipline, (limit, memory), Rate::ZERO, stream))
    }

    fn with(
        params: &AnyQueueParams,
        discipline: Discipline,
        (limit, memory): (u32, Bytes),
        rate: Rate,
        stream: Stream,
    ) -> Self {
        Self {
            store: Store {
                // The additional slot is for an arriving packet. This packet is enqueued before another packet is
                // evicted.
                pool: Pool::new(limit + 1),
                waiting: Waiting::default(),
                dropped: List::EMPTY,
                in_service: 0,
                ecn: params.ecn(),
            },
            discipline,
            gate: (rate > Rate::ZERO).then(|| Gate {
                pace: 8e12 / rate.bps(),
                opens: Time::ZERO,
            }),
            limit,
            memory: memory.get(),
            overflow: params.overflow(),
            interval: params.interval(),
            stream,
        }
    }

    /// Enqueues a packet. The scheduler may drop this packet or evict other packets. Callers collect every dropped
    /// packet with [`poll_dropped`](Self::poll_dropped) before the next call.
    pub fn enqueue(&mut self, queued: Queued<T>) {
        if let Some(gate) = self.gate.as_mut().filter(|_| self.store.waiting.packets == 0) {
            gate.opens = gate.opens.max(queued.came);
        }
        if self.store.waiting.packets >= self.limit && self.overflow != Overflow::Fattest {
            return self.store.drop(queued);
        }
        match &mut self.discipline {
            Discipline::Flows(flows) => flows.enqueue(&mut self.store, queued),
            Discipline::Dual(dual) => dual.enqueue(&mut self.store, queued),
            Discipline::Single(single) => single.enqueue(&mut self.store, queued, &mut self.stream),
        }
        while self.store.waiting.packets > self.limit || self.store.waiting.bytes > self.memory {
            self.shed();
        }
    }

    /// Evicts queued packets as defined by [`Overflow`].
    pub fn shed(&mut self) {
        match &mut self.discipline {
            Discipline::Flows(flows) => flows.shed(&mut self.store),
            Discipline::Single(single) => single.shed(&mut self.store),
            Discipline::Dual(_) => {}
        }
    }

    /// Returns the rule for arrivals at a full buffer.
    #[must_use]
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Removes and returns a dropped packet. The caller discards the packet.
    pub fn poll_dropped(&mut self) -> Option<Queued<T>> {
        self.store.pool.pop(&mut self.store.dropped)
    }

    /// Removes and returns the next packet for an idle transmitter. The discipline may drop packets before this packet.
    pub fn dequeue(&mut self, now: Time) -> Next<T> {
        if self.store.waiting.packets == 0 {
            if let Discipline::Dual(dual) = &mut self.discipline {
                dual.rest();
            }
            return Next::Nothing;
        }
        if let Some(gate) = self.gate.as_ref().filter(|gate| gate.opens > now) {
            return Next::Shut(gate.opens);
        }
        let next = match &mut self.discipline {
            Discipline::Flows(flows) => flows.dequeue(&mut self.store, now),
            Discipline::Dual(dual) => dual.dequeue(&mut self.store, now, &mut self.stream),
            Discipline::Single(single) => single.dequeue(&mut self.store, now),
        };
        let Some((queued, marked)) = next else {
            return Next::Nothing;
        };
        if let Some(gate) = &mut self.gate {
            let shut = Duration::from_ps((f64::from(queued.size) * gate.pace + 0.5) as u64);
            gate.opens = gate.opens.saturating_add(shut);
        }
        Next::Packet(queued, marked)
    }

    /// Returns the time between calls of [`handle_interval`](Self::handle_interval); `None` if no calls are needed.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// Ends the discipline's control interval.
    pub fn handle_interval(&mut self, now: Time) {
        match &mut self.discipline {
            Discipline::Dual(dual) => dual.update(&self.store.pool, now),
            Discipline::Single(single) => single.handle_interval(&self.store, now),
            Discipline::Flows(_) => {}
        }
    }

    /// Returns the service classes of the scheduler.
    #[must_use]
    pub fn classes(&self) -> Classes {
        match &self.discipline {
            Discipline::Flows(_) => Classes::Flows,
            Discipline::Dual(_) => Classes::Latency,
            Discipline::Single(_) => Classes::One,
        }
    }

    /// Returns the signal of the queue discipline.
    #[must_use]
    pub fn signal(&self) -> f64 {
        match &self.discipline {
            Discipline::Flows(flows) => f64::from(flows.listed()),
            Discipline::Dual(dual) => dual.probability(),
            Discipline::Single(single) => single.signal(),
        }
    }

    /// Changes the line rate, which must be above zero.
    pub fn set_capacity(&mut self, now: Time, capacity: Rate) {
        if let Discipline::Single(single) = &mut self.discipline {
            single.set_capacity(now, capacity);
        }
    }

    /// Sets the size of the packet in service, bytes. Zero means that no packet is in service.
    fn set_in_service(&mut self, size: u32) {
        self.store.in_service = size;
    }

    /// Returns the number of queued packets.
    #[must_use]
    pub fn packets(&self) -> u32 {
        self.store.waiting.packets
    }

    /// Returns the number of queued bytes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.store.waiting.bytes)
    }

    /// Returns the queued packets in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.store.pool.iter()
    }

    /// Returns the memory used, bytes.
    #[must_use]
    pub fn memory_held(&self) -> usize {
        let queues = match &self.discipline {
            Discipline::Flows(flows) => flows.memory(),
            Discipline::Dual(_) | Discipline::Single(_) => 0,
        };
        size_of::<Self>() + self.store.pool.memory() + queues
    }
}

#[cfg(test)]
mod tests;
