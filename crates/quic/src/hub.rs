//! Demultiplexes datagrams: takes their shims off and hands these to the peer they are for.
//!
//! Any host can send a shim from any address. So an ACK counts for the flow it names, wherever it comes from; data are
//! acknowledged by the peer at their address, and those of a peer that moved by the number of their flow. Nothing that arrives makes
//! an entry here, but for a bounded number of strangers; only connections do.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};

use levelflow_laws::Kind;
use levelflow_wire::shim::Shim;
use noq::udp::RecvMeta;

use super::flows::lock;
use super::peer::{Core, LawConfig, Peer};

/// Most strangers of whom it is remembered which law they speak; then all are forgotten.
const MAX_STRANGERS: usize = 4096;

type Address = (IpAddr, u16);

fn key(address: SocketAddr) -> Address {
    (address.ip().to_canonical(), address.port())
}

#[derive(Debug, Default)]
struct Peers {
    /// One for each connection, in the order in which they came.
    known: HashMap<Address, Vec<Weak<Peer>>>,
    /// Which law strangers spoke last.
    strangers: HashMap<Address, u8>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Hub {
    pub core: Arc<Core>,
    peers: Mutex<Peers>,
}

impl Hub {
    pub fn new(core: Arc<Core>) -> Arc<Self> {
        let peers = Mutex::default();
        Arc::new(Self { core, peers })
    }

    /// A peer for a connection with that address, under the law that `law_config` chooses.
    pub fn register(&self, address: SocketAddr, law_config: Option<LawConfig>) -> Arc<Peer> {
        let peer = Peer::new(Arc::clone(&self.core), law_config);
        let mut peers = lock(&self.peers);
        peers.known.retain(|_, there| {
            there.retain(|peer| peer.strong_count() > 0);
            !there.is_empty()
        });
        peers.strangers.remove(&key(address));
        let there = peers.known.entry(key(address)).or_default();
        there.push(Arc::downgrade(&peer));
        peer
    }

    /// Number of the law that a stranger spoke last.
    pub fn heard(&self, address: SocketAddr) -> Option<u8> {
        lock(&self.peers).strangers.get(&key(address)).copied()
    }

    fn at(&self, address: SocketAddr) -> Option<Arc<Peer>> {
        let peers = lock(&self.peers);
        peers.known.get(&key(address))?.iter().find_map(Weak::upgrade)
    }

    /// Takes the shims off a datagram; gives where the rest begins. `here` is the peer at the address that it came from.
    fn take(&self, datagram: &[u8], meta: &RecvMeta, here: Option<&Arc<Peer>>) -> usize {
        let Ok((shim, header, mut rest)) = Shim::decode(datagram) else {
            return 0;
        };
        if shim.kind == Kind::Ack {
            self.acked(&shim, header);
        } else if let Some(here) = here {
            here.hold(&shim, header, datagram.len(), meta);
        } else if let Some(moved) = self.core.incoming.find(shim.flow) {
            moved.hold(&shim, header, datagram.len(), meta);
            moved.after_batch();
        } else {
            self.note(meta.addr, shim.law);
        }
        if shim.more
            && let Ok((second, header, after)) = Shim::decode(rest)
        {
            // The second shim is an ACK, or unknown.
            if second.kind == Kind::Ack {
                self.acked(&second, header);
            }
            rest = after;
        }
        datagram.len() - rest.len()
    }

    fn acked(&self, shim: &Shim, header: &[u8]) {
        if let Some(peer) = self.core.outgoing.find(shim.flow) {
            peer.on_ack(shim, header);
        }
    }

    fn note(&self, stranger: SocketAddr, law: u8) {
        let strangers = &mut lock(&self.peers).strangers;
        if strangers.len() >= MAX_STRANGERS {
            strangers.clear();
        }
        strangers.insert(key(stranger), law);
    }

    /// Takes the shims off all datagrams in buffers that came together, and closes the gaps. Those that do not fit into
    /// what `metas` can say go to `overflow`.
    pub fn strip(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
        overflow: &mut Vec<(RecvMeta, Vec<u8>)>,
    ) {
        let mut last: Option<Arc<Peer>> = None;
        for (buffer, meta) in buffers.iter_mut().zip(metas) {
            let here = self.strip_one(buffer, meta, overflow);
            if let Some(before) = last.filter(|last| here.as_ref().is_none_or(|here| !Arc::ptr_eq(last, here))) {
                before.after_batch();
            }
            last = here;
        }
        if let Some(last) = last {
            last.after_batch();
        }
    }

    /// The same for one buffer; gives the peer at the address that it came from.
    fn strip_one(
        &self,
        buffer: &mut [u8],
        meta: &mut RecvMeta,
        overflow: &mut Vec<(RecvMeta, Vec<u8>)>,
    ) -> Option<Arc<Peer>> {
        let here = self.at(meta.addr);
        let (whole, stride) = (meta.len.min(buffer.len()), meta.stride.max(1));
        let mut fits = Fits::default();
        let mut read = 0;
        while read < whole {
            let end = read.saturating_add(stride).min(whole);
            let skip = self.take(&buffer[read..end], meta, here.as_ref());
            let rest = read + skip..end;
            if !rest.is_empty() {
                if fits.takes(rest.len()) {
                    buffer.copy_within(rest.clone(), fits.length);
                    fits.length += rest.len();
                } else {
                    overflow.push((alone(meta, rest.len()), buffer[rest].to_vec()));
                }
            }
            read = end;
        }
        (meta.len, meta.stride) = (fits.length, fits.stride);
        here
    }
}

/// A datagram of that length, as the only one.
pub(super) fn alone(meta: &RecvMeta, length: usize) -> RecvMeta {
    let mut alone = *meta;
    (alone.len, alone.stride) = (length, length);
    alone
}

/// Datagrams in one buffer have one length, but for the last, which may be shorter.
#[derive(Default)]
struct Fits {
    length: usize,
    stride: usize,
    full: bool,
}

impl Fits {
    fn takes(&mut self, length: usize) -> bool {
        if self.length == 0 {
            self.stride = length;
        }
        let fits = !self.full && length <= self.stride;
        self.full |= length < self.stride;
        fits
    }
}

#[cfg(test)]
mod tests;
