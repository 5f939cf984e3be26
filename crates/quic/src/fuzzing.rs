//! Entry point of a fuzz target: the path of received bytes, up to the QUIC library.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use noq::udp::RecvMeta;
use tokio::runtime::{Builder, Runtime};

use super::hub::Hub;
use super::peer::{Core, LawConfig, Peer};

/// Endpoint with one peer.
#[derive(Debug)]
pub struct Stripper {
    hub: Arc<Hub>,
    peer: SocketAddr,
    _peer: Arc<Peer>,
    runtime: Runtime,
}

impl Default for Stripper {
    #[expect(clippy::unwrap_used, reason = "only fuzz targets create it, without input")]
    fn default() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let inside = runtime.enter();
        let hub = Hub::new(Arc::new(Core::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap()));
        drop(inside);
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let config = LawConfig {
            params: levelflow_scenario::settings::params("jetmax", &[]).unwrap(),
            values: Vec::new(),
            journal: None,
        };
        let registered = hub.register(peer, Some(config));
        Self {
            hub,
            peer,
            _peer: registered,
            runtime,
        }
    }
}

impl Stripper {
    /// Removes the shims of the datagrams in a buffer. `is_known` selects the peer's address or another one. Returns
    /// the payloads that stay in the buffer, and those that do not fit there.
    #[must_use]
    pub fn strip(&self, mut buffer: Vec<u8>, stride: usize, is_known: bool) -> [Vec<Vec<u8>>; 2] {
        let _inside = self.runtime.enter();
        let mut meta = RecvMeta::default();
        meta.addr = if is_known {
            self.peer
        } else {
            ([127, 0, 0, 2], 9).into()
        };
        (meta.len, meta.stride) = (buffer.len(), stride);
        let mut overflow = Vec::new();
        let (slice, metas) = (IoSliceMut::new(&mut buffer), std::slice::from_mut(&mut meta));
        self.hub.strip(&mut [slice], metas, &mut overflow);
        let stay = buffer[..meta.len].chunks(meta.stride.max(1)).map(<[u8]>::to_vec);
        [stay.collect(), overflow.into_iter().map(|(_, bytes)| bytes).collect()]
    }
}
