//! Receiver on a real network: writes ACKs and keeps the history of received packets.

use levelflow_laws::{AnyHeader, AnyReceiver, AnySignalling, Arrived, Kind, SIGNALLINGS, Signalling, SignallingInfo};
use levelflow_units::{Bytes, Time};
use levelflow_wire::shim::{HISTORY_BYTES, MAX_PREFIX_BYTES, SHIM_BYTES, Shim};

use crate::Rejected;
use crate::history::{History, Order};

/// Largest size of an ACK, bytes.
pub const LONGEST_ACK: usize = MAX_PREFIX_BYTES + HISTORY_BYTES;

/// Receiver of one flow.
#[derive(Debug)]
pub struct Receiver {
    signalling: &'static SignallingInfo,
    state: AnyReceiver,
    history: History,
}

/// Packet received from a network.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Shim of the packet.
    pub shim: &'a Shim,
    /// Header that follows the shim.
    pub header: &'a [u8],
    /// Size on the wire.
    pub size: Bytes,
    /// True if a queue marked the packet.
    pub marked: bool,
}

impl Receiver {
    /// Creates a receiver for flows of the signalling with the number `number`. Returns `None` if no signalling has
    /// this number.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        Some(Self {
            signalling: SIGNALLINGS.iter().find(|own| own.number == number)?,
            state: AnyReceiver::default(),
            history: History::default(),
        })
    }

    /// Writes the ACK of a packet. Returns the order of the packet and the length of the ACK. The caller does not send
    /// the ACK of an [unacknowledged](Shim::unacknowledged) packet.
    ///
    /// The ACK ends with the history of earlier packets if it then fits into `room` bytes. `room` should be at most the
    /// length of the packet, so that the ACK is not longer than the packet.
    ///
    /// # Errors
    /// Returns an error if the packet does not belong to the signalling of this flow.
    ///
    /// # Panics
    /// Panics if `out` is shorter than [`LONGEST_ACK`].
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
        let own = self.signalling;
        if shim.signalling != own.number || header.len() != own.header_bytes() {
            return Err(Rejected::Signalling);
        }
        let header = AnyHeader::decode(own, header).map_err(Rejected::Header)?;
        let arrived = Arrived {
            now,
            kind: shim.kind,
            size,
        };
        let length = AnySignalling::reflect(&mut self.state, &arrived, &header).encode(&mut out[SHIM_BYTES..]);
        let ack = Shim {
            kind: Kind::Ack,
            marked,
            more: false,
            ..*shim
        };
        ack.encode(out);
        let order = self.history.on_arrival(shim.number);
        let (length, end) = (SHIM_BYTES + length, SHIM_BYTES + length + HISTORY_BYTES);
        if end > room {
            return Ok((order, length));
        }
        out[length..end].copy_from_slice(&self.history.below(shim.number).to_be_bytes());
        Ok((order, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_of_an_unknown_law_does_not_exist() {
        assert!(Receiver::new(200).is_none());
    }
}
