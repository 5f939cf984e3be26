//! The UDP socket of an endpoint: puts shims before what QUIC sends and takes them off what it receives.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use levelflow_protocols::Kind;
use levelflow_protocols::shim::Shim;
use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use noq::{AsyncUdpSocket, UdpSender};
use tokio::io::Interest;

use super::peer::{Peer, Ruling};
use super::timer::Timer;
use crate::clock::Clock;

/// Most strangers of whom it is remembered which law they speak; then all are forgotten.
const MOST_STRANGERS: usize = 4096;

/// What all parts of an endpoint share.
#[derive(Debug)]
pub(super) struct Core {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    pub timer: Timer,
    pub clock: Clock,
}

impl Core {
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            state: UdpSocketState::new((&socket).into())?,
            io: tokio::net::UdpSocket::from_std(socket)?,
            timer: Timer::start()?,
            clock: Clock::start(),
        })
    }

    pub fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let send = || self.state.try_send((&self.io).into(), transmit);
        self.io.try_io(Interest::WRITABLE, send)
    }
}

#[derive(Debug, Default)]
struct Peers {
    known: HashMap<(IpAddr, u16), Weak<Peer>>,
    /// Which law strangers spoke last.
    strangers: HashMap<(IpAddr, u16), u8>,
}

fn key(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Who is at which address.
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

    fn lock(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The peer at an address; a new one is under the law that `ruling` chooses.
    pub fn register(&self, address: SocketAddr, ruling: Option<Ruling>) -> Arc<Peer> {
        let mut peers = self.lock();
        if let Some(peer) = peers.known.get(&key(address)).and_then(Weak::upgrade) {
            return peer;
        }
        let peer = Peer::new(self.core.clone(), ruling);
        peers.known.retain(|_, peer| peer.strong_count() > 0);
        peers.strangers.remove(&key(address));
        peers.known.insert(key(address), Arc::downgrade(&peer));
        peer
    }

    /// Number of the law that a stranger spoke last.
    pub fn heard(&self, address: SocketAddr) -> Option<u8> {
        self.lock().strangers.get(&key(address)).copied()
    }

    fn find(&self, address: SocketAddr) -> Option<Arc<Peer>> {
        self.lock().known.get(&key(address)).and_then(Weak::upgrade)
    }

    /// Takes the shims off a datagram of nobody known; gives where the rest begins. A peer that moved is found by the number
    /// of its flow.
    fn take(&self, datagram: &[u8], meta: &RecvMeta) -> usize {
        let Ok((shim, _, rest)) = Shim::decode(datagram) else {
            return 0;
        };
        let mut peers = self.lock();
        let moved = peers
            .known
            .values()
            .filter_map(Weak::upgrade)
            .find(|peer| peer.knows(&shim));
        if let Some(peer) = moved {
            peers.known.insert(key(meta.addr), Arc::downgrade(&peer));
            return peer.take(datagram, meta);
        }
        if shim.kind != Kind::Ack {
            if peers.strangers.len() >= MOST_STRANGERS {
                peers.strangers.clear();
            }
            peers.strangers.insert(key(meta.addr), shim.law);
        }
        let rest = match Shim::decode(rest) {
            Ok((_, _, after)) if shim.more => after,
            _ => rest,
        };
        datagram.len() - rest.len()
    }

    /// Takes the shims off all datagrams in a buffer, and closes the gaps. Those that do not fit into what `meta` can say
    /// go to `spill`.
    fn strip(&self, buffer: &mut [u8], meta: &mut RecvMeta, spill: &mut Vec<(RecvMeta, Vec<u8>)>) {
        let peer = self.find(meta.addr);
        let (whole, stride) = (meta.len.min(buffer.len()), meta.stride.max(1));
        let mut fits = Fits::default();
        let mut read = 0;
        while read < whole {
            let end = (read + stride).min(whole);
            let datagram = &buffer[read..end];
            let skip = match &peer {
                Some(peer) => peer.take(datagram, meta),
                None => self.take(datagram, meta),
            };
            let rest = read + skip..end;
            if !rest.is_empty() {
                if fits.takes(rest.len()) {
                    buffer.copy_within(rest.clone(), fits.length);
                    fits.length += rest.len();
                } else {
                    spill.push((alone(meta, rest.len()), buffer[rest].to_vec()));
                }
            }
            read = end;
        }
        (meta.len, meta.stride) = (fits.length, fits.stride);
        if let Some(peer) = peer {
            peer.after_batch();
        }
    }
}

fn alone(meta: &RecvMeta, length: usize) -> RecvMeta {
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

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Socket {
    pub hub: Arc<Hub>,
    spill: Vec<(RecvMeta, Vec<u8>)>,
}

impl Socket {
    pub fn new(hub: Arc<Hub>) -> Self {
        Self { hub, spill: Vec::new() }
    }

    /// Hands out what was kept, as many as fit.
    fn unspill(&mut self, buffers: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> usize {
        let count = self.spill.len().min(buffers.len()).min(meta.len());
        for ((kept, bytes), (buffer, meta)) in self.spill.drain(..count).zip(buffers.iter_mut().zip(meta)) {
            let length = bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&bytes[..length]);
            *meta = alone(&kept, length);
        }
        count
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Outlet {
            hub: self.hub.clone(),
            writable: None,
            laid: Vec::new(),
            segment: None,
            ready: false,
        })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        if !self.spill.is_empty() {
            return Poll::Ready(Ok(self.unspill(buffers, meta)));
        }
        let hub = self.hub.clone();
        let core = &hub.core;
        loop {
            ready!(core.io.poll_recv_ready(cx))?;
            let receive = || core.state.recv((&core.io).into(), buffers, meta);
            match core.io.try_io(Interest::READABLE, receive) {
                Ok(count) => {
                    for (buffer, meta) in buffers.iter_mut().zip(meta.iter_mut()).take(count) {
                        hub.strip(buffer, meta, &mut self.spill);
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.hub.core.io.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.hub.core.state.may_fragment()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.hub.core.state.gro_segments()
    }
}

type Writable = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// Where the datagrams of one connection leave.
struct Outlet {
    hub: Arc<Hub>,
    /// Waits until the socket takes more.
    writable: Option<Writable>,
    /// What is about to leave for the transmit that was offered last, and its segments; valid if `ready`.
    laid: Vec<u8>,
    segment: Option<usize>,
    ready: bool,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outlet")
    }
}

impl UdpSender for Outlet {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let peer = if this.ready {
            None
        } else {
            this.hub.find(transmit.destination)
        };
        if peer.as_ref().is_some_and(|peer| peer.must_wait(transmit, cx.waker())) {
            return Poll::Pending;
        }
        loop {
            if let Some(writable) = &mut this.writable {
                ready!(writable.as_mut().poll(cx))?;
                this.writable = None;
            }
            if !this.ready {
                this.laid.clear();
                this.segment = match &peer {
                    Some(peer) => peer.lay(transmit, &mut this.laid),
                    None => {
                        this.laid.extend_from_slice(transmit.contents);
                        transmit.segment_size
                    }
                };
                this.ready = true;
            }
            let sent = this.hub.core.try_send(&Transmit {
                contents: &this.laid,
                segment_size: this.segment,
                ..*transmit
            });
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let core = this.hub.core.clone();
                    this.writable = Some(Box::pin(async move { core.io.writable().await }));
                }
                // Any other error is as a lost packet: too large for the link, or the way is blocked for now.
                Ok(()) | Err(_) => {
                    this.ready = false;
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.hub.core.state.max_gso_segments()
    }
}
