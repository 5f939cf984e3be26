//! Demultiplexes datagrams: removes the shims and passes each shim to its peer.
//!
//! An ACK contains the number of a flow, which selects the peer that receives this flow. The source address of the ACK
//! has no effect. Data is passed to the peer at its source address. If no peer has this address, the sender may have
//! moved. Data is then passed to the peer from which the same flow arrived before.
//!
//! Any host can send shims from any address, so tables are bounded. Each connection adds one row. Datagrams of unknown
//! senders add a limited number of rows.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};

use levelflow_laws::Kind;
use levelflow_wire::shim::Shim;
use noq::udp::RecvMeta;

use super::flows::lock;
use super::peer::{Core, LawConfig, Peer};

/// Limit on unknown senders whose signalling is recorded. The table is cleared when it reaches this size.
const MAX_STRANGERS: usize = 4096;

type Address = (IpAddr, u16);

fn key(address: SocketAddr) -> Address {
    (address.ip().to_canonical(), address.port())
}

#[derive(Debug, Default)]
struct Peers {
    /// Peers by address, one peer per connection, in order of registration.
    known: HashMap<Address, Vec<Weak<Peer>>>,
    /// Number of the latest signalling of each unknown sender.
    strangers: HashMap<Address, u8>,
    /// Peer of the connection that [`Hub::open`] is opening.
    opening: Option<Arc<Peer>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Hub {
    pub core: Arc<Core>,
    peers: Mutex<Peers>,
    /// Lock that is held while a connection is opened.
    turn: Mutex<()>,
}

impl Hub {
    pub fn new(core: Arc<Core>) -> Arc<Self> {
        let (peers, turn) = (Mutex::default(), Mutex::default());
        Arc::new(Self { core, peers, turn })
    }

    /// Creates the peer for a connection with this address. `law_config` selects its law.
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

    /// Runs a closure that opens the connection of a peer. Connections open one after another, because the QUIC library
    /// does not pass the connection to [`opening`](Self::opening).
    pub fn open<T>(&self, peer: &Arc<Peer>, connect: impl FnOnce() -> T) -> T {
        let _turn = lock(&self.turn);
        lock(&self.peers).opening = Some(Arc::clone(peer));
        let connection = connect();
        lock(&self.peers).opening = None;
        connection
    }

    /// Returns the peer of the connection that is being opened; `None` for the endpoint itself.
    pub fn opening(&self) -> Option<Arc<Peer>> {
        lock(&self.peers).opening.clone()
    }

    /// Returns the number of the signalling in the latest shim of an unknown sender.
    pub fn signalling_of(&self, address: SocketAddr) -> Option<u8> {
        lock(&self.peers).strangers.get(&key(address)).copied()
    }

    fn at(&self, address: SocketAddr) -> Option<Arc<Peer>> {
        let peers = lock(&self.peers);
        peers.known.get(&key(address))?.iter().find_map(Weak::upgrade)
    }

    /// Processes the shims of a datagram; returns the offset of the payload. `here` is the peer at the source address
    /// of the datagram.
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
            self.note(meta.addr, shim.signalling);
        }
        if shim.more
            && let Ok((second, header, after)) = Shim::decode(rest)
        {
            // A valid second shim is an ACK. Any other shim is removed, too, but has no effect.
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

    fn note(&self, stranger: SocketAddr, signalling: u8) {
        let strangers = &mut lock(&self.peers).strangers;
        if strangers.len() >= MAX_STRANGERS {
            strangers.clear();
        }
        strangers.insert(key(stranger), signalling);
    }

    /// Removes the shims of all datagrams in received buffers, and closes the gaps. The datagrams of a buffer must then
    /// have equal lengths, except for a shorter last datagram. Datagrams that do not fit this rule go to `overflow`.
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

    /// Removes the shims in one buffer; returns the peer at the source address of the buffer.
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

/// Returns the metadata of a buffer with one datagram of this length.
pub(super) fn alone(meta: &RecvMeta, length: usize) -> RecvMeta {
    let mut alone = *meta;
    (alone.len, alone.stride) = (length, length);
    alone
}

/// Check that datagrams fit into one buffer. All datagrams must have the same length, but the last datagram may be
/// shorter.
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
