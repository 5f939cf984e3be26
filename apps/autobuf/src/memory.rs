//! Memory that the queues of a device share. The division follows the rule of the simulator's `[[memory]]`
//! ([`levelflow_laws::buffers::memory`]). The sum of all limits, plus backlog in excess of the limits, never exceeds
//! the total.

use levelflow_laws::buffers::memory::{Share, divide};

use super::queue::SizedQueue;
use levelflow_host::Error;
use levelflow_host::limit::Limit;
use levelflow_host::limit::Unit;
use levelflow_host::qdisc::Queue;

/// Total size, in packets or bytes. The limits of queues may have the other unit. In this case, one packet counts as
/// the size of the largest packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory(pub Limit);

/// Queue that shares the memory.
#[derive(Debug, Clone, Copy)]
pub struct Sharer<'a> {
    /// The queue.
    pub place: &'a SizedQueue,
    /// Lower bound of the limit. The queue always has at least this limit.
    pub least: u32,
    /// Limit that the queue's algorithm requests.
    pub wanted: u32,
    /// Current limit.
    pub limit: u32,
    /// Latest reading of the queue.
    pub queue: &'a Queue,
}

impl Memory {
    /// Rejects a total that is smaller than the sum of the smallest limits.
    ///
    /// # Errors
    /// When the total is too small. The message contains the required size.
    pub fn check<'a>(self, ports: impl Iterator<Item = (&'a SizedQueue, u32)>) -> Result<(), Error> {
        let needed: f64 = ports.map(|(place, least)| self.of(place) * f64::from(least)).sum();
        if self.total() >= needed {
            return Ok(());
        }
        let needed = match self.0 {
            Limit::Bytes(_) => Limit::Bytes(needed.ceil() as u64),
            Limit::Packets(_) => Limit::Packets(needed.ceil() as u64),
        };
        Err(Error::input(format!(
            "--memory {}: must have room for a packet, or the --min, of each queue (allowed: {needed} or more)",
            self.0
        )))
    }

    /// Returns the next limit of each queue. A limit grows only by memory that other queues have freed.
    #[must_use]
    pub fn divide(self, ports: &[Sharer<'_>]) -> Vec<u32> {
        let share = |port: &Sharer<'_>| {
            let one = self.of(port.place);
            Share {
                weight: port.place.capacity.bps(),
                least: one * f64::from(port.least),
                wanted: one * f64::from(port.wanted),
                held: self.held(port),
                limit: one * f64::from(port.limit),
            }
        };
        let mut shares: Vec<Share> = ports.iter().map(share).collect();
        divide(self.total(), &mut shares);
        let limit = |(share, port): (&Share, &Sharer<'_>)| {
            // The cast rounds down. Without the factor, a rounding error just below a whole number would cost one unit.
            let whole = (share.limit / self.of(port.place) * (1.0 + 1e-12)) as u32;
            whole.clamp(port.least, port.wanted.max(port.least))
        };
        shares.iter().zip(ports).map(limit).collect()
    }

    fn total(self) -> f64 {
        match self.0 {
            Limit::Bytes(n) | Limit::Packets(n) => n as f64,
        }
    }

    /// Returns the memory that one unit of a queue's limit occupies, in the unit of the total.
    fn of(self, place: &SizedQueue) -> f64 {
        match (self.0, place.unit) {
            (Limit::Bytes(_), Unit::Bytes) | (Limit::Packets(_), Unit::Packets) => 1.0,
            (Limit::Bytes(_), Unit::Packets) => f64::from(place.frame),
            (Limit::Packets(_), Unit::Bytes) => 1.0 / f64::from(place.frame),
        }
    }

    /// Returns the backlog in the unit of the total. If the total is in bytes and the limit is in packets, each queued
    /// packet counts as the largest frame. If the bytes in the queue exceed this product, as with GSO packets, the
    /// result is the bytes.
    fn held(self, port: &Sharer<'_>) -> f64 {
        let one = self.of(port.place);
        match (self.0, port.place.unit) {
            (_, Unit::Bytes) => one * port.queue.backlog as f64,
            (Limit::Bytes(_), Unit::Packets) => (one * f64::from(port.queue.packets)).max(port.queue.backlog as f64),
            (Limit::Packets(_), Unit::Packets) => port.queue.packets.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use levelflow_units::Rate;
    use proptest::collection::vec as list;
    use proptest::prelude::*;

    use super::*;

    fn place(unit: Unit, mbps: f64) -> SizedQueue {
        SizedQueue {
            kind: if unit == Unit::Bytes { "bfifo" } else { "pfifo" }.into(),
            unit,
            capacity: Rate::clamped(mbps * 1e6),
            ..SizedQueue::example()
        }
    }

    fn waiting(packets: u32) -> Queue {
        Queue {
            packets,
            backlog: u64::from(packets) * 1514,
            ..Queue::default()
        }
    }

    #[test]
    fn a_queue_grows_when_another_has_drained() {
        let places = [place(Unit::Packets, 1.0), place(Unit::Packets, 1.0)];
        let limits = |first: (u32, u32), second: u32| {
            let queues = [waiting(first.1), waiting(0)];
            let sharer = |at: usize, wanted, limit| Sharer {
                place: &places[at],
                least: 1,
                wanted,
                limit,
                queue: &queues[at],
            };
            Memory(Limit::Packets(100)).divide(&[sharer(0, 1000, first.0), sharer(1, 1000, second)])
        };
        assert_eq!(limits((90, 90), 10), [50, 10], "it still holds 90");
        assert_eq!(limits((50, 70), 10), [50, 30]);
        assert_eq!(limits((50, 0), 30), [50, 50]);
    }

    #[test]
    fn packets_and_bytes_share_a_total_of_either() {
        let places = [place(Unit::Packets, 3.0), place(Unit::Bytes, 1.0)];
        let none = waiting(0);
        let divide = |total| {
            let sharer = |place, least| Sharer {
                place,
                least,
                wanted: 1_000_000,
                limit: 0,
                queue: &none,
            };
            Memory(total).divide(&[sharer(&places[0], 1), sharer(&places[1], 1514)])
        };
        // Each queue gets one packet. 40 packets remain. One line has three times the rate of the other line, and gets
        // three quarters of these packets.
        assert_eq!(divide(Limit::Packets(42)), [31, 11 * 1514]);
        assert_eq!(divide(Limit::Bytes(42 * 1514)), [31, 11 * 1514]);
    }

    #[test]
    fn a_total_without_room_for_a_packet_of_each_is_refused() {
        let places = [place(Unit::Packets, 1.0), place(Unit::Bytes, 1.0)];
        let check = |total| Memory(total).check([(&places[0], 1), (&places[1], 1514)].into_iter());
        assert!(check(Limit::Packets(2)).is_ok() && check(Limit::Bytes(3028)).is_ok());
        let error = check(Limit::Packets(1)).unwrap_err().to_string();
        assert!(
            error.contains("--memory 1 packet") && error.contains("2 packets or more"),
            "{error}"
        );
        let error = check(Limit::Bytes(3027)).unwrap_err().to_string();
        assert!(error.contains("allowed: 3.028 kB"), "{error}");
    }

    proptest! {
        // **Invariant** (The data plane): queues that share a memory never exceed it, in limit or in occupancy, if no
        // queue holds GSO super-packets. If the total is in packets and the limits are in bytes, a packet counts as one
        // MTU. See `leaves_share_a_memory_that_is_never_exceeded`.
        #[test]
        fn the_total_is_never_exceeded(
            ports in list((any::<bool>(), 1.0..1e4_f64, 1..u32::MAX, 0..3000_u32, 0.0..1.0_f64), 1..6),
            total in 20_000..1_000_000_u64, bytes in any::<bool>(),
        ) {
            let memory = Memory(if bytes { Limit::Bytes(total) } else { Limit::Packets(total / 1514) });
            let places: Vec<SizedQueue> = ports.iter().map(|port| {
                place(if port.0 { Unit::Packets } else { Unit::Bytes }, port.1)
            }).collect();
            let least = |place: &SizedQueue| place.unit.limit(Limit::Packets(1), 1514);
            // At the start, the sum of the limits fits into the memory.
            let room = (total / 1514) as u32 / ports.len() as u32;
            let limits: Vec<u32> = ports.iter().zip(&places).map(|(port, place)| {
                place.unit.limit(Limit::Packets((port.3 % room + 1).into()), 1514)
            }).collect();
            let queues: Vec<Queue> = ports.iter().map(|port| waiting((f64::from(port.3 % room + 1) * port.4) as u32)).collect();
            let sharers: Vec<Sharer<'_>> = (0..ports.len()).map(|i| Sharer {
                place: &places[i], least: least(&places[i]), wanted: ports[i].2, limit: limits[i], queue: &queues[i],
            }).collect();
            let new = memory.divide(&sharers);
            let used: f64 = sharers.iter().zip(&new).map(|(port, limit)| {
                (memory.of(port.place) * f64::from(*limit)).max(memory.held(port))
            }).sum();
            prop_assert!(used <= memory.total() * (1.0 + 1e-9), "{used}: {new:?}");
            prop_assert!(new.iter().zip(&places).all(|(limit, place)| *limit >= least(place)));
        }
    }
}
