//! The receiving end of a flow: what it answers, and what it has seen.

use levelflow_laws::shim::{LENGTH, Shim};
use levelflow_laws::wire::before;
use levelflow_laws::{Any, AnyHeader, AnyParams, AnyReceiver, Arrived, Kind, LAWS, LawInfo, Protocol};
use levelflow_units::{Bytes, Time};

use crate::Refused;

/// Length of the history that `recv` puts behind the header of an answer, bytes.
pub const HISTORY: usize = 16;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiver {
    number: u8,
    /// None for flows whose law has no header.
    law: Option<(AnyParams, AnyReceiver)>,
    newest: Option<u32>,
    /// Bit `i`: packet `newest - i` arrived.
    seen: u128,
}

/// What is new about a packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// So many before it are missing since the one that was newest.
    Newest {
        /// How many.
        missing: u32,
    },
    /// It comes after one that was sent later.
    Late,
    /// It came before, or is too old to tell.
    Again,
}

impl Receiver {
    /// For flows of the law of this number; none if there is no such law.
    #[must_use]
    pub fn new(law: u8) -> Option<Self> {
        let law_of = |number| {
            let info = LAWS.iter().find(|l| l.number == number)?;
            default_params(info)
        };
        let receiver = match law {
            0 => None,
            number => Some((law_of(number)?, AnyReceiver::default())),
        };
        Some(Self {
            number: law,
            law: receiver,
            newest: None,
            seen: 0,
        })
    }

    /// A packet of the flow arrived; gives how it fits in.
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

    /// Bit `i` says that packet `number - 1 - i` arrived.
    #[must_use]
    pub fn history(&self, number: u32) -> u128 {
        let ago = self.newest.map_or(u32::MAX, |newest| newest.wrapping_sub(number));
        let later = ago.checked_add(1);
        later.and_then(|later| self.seen.checked_shr(later)).unwrap_or(0)
    }

    /// Writes the answer to a packet of `size` bytes on the wire, marked by a queue or not; gives its length.
    ///
    /// # Errors
    /// When the packet is not one of this flow's law.
    ///
    /// # Panics
    /// When `out` is shorter than [`shim::LONGEST`](levelflow_laws::shim::LONGEST).
    pub fn answer(
        &mut self,
        now: Time,
        shim: &Shim,
        header: &[u8],
        size: Bytes,
        marked: bool,
        out: &mut [u8],
    ) -> Result<usize, Refused> {
        if shim.kind == Kind::Ack {
            return Err(Refused::Stranger);
        }
        if shim.law != self.number {
            return Err(Refused::Law);
        }
        let length = match &mut self.law {
            None if header.is_empty() => 0,
            None => return Err(Refused::Law),
            Some((params, _)) if header.len() != params.law().header_bytes => return Err(Refused::Law),
            Some((params, receiver)) => {
                let header = AnyHeader::decode(params, header).map_err(Refused::Header)?;
                let arrived = Arrived {
                    now,
                    kind: shim.kind,
                    size,
                };
                Any::reflect(params, receiver, &arrived, &header).encode(&mut out[LENGTH..])
            }
        };
        let answer = Shim {
            kind: Kind::Ack,
            marked,
            more: false,
            ..*shim
        };
        answer.encode(out);
        Ok(LENGTH + length)
    }
}

/// The parameters of a law, all at their defaults.
pub(super) fn default_params(law: &LawInfo) -> Option<AnyParams> {
    let values: Vec<f64> = law.params.iter().map(|row| row.default).collect();
    levelflow_laws::params(law.name, &values).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list of what arrived.
        #[test]
        fn history_is_what_arrived_before(start in any::<u32>(), steps in prop::collection::vec(-20_i64..40, 1..300)) {
            let mut receiver = Receiver::new(0).unwrap();
            let (mut seen, mut at) = (std::collections::HashSet::new(), 1_000_000_i64);
            for step in steps {
                at += step;
                let number = start.wrapping_add(at as u32);
                let newest = seen.iter().max().copied();
                let order = receiver.on_arrival(number);
                let new = seen.insert(at);
                match (order, newest) {
                    (Order::Newest { missing }, Some(newest)) => prop_assert_eq!(i64::from(missing), at - newest - 1),
                    (Order::Newest { missing }, None) => prop_assert_eq!(missing, 0),
                    (Order::Late, Some(newest)) => prop_assert!(new && at < newest),
                    (Order::Again, Some(newest)) => prop_assert!(!new || newest - at > 127),
                    _ => prop_assert!(false, "the first packet is the newest"),
                }
                let history = receiver.history(number);
                let newest = seen.iter().max().copied().unwrap();
                for i in 0..128_i64 {
                    let (before, known) = (at - 1 - i, newest - (at - 1 - i) < 128);
                    prop_assert_eq!(history >> i & 1 == 1, known && seen.contains(&before));
                }
            }
        }
    }

    #[test]
    fn a_receiver_of_an_unknown_law_does_not_exist() {
        assert!(Receiver::new(200).is_none());
    }
}
