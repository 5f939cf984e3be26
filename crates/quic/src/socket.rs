//! UDP socket of an endpoint: adds shims to outgoing QUIC datagrams and removes them from incoming datagrams.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, UdpSender};

use super::hub::{Hub, alone};
use super::peer::{Core, Peer};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Socket {
    pub hub: Arc<Hub>,
    overflow: Vec<(RecvMeta, Vec<u8>)>,
}

impl Socket {
    pub fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            overflow: Vec::new(),
        }
    }

    /// Moves datagrams from the overflow to the buffers, as many as fit; returns their number.
    fn take_overflow(&mut self, buffers: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> usize {
        let count = self.overflow.len().min(buffers.len()).min(meta.len());
        for ((kept, bytes), (buffer, meta)) in self.overflow.drain(..count).zip(buffers.iter_mut().zip(meta)) {
            let length = bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&bytes[..length]);
            *meta = alone(&kept, length);
        }
        count
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(PeerSender {
            core: Arc::clone(&self.hub.core),
            peer: self.hub.opening(),
            writable: None,
            encoded: Vec::new(),
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
        if !self.overflow.is_empty() {
            return Poll::Ready(Ok(self.take_overflow(buffers, meta)));
        }
        let hub = Arc::clone(&self.hub);
        let core = &hub.core;
        loop {
            ready!(core.io.socket.poll_recv_ready(cx))?;
            match core.io.try_receive(buffers, meta) {
                Ok(count) => {
                    hub.strip(&mut buffers[..count], &mut meta[..count], &mut self.overflow);
                    return Poll::Ready(Ok(count));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.hub.core.io.socket.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.hub.core.io.state.may_fragment()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.hub.core.io.state.gro_segments()
    }
}

type Writable = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// Sender of one connection's datagrams.
struct PeerSender {
    core: Arc<Core>,
    /// Peer; `None` for datagrams of the endpoint itself to hosts that are not connected.
    peer: Option<Arc<Peer>>,
    /// Future that waits until the socket is writable.
    writable: Option<Writable>,
    /// Encoded form of the latest transmit, and its segment size; valid if `ready`.
    encoded: Vec<u8>,
    segment: Option<usize>,
    ready: bool,
}

impl std::fmt::Debug for PeerSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PeerSender")
    }
}

impl UdpSender for PeerSender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(peer) = this.peer.as_ref().filter(|_| !this.ready)
            && peer.must_wait(transmit, cx.waker())
        {
            return Poll::Pending;
        }
        loop {
            if let Some(writable) = &mut this.writable {
                ready!(writable.as_mut().poll(cx))?;
                this.writable = None;
            }
            if !this.ready {
                this.encoded.clear();
                this.segment = if let Some(peer) = &this.peer {
                    peer.encode(transmit, &mut this.encoded)
                } else {
                    this.encoded.extend_from_slice(transmit.contents);
                    transmit.segment_size
                };
                this.ready = true;
            }
            let sent = this.core.io.try_send(&Transmit {
                contents: &this.encoded,
                segment_size: this.segment,
                ..*transmit
            });
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let core = Arc::clone(&this.core);
                    this.writable = Some(Box::pin(async move { core.io.socket.writable().await }));
                }
                // Any other error counts as a lost packet. The packet was too large for the link, or the path is
                // temporarily blocked.
                Ok(()) | Err(_) => {
                    this.ready = false;
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.core.io.state.max_gso_segments()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Verifies that datagrams of the overflow come out in order and once, as far as they fit.
        #[test]
        fn spilled_datagrams_are_delivered_once(
            lengths in prop::collection::vec(1_usize..300, 0..20),
            rooms in prop::collection::vec(0_usize..300, 1..5),
            metas in 1_usize..5,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _inside = runtime.enter();
            let own = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut socket = Socket::new(Hub::new(Arc::new(Core::new(own).unwrap())));
            let overflowed = lengths.iter().enumerate().map(|(i, length)| (RecvMeta::default(), vec![i as u8; *length]));
            socket.overflow.extend(overflowed);
            let mut next = 0;
            while next < lengths.len() {
                let mut buffers: Vec<Vec<u8>> = rooms.iter().map(|room| vec![255; *room]).collect();
                let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
                let mut meta = vec![RecvMeta::default(); metas];
                let count = socket.take_overflow(&mut slices, &mut meta);
                prop_assert!((1..=rooms.len().min(metas)).contains(&count));
                for (meta, buffer) in meta.iter().zip(&buffers).take(count) {
                    prop_assert_eq!(meta.len, lengths[next].min(buffer.len()));
                    prop_assert_eq!(meta.stride, meta.len);
                    prop_assert!(buffer[..meta.len].iter().all(|byte| usize::from(*byte) == next));
                    next += 1;
                }
            }
            prop_assert!(socket.overflow.is_empty());
        }
    }
}
