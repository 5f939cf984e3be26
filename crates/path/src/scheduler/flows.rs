//! A queue per flow under CoDel, served by deficit round robin with a list of new queues (DRR++, RFC 8290).

use levelflow_laws::aqm::cake::{CakeParams, Isolation, WAYS};
use levelflow_laws::aqm::codel::{Codel, CodelParams};
use levelflow_laws::aqm::fq_codel::FqCodelParams;
use levelflow_laws::aqm::{Queue, Verdict};
use levelflow_laws::{PortInfo, PortView};
use levelflow_units::{Bytes, Rate, Time};

use super::pool::{List, Queued};
use super::{Class, Store};

/// No queue.
const NONE: u32 = u32::MAX;

/// Deficits are counted in this part of a byte, so that a quantum can be divided.
const FRACTION: i64 = 1 << 16;

/// Places in the tables of hosts.
const HOSTS: usize = 1024;

/// Where a queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In no list.
    Idle,
    New,
    Old,
}

#[derive(Debug, Clone)]
struct FlowQueue {
    packets: List,
    codel: Codel,
    /// Bytes that it may still send in its turn, in parts of [`FRACTION`].
    deficit: i64,
    place: Place,
    /// The queue behind it in its list.
    next: u32,
    /// Who came to it last, while it is not idle.
    flow: u32,
    hosts: [u16; 2],
}

/// Queues in the order of their turns.
#[derive(Debug, Clone, Copy)]
struct Turns {
    first: u32,
    last: u32,
}

impl Turns {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    fn push(&mut self, queues: &mut [FlowQueue], queue: u32) {
        queues[queue as usize].next = NONE;
        match std::mem::replace(&mut self.last, queue) {
            NONE => self.first = queue,
            last => queues[last as usize].next = queue,
        }
    }

