//! Flow table of the receiver. The table is bounded, and invalid packets allocate no memory.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use levelflow_laws::{AnyHeader, Kind, SIGNALLINGS};
use levelflow_units::{Duration, Time};
use levelflow_wire::shim::Shim;
use serde::Serialize;

use levelflow_transport::{Order, Receiver};

/// Limit on flows in the table.
pub const MAX_FLOWS: usize = 1 << 16;
/// Limit on flows from one source address.
pub const PER_SOURCE: u32 = 1 << 14;
/// Time without packets after which a flow expires.
pub const IDLE: Duration = Duration::from_secs(10);

/// Counters of packets received in a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Data packets, without duplicates.
    pub packets: u64,
    /// Bytes of data packets on the wire, without duplicates.
    pub bytes: u64,
    /// Packets missing between the first packet and the newest packet.
    pub lost: u64,
    /// Reordered packets: they arrived after a packet that was sent later.
    pub reordered: u64,
    /// Duplicates, and packets too old to be distinguished from duplicates.
    pub duplicates: u64,
    /// Packets marked by a queue (ECN).
    pub marked: u64,
}

/// Flow at the receiver.
#[derive(Debug)]
pub struct Arriving {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Random identifier of the flow.
    pub id: u32,
    /// Counters of packets received.
    pub counts: Counts,
    /// Send time of the first packet, by the timestamp clock, ns.
    pub first_sent: u64,
    /// Arrival time of the latest packet, by the timestamp clock, ns.
    pub last_came: u64,
    /// Smallest difference so far between arrival time and send time, ns. It includes the difference of the clocks.
    pub nearest: i64,
    /// Receiver of the flow.
    pub receiver: Receiver,
    last_packet_at: Time,
    /// Arrival time of the first packet. An older entry of a queue belongs to an evicted flow with the same address and
    /// identifier.
    started_at: Time,
}

/// Flows at the receiver. A new flow replaces an idle flow if its source or the table has no room. Packets with forged
/// source addresses therefore do not keep new flows out.
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: HashMap<Key, Arriving>,
    /// Flows that have ended, and their end times. A packet that arrives after the closing packet must not restart its
    /// flow.
    ended: HashMap<Key, Time>,
    per_source: HashMap<IpAddr, Source>,
    /// All flows, in the order in which they were examined.
    all: Queue,
}

/// Address of the sender, and identifier of the flow.
type Key = (SocketAddr, u32);
/// Flows, each with the time of its latest packet when the flow was last examined. It may contain flows that have
/// ended.
type Queue = VecDeque<(Key, Time)>;

/// Flows of one source address.
#[derive(Debug, Default)]
struct Source {
    flows: u32,
    queue: Queue,
}

impl FlowTable {
    /// Returns the flow of a packet. A valid packet of an unknown flow starts the flow. Returns none if the packet
    /// cannot start a flow.
    pub fn flow(
        &mut self,
        now: Time,
        from: SocketAddr,
        shim: &Shim,
        header: &[u8],
        stamp: u64,
    ) -> Option<&mut Arriving> {
        let key = (from, shim.flow);
        if !self.flows.contains_key(&key) {
            let begins = shim.kind != Kind::Fin && plausible(shim, header) && !self.ended.contains_key(&key);
            if !begins {
                return None;
            }
            let receiver = Receiver::new(shim.signalling)?;
            self.make_room(from.ip());
            let source = self.per_source.entry(from.ip()).or_default();
            source.flows += 1;
            source.queue.push_back((key, now));
            self.all.push_back((key, now));
            let flow = Arriving {
                from,
                id: shim.flow,
                counts: Counts::default(),
                first_sent: shim.time,
                last_came: stamp,
                nearest: i64::MAX,
                receiver,
                last_packet_at: now,
                started_at: now,
            };
            self.flows.insert(key, flow);
        }
        let flow = self.flows.get_mut(&key)?;
        flow.last_packet_at = now;
        flow.last_came = stamp;
        Some(flow)
    }

    /// Closes a flow whose sender has announced its end. Returns the state of the flow.
    pub fn close(&mut self, now: Time, from: SocketAddr, id: u32) -> Option<Arriving> {
        let flow = self.forget(from, id)?;
        if self.ended.len() < MAX_FLOWS {
            self.ended.insert((from, id), now);
        }
        Some(flow)
    }

    fn forget(&mut self, from: SocketAddr, id: u32) -> Option<Arriving> {
        let flow = self.flows.remove(&(from, id))?;
        if let Some(source) = self.per_source.get_mut(&from.ip()) {
            source.flows -= 1;
            if source.flows == 0 {
                self.per_source.remove(&from.ip());
            }
        }
        Some(flow)
    }

