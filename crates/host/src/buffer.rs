//! How much a queue holds.

use std::fmt;
use std::str::FromStr;

use levelflow_units::{Bytes, Packets};

/// Room for packets that wait or are in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// So many bytes on the wire.
    Bytes(u64),
    /// So many packets.
    Packets(u64),
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(bytes) => Bytes::new(bytes).fmt(f),
            Self::Packets(packets) => Packets::new(packets).fmt(f),
        }
    }
}

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let packets = text.parse::<Packets>().map(|p| Self::Packets(p.get()));
        let size = packets.or_else(|_| text.parse::<Bytes>().map(|b| Self::Bytes(b.get())));
        match size {
            Ok(Self::Bytes(0) | Self::Packets(0)) => Err("a buffer of nothing lets no packet through".into()),
            other => other.map_err(|_| "write a size such as \"64 kB\" or \"25 packets\"".into()),
        }
    }
}
