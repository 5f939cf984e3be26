//! Several queues in front of one transmitter, and which of them it serves: FQ-CoDel, DualPI2, the CAKE-like shaper.
//!
//! A [`Scheduler`] is pure: time is an argument, random numbers come from the stream that it is made with, and all memory
//! is asked for when it is made. The simulator's links and [`Hop`](crate::Hop) run it. Packets of type `T` carry a
//! [`Class`], what such a queue reads in their headers.

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

/// What a packet says of congestion: the ECN field of its IP header (RFC 3168; RFC 9331).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Its sender does not understand marks.
    #[default]
    NotCapable,
    /// A classic sender does: ECT(0).
    Classic,
    /// A scalable sender does: ECT(1).
    Scalable,
    /// It was marked: CE.
    Marked,
}

impl Ecn {
    /// Queue of `DualPI2` for a packet (RFC 9332, section 2.3): 0, low latency, for ECT(1) and CE; 1, classic, else.
    #[must_use]
    pub fn latency_class(self) -> usize {
        match self {
            Self::Scalable | Self::Marked => 0,
            Self::NotCapable | Self::Classic => 1,
        }
    }

    /// Whether queues may mark the packet.
    #[must_use]
    pub fn is_capable(self) -> bool {
        self != Self::NotCapable
    }
}

/// Classes of service of a scheduler; delays are counted by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Classes {
    /// A single queue.
    #[default]
    One,
    /// The two queues of `DualPI2`, by [`Ecn::latency_class`].
    Latency,
    /// A queue for each flow.
    Flows,
}

impl Classes {
    /// Name of the class with this index; `entry` returns the name of a flow entry. In flow queues, the data of entry `i` has
    /// index `2 i`, and its ACKs `2 i + 1`.
    pub fn name<'a>(self, index: usize, entry: impl Fn(usize) -> &'a str) -> String {
        match (self, index % 2) {
            (Self::Flows, 0) => entry(index / 2).to_owned(),
            (Self::Flows, _) => format!("ACKs of {}", entry(index / 2)),
            (Self::One | Self::Latency, 0) => "low latency".to_owned(),
            (Self::One | Self::Latency, _) => "classic".to_owned(),
        }
    }
}

/// What queues know of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Class {
    /// The same for all packets of a flow in one direction, another one for other flows.
    pub flow: u32,
    /// The same for all packets of a host.
    pub source: u32,
    /// The same for all packets to a host.
    pub destination: u32,
    /// What it says of congestion.
    pub ecn: Ecn,
}

/// What the transmitter sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<T> {
    /// This packet, which is marked now if the flag is set.
    Packet(Queued<T>, bool),
    /// Nothing before this time: a shaper holds packets back.
    Shut(Time),
    /// Nothing waits.
    Nothing,
}

/// What waits, without what was dropped and waits to be taken.
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

/// The packets, those that wait and those that were dropped: what all disciplines work on.
#[derive(Debug)]
struct Store<T> {
    pool: Pool<T>,
    waiting: Waiting,
    dropped: List,
    /// Bytes of the packet in service, where the owner of the scheduler says.
    in_service: u32,
    /// Whether packets are marked instead of dropped, where they can be.
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

    fn can_mark(&self, class: &Class) -> bool {
        self.ecn && class.ecn.is_capable()
    }
}

#[derive(Debug)]
enum Discipline {
    Flows(Flows),
    Dual(Dual),
    Single(Box<Single>),
}

/// The gate of a shaper.
#[derive(Debug)]
struct Gate {
    /// Picoseconds per byte.
    pace: f64,
    /// Shut until then.
    opens: Time,
}

/// Queues and the order in which they are served.
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

/// Packets that wait in a single queue, at most: what a [`Hop`](crate::Hop) asks memory for.
const MOST: u32 = 100_000;
/// No packet of a real line is smaller, bytes.
const SMALLEST: u64 = 60;

impl<T> Scheduler<T> {
    /// Empty queues; none for a discipline that has a single queue.
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

    /// Empty queues of any discipline in front of a line of this capacity with this room; none for drop-tail, which is
    /// [`Fifo`](crate::Fifo).
    #[must_use]
    pub fn of(params: &AnyQueueParams, capacity: Rate, room: Buffer, stream: Stream) -> Option<Self> {
        if params.schedules() {
            return Self::new(params, stream);
        }
        let limit = match room {
            Buffer::Unlimited => MOST,
            Buffer::Packets(packets) => packets.min(MOST.into()) as u32,
            Buffer::Bytes(bytes) => (1 + bytes.get() / SMALLEST).min(MOST.into()) as u32,
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
                // One more: a packet joins before another makes room for it.
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

    /// A packet comes. What is dropped for it, perhaps itself, is for [`poll_dropped`](Self::poll_dropped), which callers empty
    /// before the next packet.
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

    /// Drops, of what waits, what [`Overflow`] says.
    pub fn shed(&mut self) {
        match &mut self.discipline {
            Discipline::Flows(flows) => flows.shed(&mut self.store),
            Discipline::Single(single) => single.shed(&mut self.store),
            Discipline::Dual(_) => {}
        }
    }

    /// Who makes room if there is none.
    #[must_use]
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// A packet that was dropped, to be discarded.
    pub fn poll_dropped(&mut self) -> Option<Queued<T>> {
        self.store.pool.pop(&mut self.store.dropped)
    }

    /// The transmitter is free: the packet that it sends, if any. Packets may be dropped before it.
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

    /// Time between two calls of [`handle_interval`](Self::handle_interval), if any.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// An interval ends.
    pub fn handle_interval(&mut self, now: Time) {
        match &mut self.discipline {
            Discipline::Dual(dual) => dual.update(&self.store.pool, now),
            Discipline::Single(single) => single.handle_interval(&self.store, now),
            Discipline::Flows(_) => {}
        }
    }

    /// Classes of service.
    #[must_use]
    pub fn classes(&self) -> Classes {
        match &self.discipline {
            Discipline::Flows(_) => Classes::Flows,
            Discipline::Dual(_) => Classes::Latency,
            Discipline::Single(_) => Classes::One,
        }
    }

    /// What the discipline says of itself.
    #[must_use]
    pub fn signal(&self) -> f64 {
        match &self.discipline {
            Discipline::Flows(flows) => f64::from(flows.listed()),
            Discipline::Dual(dual) => dual.probability(),
            Discipline::Single(single) => single.signal(),
        }
    }

    /// The line has another rate, above zero.
    pub fn set_capacity(&mut self, now: Time, capacity: Rate) {
        if let Discipline::Single(single) = &mut self.discipline {
            single.set_capacity(now, capacity);
        }
    }

    /// The transmitter has a packet of so many bytes; zero: none.
    fn set_in_service(&mut self, size: u32) {
        self.store.in_service = size;
    }

    /// Packets that wait.
    #[must_use]
    pub fn packets(&self) -> u32 {
        self.store.waiting.packets
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.store.waiting.bytes)
    }

    /// The packets that wait, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.store.pool.iter()
    }

    /// Bytes of memory held.
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
