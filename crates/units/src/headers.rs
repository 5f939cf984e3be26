//! Lengths of packet headers, bytes. Sizes on the wire include the Ethernet header. They include neither preamble nor
//! frame check sequence.

/// Ethernet header.
pub const ETHERNET: usize = 14;
/// IPv4 header without options.
pub const IPV4: usize = 20;
/// IPv6 header without extensions.
pub const IPV6: usize = 40;
/// UDP header.
pub const UDP: usize = 8;
