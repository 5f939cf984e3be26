//! ACK history: a bitmap of the packets received before the acknowledged packet. If an ACK is lost, the history in a
//! later ACK shows that the packet arrived.

use levelflow_laws::bytes::before;

/// Bitmap of the latest 128 packets of a flow at its receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    newest: Option<u32>,
    /// Bit `i` is set if packet `newest - i` arrived.
    seen: u128,
}

/// Order of an arriving packet relative to earlier arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The packet has a higher number than all earlier arrivals.
    Newest {
        /// Number of packets missing between this packet and the previous highest number.
        missing: u32,
    },
    /// The packet has a lower number than an earlier arrival, and is no duplicate.
    Late,
    /// The packet is a duplicate, or is too old to be distinguished from a duplicate.
    Again,
}

impl History {
    /// Records the arrival of a packet.
    #[inline]
    pub fn on_arrival(&mut self, number: u32) -> Order {
        let Some(newest) = self.newest else {
            (self.newest, self.seen) = (Some(number), 1);
            return Order::Newest { missing: 0 };
        };
        if before(newest, number) {
            let ahead = number.wrapping_sub(newest);
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.newest = Some(number);
            return Order::Newest { missing: ahead - 1 };
        }
        let Some(bit) = 1_u128.checked_shl(newest.wrapping_sub(number)) else {
            return Order::Again;
        };
        if self.seen & bit != 0 {
            return Order::Again;
        }
        self.seen |= bit;
        Order::Late
    }

    /// Returns the history for the ACK of packet `number`. Bit `i` is set if packet `number - 1 - i` arrived.
    #[inline]
    #[must_use]
    pub fn below(&self, number: u32) -> u128 {
        let ago = self.newest.map_or(u32::MAX, |newest| newest.wrapping_sub(number));
        let later = ago.checked_add(1);
        later.and_then(|later| self.seen.checked_shr(later)).unwrap_or(0)
    }
}

/// Bitmap at the sender: the packets among the latest 128 that are not known to have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    newest: u32,
    /// Bit `i` is set if packet `newest - 1 - i` is not known to have arrived.
    missing: u128,
}

impl Missing {
    /// Creates the bitmap of a flow. `first` is the number of the flow's first packet.
    pub fn new(first: u32) -> Self {
        Self {
            newest: first.wrapping_sub(1),
            missing: 0,
        }
    }

    /// Returns the highest acknowledged packet number.
    #[inline]
    pub fn newest(&self) -> u32 {
        self.newest
    }

    /// Handles the ACK of packet `number`. Returns the bits of `history` for packets that were not known to have
    /// arrived.
    #[inline]
    pub fn on_ack(&mut self, number: u32, history: u128) -> u128 {
        if before(self.newest, number) {
            let ahead = number.wrapping_sub(self.newest);
            if ahead == 1 && self.missing == 0 {
                self.newest = number;
                return 0;
            }
            let skipped = 1_u128.checked_shl(ahead - 1).map_or(u128::MAX, |bit| bit - 1);
            let missing = self.missing.checked_shl(ahead).unwrap_or(0) | skipped;
            self.missing = missing & !history;
            self.newest = number;
            return missing & history;
        }
        let behind = self.newest.wrapping_sub(number);
        if let Some(own) = behind.checked_sub(1).and_then(|i| 1_u128.checked_shl(i)) {
            self.missing &= !own;
        }
        let news = self.missing & history.checked_shl(behind).unwrap_or(0);
        self.missing &= !news;
        news.checked_shr(behind).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the bitmap with a set of the packets that arrived.
        #[test]
        fn history_lists_earlier_arrivals(start in any::<u32>(),
                                          steps in prop::collection::vec(-20_i64..40, 1..300)) {
            let (mut history, mut seen, mut at) = (History::default(), std::collections::HashSet::new(), 1_000_000_i64);
            for step in steps {
                at += step;
                let number = start.wrapping_add(at as u32);
                let newest = seen.iter().max().copied();
                let order = history.on_arrival(number);
                let new = seen.insert(at);
                match (order, newest) {
                    (Order::Newest { missing }, Some(newest)) => prop_assert_eq!(i64::from(missing), at - newest - 1),
                    (Order::Newest { missing }, None) => prop_assert_eq!(missing, 0),
                    (Order::Late, Some(newest)) => prop_assert!(new && at < newest),
                    (Order::Again, Some(newest)) => prop_assert!(!new || newest - at > 127),
                    _ => prop_assert!(false, "the first packet is the newest"),
                }
                let listed = history.below(number);
                let newest = seen.iter().max().copied().unwrap();
                for i in 0..128_i64 {
                    let (before, known) = (at - 1 - i, newest - (at - 1 - i) < 128);
                    prop_assert_eq!(listed >> i & 1 == 1, known && seen.contains(&before));
                }
            }
        }

        /// Compares the bitmap with a set of the acknowledged packet numbers.
        #[test]
        fn each_packet_is_reported_once(start in any::<u32>(),
                                    acks in prop::collection::vec((-20_i64..40, any::<u128>()), 1..300)) {
            let (mut missing, mut known, mut at, mut newest) = (Missing::new(start), std::collections::HashSet::new(), 0, -1);
            for (step, history) in acks {
                at = (at + step).max(0);
                let news = missing.on_ack(start.wrapping_add(at as u32), history);
                newest = at.max(newest);
                known.insert(at);
                for i in 0..128_i64 {
                    let packet = at - 1 - i;
                    let fresh = packet >= 0 && history >> i & 1 == 1 && newest - packet <= 128 && known.insert(packet);
                    prop_assert_eq!(news >> i & 1 == 1, fresh, "{} of {}", packet, at);
                }
            }
            prop_assert_eq!(missing.newest(), start.wrapping_add(newest as u32));
        }
    }
}
