//! Sizes and times that several parts of a connection share.

use levelflow_units::Duration;

/// Datagrams from this size on are data, which the law rates and routers see; smaller ones acknowledge and control.
pub(super) const DATA: usize = 600;
/// Size of a QUIC datagram once the path's MTU is known, before shim and header.
pub(super) const DATAGRAM: u16 = 1400;
/// A flow that was idle for this long, and for [`IDLE_RTTS`], begins anew: its feedback is out of date.
pub(super) const IDLE: Duration = Duration::from_secs(2);
/// Round trips of [`IDLE`].
pub(super) const IDLE_RTTS: u64 = 8;