    /// Removes an idle flow of a source that has [`PER_SOURCE`] flows, or of any source if the table is full.
    fn make_room(&mut self, source: IpAddr) {
        let known = self.per_source.get_mut(&source);
        let idle = match known.filter(|known| known.flows >= PER_SOURCE) {
            Some(known) => idle(&self.flows, &mut known.queue),
            None if self.flows.len() >= MAX_FLOWS => idle(&self.flows, &mut self.all),
            None => None,
        };
        if let Some((from, id)) = idle {
            self.forget(from, id);
        }
    }

    /// Ends flows that received no packet for [`IDLE`]. If `all` is true, ends all flows.
    pub fn expire(&mut self, now: Time, all: bool) -> Vec<Arriving> {
        let old = self
            .flows
            .values()
            .filter(|f| all || now.since(f.last_packet_at) > IDLE);
        let old: Vec<_> = old.map(|f| (f.from, f.id)).collect();
        self.ended.retain(|_, at| now.since(*at) <= IDLE);
        let flows = &self.flows;
        let queues = self.per_source.values_mut().map(|source| &mut source.queue);
        queues.chain([&mut self.all]).for_each(|queue| {
            queue.retain(|(key, examined)| flows.get(key).is_some_and(|flow| *examined >= flow.started_at));
        });
        old.into_iter().filter_map(|(from, id)| self.forget(from, id)).collect()
    }

    /// All flows in the table.
    pub fn iter(&self) -> impl Iterator<Item = &Arriving> {
        self.flows.values()
    }

