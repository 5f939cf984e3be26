//! One queue per flow, each controlled by CoDel. The service order is deficit round robin with a list of new queues
//! (DRR++, RFC 8290).

use levelflow_laws::aqm::cake::{CakeParams, Isolation, SET_ASSOCIATIVITY};
use levelflow_laws::aqm::codel::{Codel, CodelParams};
use levelflow_laws::aqm::fq_codel::FqCodelParams;
use levelflow_laws::aqm::{Queue, Verdict};
use levelflow_laws::{PortInfo, PortView};
use levelflow_units::{Bytes, Rate, Time};

use super::pool::{List, Queued};
use super::{FlowKey, Store};

/// Index that denotes no queue.
const NONE: u32 = u32::MAX;

/// Deficit units per byte. A deficit has fractions of a byte, because the quantum is divided by the number of active
/// queues of a host.
const FRACTION: i64 = 1 << 16;

/// Number of counters in each host table.
const HOST_TABLE_SIZE: usize = 1024;

/// List that contains a flow queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Idle queue, in no list.
    Idle,
    New,
    Old,
}

#[derive(Debug, Clone)]
struct FlowQueue {
    packets: List,
    codel: Codel,
    /// Number of bytes that the queue may send before the next queue is served, in units of `1/FRACTION` byte.
    deficit: i64,
    place: Place,
    /// Index of the next queue in the same list.
    next: u32,
    /// Flow whose packet activated the queue. Valid while the queue is in a list.
    flow: u32,
    hosts: [u16; 2],
}

/// List of queues in service order.
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
    /// Largest number of packets evicted at once.
    batch: u32,
    /// Number of queues in each set of queues. A hash assigns each flow to one set.
    ways: u32,
    /// Number of active queues of each source host and of each destination host. Empty if hosts are not isolated.
    hosts: [Vec<u16>; 2],
}

impl Flows {
    /// Creates the queues of FQ-CoDel.
    pub fn fq_codel(params: &FqCodelParams, salt: u64) -> Self {
        Self::new(params.queues, params.quantum, params.codel, params.batch, salt)
    }

    /// Creates the queues of the CAKE-like shaper. As in `sch_cake`, the quantum is `rate/4096` in bytes, where `rate`
    /// is the rate of the shaper in bytes per second. The quantum is at least 300 and at most 1514 bytes. Without a
    /// rate, it is 1514 bytes.
    pub fn cake(params: &CakeParams, salt: u64) -> Self {
        let at_rate = if params.rate > Rate::ZERO {
            (params.rate.bps() / 8.0 / 4096.0).clamp(300.0, 1514.0)
        } else {
            1514.0
        };
        let mut flows = Self::new(params.queues, Bytes::new(at_rate as u64), params.codel, 1, salt);
        flows.ways = SET_ASSOCIATIVITY;
        let counts = [Isolation::Sources, Isolation::Destinations].map(|end| {
            let counted = params.isolation == end || params.isolation == Isolation::Triple;
            if counted { vec![0; HOST_TABLE_SIZE] } else { Vec::new() }
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

    /// Returns the number of active queues.
    pub fn listed(&self) -> u32 {
        self.listed
    }

    /// Returns the memory used in addition to the packets, bytes.
    pub fn memory(&self) -> usize {
        self.queues.capacity() * size_of::<FlowQueue>()
            + self.hosts.iter().map(|hosts| 2 * hosts.capacity()).sum::<usize>()
    }

    /// Enqueues a packet in the queue of its flow.
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
            queue.hosts =
                [class.source, class.destination].map(|host| (mix(self.salt, host) % HOST_TABLE_SIZE as u64) as u16);
            self.listed += 1;
            self.count_hosts(index, 1);
            let quantum = self.quantum_of(index);
            self.queues[index as usize].deficit = quantum;
            self.new.push(&mut self.queues, index);
        }
    }

    /// Returns the index of the queue for a flow. If each set has one queue (`ways` is 1), the hash selects the queue.
    /// Otherwise, the hash selects a set, and the first of these queues that exists is returned:
    ///
    /// 1. The active queue of this flow in its set.
    /// 2. An idle queue of the set.
    /// 3. The queue of the set that the hash selects.
    fn find(&self, class: &FlowKey) -> u32 {
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

    /// Returns the quantum of a queue. The quantum is divided by the number of active queues of a host. This host is
    /// the source or the destination, whichever has more active queues.
    fn quantum_of(&self, index: u32) -> i64 {
        let places = self.queues[index as usize].hosts;
        let busy = self
            .hosts
            .iter()
            .zip(places)
            .filter_map(|(hosts, place)| hosts.get(place as usize));
        self.quantum / i64::from(busy.copied().max().unwrap_or(1).max(1))
    }

    /// Removes and returns the next packet, and true if it must be marked.
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

    /// Moves the queue in service to the end of the list of old queues.
    fn becomes_last(&mut self, was_new: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let index = list.first;
        list.pop(&self.queues);
        self.queues[index as usize].place = Place::Old;
        self.old.push(&mut self.queues, index);
    }

    /// Removes the queue in service from its list. The queue is empty.
    fn leaves(&mut self, was_new: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let index = list.first;
        list.pop(&self.queues);
        self.queues[index as usize].place = Place::Idle;
        self.listed -= 1;
        self.count_hosts(index, -1);
    }

    /// Removes packets from the queue, up to the first packet that CoDel does not drop. Returns this packet, and true
    /// if it must be marked.
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

    /// Evicts packets from the head of the longest queue. Evicts half of its bytes, but at most `batch` packets.
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

/// Returns a hash of `salt` and `number`. Every input bit affects every output bit. This is the finaliser of
/// `SplitMix64`.
fn mix(salt: u64, number: u32) -> u64 {
    let mut z = salt.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
