//! Queue limit.

use core::str::FromStr;

use derive_more::{Display, Error};

use crate::{Bytes, Packets};

/// Limit of a queue, including the packet in service. Packets that do not fit are dropped on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Buffer {
    /// No limit.
    #[display("unlimited")]
    Unlimited,
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most this many packets.
    #[display("{}", Packets::new(*_0))]
    Packets(u64),
}

/// Error of parsing a [`Buffer`]. The message has one line and lists the allowed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, Error)]
pub enum BufferError {
    /// The text is not a size.
    #[display("must be a size such as \"64 kB\" or \"25 packets\", or \"unlimited\"")]
    Malformed,
    /// The size is below one packet.
    #[display("must have room for a packet")]
    Zero,
}

impl Buffer {
    /// Returns true if a packet of `size` bytes fits into a queue. The queue contains `bytes` bytes and `packets`
    /// packets.
    #[inline]
    #[must_use]
    pub const fn admits(self, bytes: u64, packets: u64, size: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(limit) => bytes.saturating_add(size) <= limit.get(),
            Self::Packets(limit) => packets < limit,
        }
    }
}

impl FromStr for Buffer {
    type Err = BufferError;

    fn from_str(text: &str) -> Result<Self, BufferError> {
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let packets = text.parse::<Packets>().map(|packets| Self::Packets(packets.get()));
        match packets.or_else(|_| text.parse().map(Self::Bytes)) {
            Ok(Self::Packets(0) | Self::Bytes(Bytes::ZERO)) => Err(BufferError::Zero),
            other => other.map_err(|_| BufferError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_printed_buffer_parses_to_the_same_buffer() {
        for (text, buffer) in [
            ("unlimited", Buffer::Unlimited),
            ("64 kB", Buffer::Bytes(Bytes::new(64_000))),
            ("1 packet", Buffer::Packets(1)),
            ("25 packets", Buffer::Packets(25)),
        ] {
            assert_eq!(text.parse(), Ok(buffer));
            assert_eq!(buffer.to_string(), text);
        }
    }

    #[test]
    fn a_buffer_without_a_size_is_refused() {
        for text in ["", "3", "-1 packets", "2 apples", "Unlimited"] {
            assert_eq!(text.parse::<Buffer>(), Err(BufferError::Malformed), "{text}");
        }
        for text in ["0 B", "0 packets"] {
            assert_eq!(text.parse::<Buffer>(), Err(BufferError::Zero), "{text}");
        }
    }

    #[test]
    fn limits_are_inclusive() {
        for (buffer, expected) in [
            (Buffer::Unlimited, [true, true, true]),
            (Buffer::Bytes(Bytes::new(3000)), [true, true, false]),
            (Buffer::Packets(3), [true, true, false]),
        ] {
            let admits = [(0, 0), (2000, 2), (2001, 3)].map(|(bytes, packets)| buffer.admits(bytes, packets, 1000));
            assert_eq!(admits, expected, "{buffer}");
        }
    }
}