    fn pop(&mut self, queues: &[FlowQueue]) {
        self.first = queues[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// All flow queues.
#[derive(Debug)]
pub struct Flows {
    queues: Vec<FlowQueue>,
    new: Turns,
    old: Turns,
    listed: u32,
    salt: u64,
    quantum: i64,
    codel: CodelParams,
    /// Packets that are dropped at once, at most.
    batch: u32,
    /// Queues that a flow may take.
    ways: u32,
    /// Queues that are listed, by place of their source and of their destination; empty without fairness between hosts.
    hosts: [Vec<u16>; 2],
}

impl Flows {
    /// Those of FQ-CoDel.
    pub fn fq_codel(params: &FqCodelParams, salt: u64) -> Self {
        Self::new(params.queues, params.quantum, params.codel, params.batch, salt)
    }

    /// Those of the CAKE-like shaper, whose quantum is that of `sch_cake`: a 4096th of the bytes of a second at its rate.
    pub fn cake(params: &CakeParams, salt: u64) -> Self {
        let at_rate = if params.rate > Rate::ZERO {
            (params.rate.bps() / 8.0 / 4096.0).clamp(300.0, 1514.0)
        } else {
            1514.0
        };
        let mut flows = Self::new(params.queues, Bytes::new(at_rate as u64), params.codel, 1, salt);
        flows.ways = WAYS;
        let counts = [Isolation::Sources, Isolation::Destinations].map(|end| {
            let counted = params.isolation == end || params.isolation == Isolation::Triple;
            if counted { vec![0; HOSTS] } else { Vec::new() }
        });
        flows.hosts = counts;
        flows
    }

    fn new(queues: u32, quantum: Bytes, codel: CodelParams, batch: u32, salt: u64) -> Self {
        let port = PortInfo {
            id: 0,
            capacity: Rate::ZERO,
        };
        let queue = FlowQueue {
            packets: List::EMPTY,
            codel: Codel::new(&codel, &port),
            deficit: 0,
            place: Place::Idle,
            next: NONE,
            flow: 0,
            hosts: [0; 2],
        };
        Self {
            queues: vec![queue; queues as usize],
            new: Turns::EMPTY,
            old: Turns::EMPTY,
            listed: 0,
            salt,
            quantum: quantum.get() as i64 * FRACTION,
            codel,
            batch,
            ways: 1,
            hosts: [Vec::new(), Vec::new()],
        }
    }

    /// Queues that are in one of the lists.
    pub fn listed(&self) -> u32 {
        self.listed
    }

    /// Bytes of memory held beside the packets.
    pub fn memory(&self) -> usize {
        self.queues.capacity() * size_of::<FlowQueue>()
            + self.hosts.iter().map(|hosts| 2 * hosts.capacity()).sum::<usize>()
    }

    /// A packet joins the queue of its flow.
    pub fn enqueue<T>(&mut self, store: &mut Store<T>, queued: Queued<T>) {
        let index = self.find(&queued.class);
        let largest = Bytes::new(queued.size.into());
        let queue = &mut self.queues[index as usize];
        queue.codel.expect(largest);
        let class = queued.class;
        store.push(&mut queue.packets, queued);
        if queue.place == Place::Idle {
            queue.place = Place::New;
            queue.flow = class.flow;
            queue.hosts = [class.source, class.destination].map(|host| (mix(self.salt, host) % HOSTS as u64) as u16);
            self.listed += 1;
            self.count_hosts(index, 1);
            let quantum = self.quantum_of(index);
            self.queues[index as usize].deficit = quantum;
            self.new.push(&mut self.queues, index);
        }
    }

    /// The queue of a flow: with one way, where its hash says; else the one that it has in its set, or an idle one there.
    fn find(&self, class: &Class) -> u32 {
        let sets = self.queues.len() as u32 / self.ways;
        let hash = mix(self.salt, class.flow);
        let set = (hash % u64::from(sets)) as u32 * self.ways;
        if self.ways == 1 {
            return set;
        }
        let ways = || (set..set + self.ways).map(|way| (way, &self.queues[way as usize]));
        let own = ways().find(|(_, queue)| queue.place != Place::Idle && queue.flow == class.flow);
        let found = own.or_else(|| ways().find(|(_, queue)| queue.place == Place::Idle));
        found.map_or(set + (hash >> 32) as u32 % self.ways, |(way, _)| way)
    }

    fn count_hosts(&mut self, index: u32, by: i16) {
        let places = self.queues[index as usize].hosts;
        for (hosts, place) in self.hosts.iter_mut().zip(places).filter(|(hosts, _)| !hosts.is_empty()) {
            hosts[place as usize] = hosts[place as usize].wrapping_add_signed(by);
        }
    }

    /// What a queue may send per turn: less if its source or its destination has several.
    fn quantum_of(&self, index: u32) -> i64 {
        let places = self.queues[index as usize].hosts;
        let busy = self
            .hosts
            .iter()
            .zip(places)
            .filter_map(|(hosts, place)| hosts.get(place as usize));
        self.quantum / i64::from(busy.copied().max().unwrap_or(1).max(1))
    }

    /// The next packet, and whether it is to be marked.
    pub fn dequeue<T>(&mut self, store: &mut Store<T>, now: Time) -> Option<(Queued<T>, bool)> {
        loop {
            let is_new = self.new.first != NONE;
            let index = if is_new { self.new.first } else { self.old.first };
            if index == NONE {
                return None;
            }
            if self.queues[index as usize].deficit <= 0 {
                self.queues[index as usize].deficit += self.quantum_of(index);
                self.becomes_last(is_new);
                continue;
            }
            if let Some((queued, marked)) = self.take(index, store, now) {
                self.queues[index as usize].deficit -= i64::from(queued.size) * FRACTION;
                return Some((queued, marked));
            }
            if is_new && self.old.first != NONE {
                self.becomes_last(true);
            } else {
                self.leaves(is_new);
            }
        }
    }

    /// The queue whose turn it was becomes the last of the old ones.
    fn becomes_last(&mut self, was_new: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let index = list.first;
        list.pop(&self.queues);
        self.queues[index as usize].place = Place::Old;
        self.old.push(&mut self.queues, index);
    }

    /// The queue whose turn it was is empty.
    fn leaves(&mut self, was_new: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let index = list.first;
        list.pop(&self.queues);
        self.queues[index as usize].place = Place::Idle;
        self.listed -= 1;
        self.count_hosts(index, -1);
    }

    /// The first packet of a queue that CoDel lets pass.
    fn take<T>(&mut self, index: u32, store: &mut Store<T>, now: Time) -> Option<(Queued<T>, bool)> {
        let queue = &mut self.queues[index as usize];
        loop {
            let queued = store.pop(&mut queue.packets)?;
            let behind = PortView {
                queue: Bytes::new(store.waiting.bytes),
                packets: store.waiting.packets,
                in_service: Bytes::ZERO,
                dropped: Bytes::ZERO,
            };
            let waited = now.since(queued.came);
            match queue.codel.on_departure(&self.codel, now, waited, &behind) {
                Verdict::Pass => return Some((queued, false)),
                Verdict::Notify if store.can_mark(&queued.class) => return Some((queued, true)),
                Verdict::Notify | Verdict::Drop => store.drop(queued),
            }
        }
    }

    /// The queue of most bytes loses half of them from its head, or `batch` packets.
    pub fn shed<T>(&mut self, store: &mut Store<T>) {
        let fattest = self.queues.iter_mut().reduce(|most, queue| {
            if queue.packets.bytes > most.packets.bytes {
                queue
            } else {
                most
            }
        });
        let Some(queue) = fattest else { return };
        let half = queue.packets.bytes / 2;
        let (mut bytes, mut packets) = (0, 0);
        while let Some(queued) = store.pop(&mut queue.packets) {
            bytes += u64::from(queued.size);
            packets += 1;
            store.drop(queued);
            if packets >= self.batch || bytes >= half {
                break;
            }
        }
        queue.codel.count_lost(packets);
    }
}

/// Every bit of the salt and the number changes every bit of the hash: the finaliser of `SplitMix64`.
fn mix(salt: u64, number: u32) -> u64 {
    let mut z = salt.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
