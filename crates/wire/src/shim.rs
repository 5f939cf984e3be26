//! Shim: the first 24 bytes of a UDP payload. The header of the signalling follows the shim.
//!
//! `docs/reference/wire-format.md` shows the byte diagram. The shim contains the packet kind and the number of the
//! signalling. A router therefore finds the header of its signalling at a fixed offset. An ACK contains the header of
//! the acknowledged packet after processing by the receiver.
//!
//! A datagram may contain an ACK in addition to another packet. The shim of the other packet then comes first and has
//! the `more` flag. The shim of the ACK follows.

use levelflow_laws::bytes::{DecodeError, exactly};
use levelflow_laws::{Kind, SIGNALLINGS, SignallingInfo};

/// Length of the shim, bytes.
pub const SHIM_BYTES: usize = 24;
/// Largest length of the shim plus the header of any signalling, bytes.
pub const MAX_PREFIX_BYTES: usize = {
    let (mut longest, mut i) = (0, 0);
    while i < SIGNALLINGS.len() {
        if SIGNALLINGS[i].header_bytes() > longest {
            longest = SIGNALLINGS[i].header_bytes();
        }
        i += 1;
    }
    SHIM_BYTES + longest
};
/// Length of the history that follows the header of an ACK, bytes.
pub const HISTORY_BYTES: usize = 16;
/// Format version.
pub const VERSION: u8 = 1;
/// Magic number: "LVF" and the format version.
pub const MAGIC: [u8; 4] = [b'L', b'V', b'F', VERSION];

const MARKED: u8 = 1 << 0;
const UNACKNOWLEDGED: u8 = 1 << 1;
const MORE: u8 = 1 << 7;

/// Returns the length of the shim plus the header of this signalling, bytes.
#[must_use]
pub fn prefix_bytes(signalling: &SignallingInfo) -> usize {
    SHIM_BYTES + signalling.header_bytes()
}

/// Shim: the first 24 bytes of a Levelflow datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shim {
    /// Packet kind.
    pub kind: Kind,
    /// True in an ACK if a queue has marked the acknowledged packet.
    pub marked: bool,
    /// True if another shim follows later in the datagram.
    pub more: bool,
    /// True if the receiver must not acknowledge the packet.
    pub unacknowledged: bool,
    /// Number of the signalling whose header follows
    /// ([`SignallingInfo::number`](levelflow_laws::SignallingInfo::number)); 0 if no header follows.
    pub signalling: u8,
    /// Length of the header that follows, bytes.
    pub header: u8,
    /// Flow identifier. The sender chooses it at random, so a host that is not on the path cannot forge ACKs.
    pub flow: u32,
    /// Packet number. In an ACK, the number of the acknowledged packet.
    pub number: u32,
    /// Send time by the sender's clock, ns. In an ACK, the send time of the acknowledged packet plus the ACK delay.
    pub time: u64,
}

impl Shim {
    /// Writes the shim to the first [`SHIM_BYTES`] bytes of `out`.
    ///
    /// # Panics
    /// Panics if `out` is shorter than [`SHIM_BYTES`].
    pub fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&MAGIC);
        let flag = |on, bit| if on { bit } else { 0 };
        let flags = flag(self.marked, MARKED) | flag(self.unacknowledged, UNACKNOWLEDGED) | flag(self.more, MORE);
        out[4..8].copy_from_slice(&[self.kind as u8, flags, self.signalling, self.header]);
        out[8..12].copy_from_slice(&self.flow.to_be_bytes());
        out[12..16].copy_from_slice(&self.number.to_be_bytes());
        out[16..24].copy_from_slice(&self.time.to_be_bytes());
    }

    /// Decodes a shim. Returns the shim, the header and the remaining bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a shim of this version, or are too short for the length fields. Unknown
    /// flags are ignored.
    pub fn decode(wire: &[u8]) -> Result<(Self, &[u8], &[u8]), DecodeError> {
        let fixed = exactly::<SHIM_BYTES>(wire)?;
        let field = |name, allowed| Err(DecodeError::Field { name, allowed });
        if fixed[0..3] != MAGIC[0..3] {
            return field("magic", "LVF");
        }
        if fixed[3] != VERSION {
            return field("version", "1");
        }
        let kind = match fixed[4] {
            0 => Kind::Data,
            1 => Kind::Syn,
            2 => Kind::Fin,
            3 => Kind::Ack,
            _ => return field("kind", "0 to 3"),
        };
        let [
            _,
            _,
            _,
            _,
            _,
            flags,
            signalling,
            header,
            f0,
            f1,
            f2,
            f3,
            n0,
            n1,
            n2,
            n3,
            time @ ..,
        ] = *fixed;
        let end = SHIM_BYTES + usize::from(header);
        let (Some(own), Some(rest)) = (wire.get(SHIM_BYTES..end), wire.get(end..)) else {
            return Err(DecodeError::Short {
                have: wire.len(),
                need: end,
            });
        };
        let shim = Self {
            kind,
            marked: flags & MARKED != 0,
            more: flags & MORE != 0,
            unacknowledged: flags & UNACKNOWLEDGED != 0,
            signalling,
            header,
            flow: u32::from_be_bytes([f0, f1, f2, f3]),
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            time: u64::from_be_bytes(time),
        };
        Ok((shim, own, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shims() -> impl Strategy<Value = Shim> {
        let kinds = prop::sample::select(std::vec![Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack]);
        (
            kinds,
            any::<[bool; 3]>(),
            any::<[u8; 2]>(),
            any::<[u32; 2]>(),
            any::<u64>(),
        )
            .prop_map(
                |(kind, [marked, more, unacknowledged], [signalling, header], [flow, number], time)| Shim {
                    kind,
                    marked,
                    more,
                    unacknowledged,
                    signalling,
                    header,
                    flow,
                    number,
                    time,
                },
            )
    }

    proptest! {
        #[test]
        fn a_shim_survives_the_wire(shim in shims(), rest in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut wire = std::vec![7; SHIM_BYTES + usize::from(shim.header)];
            shim.encode(&mut wire);
            wire.extend(&rest);
            let (read, header, after) = Shim::decode(&wire).unwrap();
            prop_assert_eq!(read, shim);
            prop_assert!(header.len() == usize::from(shim.header) && header.iter().all(|b| *b == 7));
            prop_assert_eq!(after, &rest[..]);
        }

        #[test]
        fn a_truncated_shim_is_refused(shim in shims(), cut in any::<prop::sample::Index>()) {
            let mut wire = std::vec![0; SHIM_BYTES + usize::from(shim.header)];
            shim.encode(&mut wire);
            prop_assert!(Shim::decode(&wire[..cut.index(wire.len())]).is_err());
        }
    }

    #[test]
    fn bytes_match_the_reference() {
        let shim = Shim {
            kind: Kind::Ack,
            marked: true,
            more: true,
            unacknowledged: true,
            signalling: 1,
            header: 0,
            flow: 0x0102_0304,
            number: 0x0506_0708,
            time: 0x0910_1112_1314_1516,
        };
        let mut wire = [0; SHIM_BYTES];
        shim.encode(&mut wire);
        assert_eq!(wire[..8], [b'L', b'V', b'F', 1, 3, 0x83, 1, 0]);
        assert_eq!(
            wire[8..],
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16]
        );
    }
}
