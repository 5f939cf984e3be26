//! Encapsulation: headers of packets.

use levelflow_laws::LawInfo;
use levelflow_units::Bytes;
use levelflow_units::headers::{ETHERNET, IPV4, IPV6, UDP};
use levelflow_wire::shim::{HISTORY_BYTES, prefix_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Overhead of a QUIC packet with one STREAM frame, bytes: flags 1, connection ID 8, packet number 2, authentication
/// tag 16, frame type 1, stream ID 1, offset 4 (RFC 9000, sections 17.3.1 and 19.8; RFC 9001, section 5.3).
const QUIC: usize = 33;

/// Headers of all packets of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Encapsulation {
    /// Packets have no headers: every byte of a data packet is payload.
    #[serde(rename = "none")]
    None,
    /// Ethernet, IPv4, UDP, the shim, and the header of the law.
    #[serde(rename = "ethernet+ipv4+udp")]
    Ipv4,
    /// The same with IPv6.
    #[serde(rename = "ipv6")]
    Ipv6,
    /// The headers of `ethernet+ipv4+udp`, followed by a QUIC packet with one STREAM frame.
    #[serde(rename = "quic")]
    Quic,
}

impl Encapsulation {
    /// Returns the size of the headers of a packet of this law.
    #[must_use]
    pub fn headers(self, law: &LawInfo) -> Bytes {
        let others = match self {
            Self::None => return Bytes::ZERO,
            Self::Ipv4 => ETHERNET + IPV4 + UDP,
            Self::Ipv6 => ETHERNET + IPV6 + UDP,
            Self::Quic => ETHERNET + IPV4 + UDP + QUIC,
        };
        Bytes::new((others + prefix_bytes(law.signalling)) as u64)
    }

    /// Returns the size of the smallest ACK of this law: its headers, and the history of received packets.
    #[must_use]
    pub fn smallest_ack(self, law: &LawInfo) -> Bytes {
        match self.headers(law) {
            Bytes::ZERO => Bytes::ZERO,
            headers => Bytes::new(headers.get() + HISTORY_BYTES as u64),
        }
    }
}
