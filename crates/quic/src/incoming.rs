//! Incoming flows of a peer, and their delayed ACKs.
//!
//! Data is not authenticated: any host can send it from the peer's address, with invented flow numbers. A packet
//! therefore replaces neither the receiver of another active flow nor a delayed ACK of another flow.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

use levelflow_laws::bytes::before;
use levelflow_units::{Bytes, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, Shim};
use noq::udp::{EcnCodepoint, RecvMeta};

use super::flows::{FlowSlot, Flows};
use super::limits::IDLE;
use levelflow_host::clock::stamp;
use levelflow_transport::{Received, Receiver};

/// Limit on the flows of a peer for which receiver state is kept. Further flows are acknowledged without state.
const MAX_FLOWS: usize = 16;
/// Limit on delayed ACKs of a peer. This number of ACKs fits into one super-packet.
const MAX_HELD: usize = 64;

struct Flow<P> {
    number: u32,
    receiver: Receiver,
    used: Time,
    _entry: FlowSlot<P>,
}

/// A delayed ACK.
pub(super) struct Held {
    flow: u32,
    number: u32,
    wire: [u8; MAX_PREFIX_BYTES],
    pub length: usize,
    since: u64,
    pub to: SocketAddr,
    pub from: Option<IpAddr>,
}

/// See the [module](self).
pub(super) struct Incoming<P> {
    index: Arc<Flows<P>>,
    own: Weak<P>,
    flows: Vec<Flow<P>>,
    pub held: VecDeque<Held>,
}

impl<P> Incoming<P> {
    pub fn new(index: Arc<Flows<P>>, own: Weak<P>) -> Self {
        Self {
            index,
            own,
            flows: Vec::new(),
            held: VecDeque::new(),
        }
    }

    /// Returns true if the number of delayed ACKs has reached its limit.
    pub fn is_full(&self) -> bool {
        self.held.len() >= MAX_HELD
    }

    /// Prepares the delayed ACK of a packet; `size` is the size of the packet on the wire.
    pub fn hold(&mut self, now: Time, shim: &Shim, header: &[u8], size: Bytes, meta: &RecvMeta) {
        let mut wire = [0; MAX_PREFIX_BYTES];
        let marked = meta.ecn == Some(EcnCodepoint::Ce);
        // Payload may follow an ACK here, so no history of received packets follows the header of the ACK.
        let mut ack = |receiver: &mut Receiver| {
            receiver.ack(
                now,
                Received {
                    shim,
                    header,
                    size,
                    marked,
                },
                0,
                &mut wire,
            )
        };
        let known = self.flows.iter_mut().find(|flow| flow.number == shim.flow);
        let length = if let Some(flow) = known {
            let Ok((_, length)) = ack(&mut flow.receiver) else {
                return;
            };
            flow.used = now;
            length
        } else {
            let new = Receiver::new(shim.signalling).filter(|_| shim.signalling != 0);
            let Some(mut receiver) = new else { return };
            let Ok((_, length)) = ack(&mut receiver) else { return };
            self.begin(now, shim.flow, receiver);
            length
        };
        let held = Held {
            flow: shim.flow,
            number: shim.number,
            wire,
            length,
            since: stamp(),
            to: meta.addr,
            from: meta.dst_ip,
        };
        self.keep(held, super::acks_each(shim.signalling));
    }

    /// Adds a flow, if there is room or another flow is idle.
    fn begin(&mut self, now: Time, number: u32, receiver: Receiver) {
        if self.flows.len() >= MAX_FLOWS {
            let idle = self.flows.iter().position(|flow| now.since(flow.used) >= IDLE);
            let Some(idle) = idle else { return };
            self.flows.swap_remove(idle);
        }
        self.flows.push(Flow {
            number,
            receiver,
            used: now,
            _entry: Flows::enter(&self.index, number, &self.own),
        });
    }

    /// Adds a delayed ACK. If `each` is false, the ACK replaces an older ACK of its flow.
    fn keep(&mut self, new: Held, each: bool) {
        let mut waiting = self.held.iter_mut();
        if let Some(held) = waiting.find(|held| !each && held.flow == new.flow) {
            if !before(new.number, held.number) {
                *held = new;
            }
        } else {
            self.held.push_back(new);
        }
    }
}

impl Held {
    /// Returns true if this ACK and the next ACK fit into the same super-packet.
    pub fn leaves_with(&self, next: &Self) -> bool {
        (self.to, self.from, self.length) == (next.to, next.from, next.length)
    }

    /// Appends the ACK to `out`, with the delay of the ACK added to the echoed time.
    pub fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.wire[..self.length]);
        if let Some(time) = out.get_mut(begin + 16..begin + 24) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(time);
            let moved = u64::from_be_bytes(bytes).saturating_add(stamp().saturating_sub(self.since));
            time.copy_from_slice(&moved.to_be_bytes());
        }
    }
}
