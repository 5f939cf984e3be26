//! The receiving half on the wire: what it acks, and what it has seen.

use levelflow_laws::{Any, AnyHeader, AnyParams, AnyReceiver, Arrived, Kind, LAWS, LawInfo, Protocol};
use levelflow_units::{Bytes, Time};
use levelflow_wire::shim::{LENGTH, LONGEST, Shim};

use crate::Rejected;
use crate::history::{HISTORY, History, Order};

/// Room that any ACK needs, bytes.
pub const LONGEST_ACK: usize = LONGEST + HISTORY;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiver {
    number: u8,
    /// None for flows whose law has no header.
    law: Option<(AnyParams, AnyReceiver)>,
    history: History,
}

/// A packet as it came off the wire.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Its shim.
    pub shim: &'a Shim,
    /// The header of the law behind it.
    pub header: &'a [u8],
    /// Size on the wire.
    pub size: Bytes,
    /// Whether a queue marked it.
    pub marked: bool,
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
            history: History::default(),
        })
    }

    /// Writes the ACK of a packet, which its owner sends unless the packet is [unacknowledged](Shim::unacknowledged). Returns the
    /// order of the packet, and the length of the ACK. The ACK ends with the history of packets before it, if that fits into
    /// `room` bytes: no ACK should be longer than what it acks.
    ///
    /// # Errors
    /// When the packet is not one of this flow's law.
    ///
    /// # Panics
    /// When `out` is shorter than [`LONGEST_ACK`].
    pub fn ack(
        &mut self,
        now: Time,
        received: Received<'_>,
        room: usize,
        out: &mut [u8],
    ) -> Result<(Order, usize), Rejected> {
        let Received {
            shim,
            header,
            size,
            marked,
        } = received;
        if shim.kind == Kind::Ack {
            return Err(Rejected::UnknownFlow);
        }
        if shim.law != self.number {
            return Err(Rejected::Law);
        }
        let length = match &mut self.law {
            None if header.is_empty() => 0,
            None => return Err(Rejected::Law),
            Some((params, _)) if header.len() != params.law().header_bytes() => return Err(Rejected::Law),
            Some((params, receiver)) => {
                let header = AnyHeader::decode(params, header).map_err(Rejected::Header)?;
                let arrived = Arrived {
                    now,
                    kind: shim.kind,
                    size,
                };
                Any::reflect(params, receiver, &arrived, &header).encode(&mut out[LENGTH..])
            }
        };
        let ack = Shim {
            kind: Kind::Ack,
            marked,
            more: false,
            ..*shim
        };
        ack.encode(out);
        let order = self.history.on_arrival(shim.number);
        let (length, end) = (LENGTH + length, LENGTH + length + HISTORY);
        if end > room {
            return Ok((order, length));
        }
        out[length..end].copy_from_slice(&self.history.below(shim.number).to_be_bytes());
        Ok((order, end))
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

    #[test]
    fn a_receiver_of_an_unknown_law_does_not_exist() {
        assert!(Receiver::new(200).is_none());
    }
}
