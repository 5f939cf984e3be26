//! Headers and payload of the data packets of a flow.

use levelflow_units::Bytes;

/// Packet sizes of a flow. Each packet has headers of the same size; the rest of a data packet is payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Maximum size of data packets on the wire. It exceeds the size of the headers.
    pub packet: Bytes,
    /// Size of the headers of a packet.
    pub headers: Bytes,
}

impl Framing {
    /// Returns the payload of a packet of maximum size.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.packet.get().saturating_sub(self.headers.get()).max(1))
    }

    /// Returns the size on the wire of a transfer with this payload. All packets except the last are full.
    #[must_use]
    pub fn wire_size(&self, payload: Bytes) -> Bytes {
        let packets = payload.get().div_ceil(self.payload().get());
        let headers = packets.saturating_mul(self.headers.get());
        Bytes::new(payload.get().saturating_add(headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_transfer_has_the_size_of_its_packets(
            payload in 1..10_000_u64, headers in 0..200_u64, room in 1..1000_u64,
        ) {
            let framing = Framing {
                packet: Bytes::new(headers + room),
                headers: Bytes::new(headers),
            };
            let (mut left, mut sent) = (payload, 0);
            while left > 0 {
                let carried = left.min(room);
                left -= carried;
                sent += headers + carried;
            }
            prop_assert_eq!(framing.wire_size(Bytes::new(payload)), Bytes::new(sent));
        }
    }
}
