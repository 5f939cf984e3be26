//! Sizes and times that several parts of a connection share.

use levelflow_units::Duration;

/// Minimum size of a data datagram, which the law paces and routers process. Smaller datagrams carry QUIC
/// acknowledgements and control.
pub(super) const MIN_DATA_BYTES: usize = 600;
/// Size of a QUIC datagram once the path's MTU is known, before shim and header.
pub(super) const DATAGRAM_BYTES: u16 = 1400;
/// Idle time after which a flow starts again because its feedback is out of date. The larger of this time and
/// [`IDLE_RTTS`] applies.
pub(super) const IDLE: Duration = Duration::from_secs(2);
/// Idle time in round trips; see [`IDLE`].
pub(super) const IDLE_RTTS: u64 = 8;
