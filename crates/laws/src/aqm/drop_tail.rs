//! Drop-tail: a packet that finds no room is dropped.

use super::{Queue, QueueInfo};
use crate::law::PortInfo;

/// Drops what does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail;

impl Queue for DropTail {
    type Params = ();

    const INFO: QueueInfo = QueueInfo {
        name: "drop_tail",
        title: "drop-tail: a packet that finds no room is dropped",
        source: "RFC 7567, section 2.1",
        signal: "none",
        params: &[],
    };

    fn new(_params: &(), _port: &PortInfo) -> Self {
        Self
    }
}
