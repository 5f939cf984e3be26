//! Drop-front: a full queue drops the packet that has waited longest. The sender of this packet detects the loss
//! earlier than with drop-tail.

use super::{Overflow, Queue, QueueInfo};
use crate::law::PortInfo;

/// Drops from the front of a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropFront;

impl Queue for DropFront {
    type Params = ();

    const INFO: QueueInfo = QueueInfo {
        name: "drop_front",
        title: "drop-front: a full queue drops the packet that has waited longest",
        source: "Lakshman, Neidhardt, Ott 1996; Kunniyur and Srikant 2003, section VI-A",
        signal: "none",
        params: &[],
    };
    const OVERFLOW: Overflow = Overflow::Front;

    fn new(_params: &(), _port: &PortInfo) -> Self {
        Self
    }
}