    /// Number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// True if the table has no flow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

/// Returns a flow without packets since it was last examined (the clock algorithm: Corbato, 1968). Flows with packets
/// move to the end of the queue.
fn idle(flows: &HashMap<Key, Arriving>, queue: &mut Queue) -> Option<Key> {
    while let Some((key, examined)) = queue.pop_front() {
        match flows.get(&key) {
            Some(flow) if flow.started_at > examined => {}
            Some(flow) if flow.last_packet_at > examined => queue.push_back((key, flow.last_packet_at)),
            Some(_) => return Some(key),
            None => {}
        }
    }
    None
}

/// True if a packet can start a flow. The header of the packet must be valid for its signalling.
fn plausible(shim: &Shim, header: &[u8]) -> bool {
    if shim.kind == Kind::Ack {
        return false;
    }
    let mut signallings = SIGNALLINGS.iter();
    signallings
        .find(|own| own.number == shim.signalling)
        .is_some_and(|own| header.len() == own.header_bytes() && AnyHeader::decode(own, header).is_ok())
}

impl Arriving {
    /// Counts a packet of `size` bytes on the wire. Returns its delay, ns, or none for a duplicate. If the clocks of
    /// sender and receiver differ, returns the excess over the delay of the fastest packet.
    pub fn count(&mut self, shim: &Shim, order: Order, stamp: u64, size: u64) -> Option<u64> {
        let data = shim.kind == Kind::Data;
        match order {
            Order::Again => {
                self.counts.duplicates += 1;
                return None;
            }
            Order::Newest { missing } => self.counts.lost += u64::from(missing),
            Order::Late => {
                self.counts.reordered += 1;
                self.counts.lost = self.counts.lost.saturating_sub(1);
            }
        }
        if data {
            self.counts.packets += 1;
            self.counts.bytes += size;
        }
        /// Limit on plausible delays, ns. A larger or a negative difference shows that the clocks differ.
        const MAX_CLOCK_DIFFERENCE_NS: i64 = 60_000_000_000;
        let difference = stamp.wrapping_sub(shim.time).cast_signed();
        self.nearest = self.nearest.min(difference);
        let shared = (0..MAX_CLOCK_DIFFERENCE_NS).contains(&self.nearest);
        let base = if shared { 0 } else { self.nearest };
        u64::try_from(difference.saturating_sub(base)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shim(flow: u32, kind: Kind) -> Shim {
        Shim {
            kind,
            marked: false,
            more: false,
            unacknowledged: false,
            signalling: 0,
            header: 0,
            flow,
            number: 0,
            time: 1,
        }
    }

    fn starts(table: &mut FlowTable, now: Time, from: SocketAddr, flow: u32) -> bool {
        table.flow(now, from, &shim(flow, Kind::Data), &[], 2).is_some()
    }

    #[test]
    fn one_source_cannot_fill_the_table() {
        let mut table = FlowTable::default();
        let (loud, quiet): (SocketAddr, SocketAddr) = (([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 1).into());
        for flow in 0..2 * PER_SOURCE {
            assert!(starts(&mut table, Time::ZERO, loud, flow));
        }
        assert_eq!(table.len(), PER_SOURCE as usize);
        assert!(starts(&mut table, Time::ZERO, quiet, 1));
        assert_eq!(table.len(), PER_SOURCE as usize + 1);
    }

    #[test]
    fn forged_packets_neither_keep_flows_out_nor_end_active_ones() {
        let mut table = FlowTable::default();
        let honest: SocketAddr = ([10, 0, 0, 1], 1).into();
        let mut now = Time::ZERO;
        assert!(starts(&mut table, now, honest, 0));
        for forged in 1..4 * PER_SOURCE {
            now += Duration::from_us(1);
            assert!(starts(&mut table, now, honest, forged));
            if forged % 1000 == 0 {
                assert!(starts(&mut table, now, honest, 0));
                assert_eq!(table.flows[&(honest, 0)].first_sent, 1);
            }
        }
        table.flows.get_mut(&(honest, 0)).unwrap().counts.packets = 7;
        for host in 0..2 * MAX_FLOWS as u32 {
            now += Duration::from_us(1);
            assert!(starts(&mut table, now, (host.to_be_bytes(), 9).into(), 1));
            if host % 1000 == 0 {
                assert!(starts(&mut table, now, honest, 0));
            }
        }
        assert_eq!(table.len(), MAX_FLOWS);
        assert_eq!(table.flows[&(honest, 0)].counts.packets, 7);
        assert_eq!(table.expire(now, true).len(), MAX_FLOWS);
        assert!(table.per_source.is_empty());
    }

    #[test]
    fn evicted_flows_that_return_leave_no_old_entries() {
        let mut table = FlowTable::default();
        let (source, mut now) = (([10, 0, 0, 1], 1).into(), Time::ZERO);
        for packet in 0..3 * (PER_SOURCE + 1) {
            now += Duration::from_us(1);
            assert!(starts(&mut table, now, source, packet % (PER_SOURCE + 1)));
        }
        assert!(table.all.len() > table.len());
        table.expire(now, false);
        assert_eq!(table.all.len(), table.len());
    }

    #[test]
    fn idle_flows_are_deleted() {
        let mut table = FlowTable::default();
        let from = ([10, 0, 0, 1], 1).into();
        table.flow(Time::ZERO, from, &shim(1, Kind::Data), &[], 2);
        assert!(table.expire(Time::ZERO + IDLE, false).is_empty());
        assert_eq!(table.expire(Time::ZERO + IDLE + Duration::from_ms(1), false).len(), 1);
        assert!(table.is_empty() && table.per_source.is_empty());
    }

    #[test]
    fn packets_overtaken_by_the_end_do_not_restart_the_flow() {
        let mut table = FlowTable::default();
        let from = ([10, 0, 0, 1], 1).into();
        let begins = |table: &mut FlowTable, now| table.flow(now, from, &shim(1, Kind::Data), &[], 2).is_some();
        assert!(begins(&mut table, Time::ZERO));
        assert!(table.close(Time::ZERO, from, 1).is_some());
        assert!(!begins(&mut table, Time::ZERO + IDLE));
        let later = Time::ZERO + IDLE + Duration::from_ms(1);
        table.expire(later, false);
        assert!(begins(&mut table, later));
    }

    #[test]
    fn only_valid_first_packets_start_a_flow() {
        let mut table = FlowTable::default();
        let from = ([10, 0, 0, 1], 1).into();
        let mut refuses = |shim: Shim, header: &[u8]| table.flow(Time::ZERO, from, &shim, header, 2).is_none();
        assert!(refuses(shim(1, Kind::Ack), &[]) && refuses(shim(1, Kind::Fin), &[]));
        assert!(refuses(shim(1, Kind::Data), &[0; 8]));
        assert!(refuses(
            Shim {
                signalling: 1,
                ..shim(1, Kind::Data)
            },
            &[0; 8]
        ));
        assert!(refuses(
            Shim {
                signalling: 99,
                ..shim(1, Kind::Data)
            },
            &[]
        ));
        let nan = f32::NAN.to_be_bytes().repeat(2);
        assert!(refuses(
            Shim {
                signalling: 3,
                ..shim(1, Kind::Data)
            },
            &nan
        ));
    }

    #[test]
    fn delays_are_exact_on_one_machine_and_relative_between_two() {
        let mut table = FlowTable::default();
        let from = ([10, 0, 0, 1], 1).into();
        let sent = |number, time| Shim {
            number,
            time,
            ..shim(1, Kind::Data)
        };
        const NEXT: Order = Order::Newest { missing: 0 };
        let flow = table.flow(Time::ZERO, from, &sent(0, 1000), &[], 0).unwrap();
        assert_eq!(flow.count(&sent(0, 1000), NEXT, 1500, 100), Some(500));
        assert_eq!(flow.count(&sent(1, 2000), NEXT, 2900, 100), Some(900));
        assert_eq!(flow.count(&sent(1, 2000), Order::Again, 2900, 100), None);
        assert_eq!(
            flow.counts,
            Counts {
                packets: 2,
                bytes: 200,
                duplicates: 1,
                ..Counts::default()
            }
        );
        let far = sent(0, u64::MAX / 2);
        let flow = table.flow(Time::ZERO, from, &Shim { flow: 2, ..far }, &[], 0).unwrap();
        assert_eq!(flow.count(&far, NEXT, 1500, 100), Some(0));
        assert_eq!(flow.count(&Shim { number: 1, ..far }, NEXT, 1900, 100), Some(400));
    }
}
