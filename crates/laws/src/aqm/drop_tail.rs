//! Drop-tail: a full queue drops the packet that arrives.

use super::{Queue, QueueInfo};
use crate::law::PortInfo;

/// Drops arrivals at a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail;

impl Queue for DropTail {
    type Params = ();

    const INFO: QueueInfo = QueueInfo {
        name: "drop_tail",
        title: "drop-tail: a full queue drops the packet that arrives",
        source: "RFC 7567, section 2.1",
        signal: "none",
        params: &[],
    };

    fn new(_params: &(), _port: &PortInfo) -> Self {
        Self
    }
}
