//! Endpoints and connections.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use levelflow_laws::{LAWS, LawInfo};
use levelflow_units::Rate;
use levelflow_wire::shim::LONGEST;
use noq::{EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use rustls::pki_types::CertificateDer;

use super::controller::Factory;
use super::hub::Hub;
use super::identity::{self, Fingerprint, Identity, Trust};
use super::limits::DATAGRAM;
use super::peer::{Core, LawConfig, Peer, Status};
use super::selector::Control;
use super::socket::{Socket, on_behalf_of};
use levelflow_host::Error;
use levelflow_host::journal::Journal;

/// Nothing heard for this long ends a connection.
const IDLE: Duration = Duration::from_secs(10);
/// Where a law leaves the first rate to its user, that of ten packets in 100 ms, as other QUIC connections begin: with packets of
/// full size, a router would see too few of slower flows to count them.
const BEGIN: &str = "initial_rate=1 Mb/s";
/// Data of all streams that may be under way or wait to be read: 1 Gb/s over 250 ms.
const BUFFER: u32 = 32 << 20;
/// Data of one stream. More would be better on long paths, but noq 1.4 gives a connection up when more than 2048 packets of
/// a stream wait, be it behind a gap or for a slow reader. So a stream moves no more than this per round trip, and what is to
/// be faster takes several.
pub const STREAM: u32 = 2 << 20;
/// Streams that the other end may have open: 64 files over 16 each, and some to ask.
const STREAMS: u32 = 1100;

/// How an endpoint behaves.
#[derive(Debug, Clone)]
pub struct Config {
    protocol: Vec<u8>,
    identity: Option<Identity>,
    law_config: Option<LawConfig>,
    max_rate: Option<Rate>,
    journal: Option<Journal>,
    /// Datagrams pass the library's own socket: no shims, whatever the law.
    bare: bool,
}

impl Config {
    /// For connections of that protocol (an ALPN name): with a key of this process, and without a law.
    #[must_use]
    pub fn new(protocol: &[u8]) -> Self {
        Self {
            protocol: protocol.to_vec(),
            identity: None,
            law_config: None,
            max_rate: None,
            journal: None,
            bare: false,
        }
    }

    /// As the library is without us, to compare with.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// With that key.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Under a law that routers speak, with some of its parameters set: `"tau=0.6"`. Who accepts ACKs in the law of who
    /// connects.
    ///
    /// # Errors
    /// When no law of that name speaks to routers, or it has no such parameters.
    pub fn with_law(mut self, name: &str, sets: &[String]) -> Result<Self, Error> {
        self.law_config = Some(self.rule(levelflow_host::law::for_router(name)?, sets)?);
        Ok(self)
    }

    /// Whatever routers say, no faster than this.
    #[must_use]
    pub fn with_max_rate(mut self, rate: Option<Rate>) -> Self {
        self.max_rate = rate;
        if let Some(law_config) = &mut self.law_config {
            law_config.max_rate = rate;
        }
        self
    }

    /// Logs the inputs of the laws of all connections.
    #[must_use]
    pub fn with_journal(mut self, journal: Option<Journal>) -> Self {
        self.journal.clone_from(&journal);
        if let Some(law_config) = &mut self.law_config {
            law_config.journal = journal;
        }
        self
    }

    fn rule(&self, law: &LawInfo, sets: &[String]) -> Result<LawConfig, Error> {
        let begins = law.params.iter().any(|spec| spec.name == "initial_rate");
        let first = begins.then(|| BEGIN.to_owned());
        // What is set later counts.
        let sets: Vec<String> = first.into_iter().chain(sets.iter().cloned()).collect();
        Ok(LawConfig {
            params: levelflow_host::law::params(law.name, &sets)?,
            values: levelflow_host::law::values(law.name, &sets)?,
            max_rate: self.max_rate,
            journal: self.journal.clone(),
        })
    }

    /// For an incoming connection under the law of that number.
    fn ruling_for(&self, law: u8) -> Option<LawConfig> {
        if let Some(own) = self.law_config.as_ref().filter(|r| r.params.law().number == law) {
            return Some(own.clone());
        }
        let law = LAWS.iter().find(|l| l.number == law && law != 0)?;
        self.rule(law, &[]).ok()
    }
}

fn transport(peer: Arc<Peer>, under_law: bool) -> Arc<TransportConfig> {
    let mut mtu = MtuDiscoveryConfig::default();
    // Shim and header come on top, of any law: the other end may choose which.
    mtu.upper_bound(DATAGRAM);
    let mut transport = TransportConfig::default();
    transport
        .mtu_discovery_config(Some(mtu))
        .max_idle_timeout(IdleTimeout::try_from(IDLE).ok())
        .keep_alive_interval(Some(IDLE / 4))
        .stream_receive_window(VarInt::from_u32(STREAM))
        .receive_window(VarInt::from_u32(BUFFER))
        .send_window(BUFFER.into())
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS));
    if under_law {
        transport.congestion_controller_factory(Arc::new(Factory(peer)));
    }
    Arc::new(transport)
}

/// A UDP socket that connects and accepts. It lives in a runtime of tokio.
#[derive(Debug)]
pub struct Endpoint {
    inner: noq::Endpoint,
    hub: Arc<Hub>,
    config: Config,
    identity: Identity,
    server: Option<noq::ServerConfig>,
}

impl Endpoint {
    /// Opens the socket. If `admit` is given, it accepts connections of those.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn bind(address: SocketAddr, config: Config, admit: Option<Trust>) -> Result<Self, Error> {
        let identity = match &config.identity {
            Some(identity) => identity.clone(),
            None => Identity::generate()?,
        };
        let failed = |e: std::io::Error| Error::failed(format!("UDP {address}: {e}"));
        let socket = std::net::UdpSocket::bind(address).map_err(failed)?;
        let buffers = socket2::SockRef::from(&socket);
        // As much as the system allows.
        let _ = buffers.set_recv_buffer_size(8 << 20);
        let _ = buffers.set_send_buffer_size(8 << 20);
        let server = match admit {
            None => None,
            Some(trust) => {
                let tls = identity::server(&identity, trust, &config.protocol)?;
                Some(noq::ServerConfig::with_crypto(tls))
            }
        };
        let mut endpoint = EndpointConfig::default();
        endpoint
            .max_udp_payload_size(DATAGRAM + 2 * LONGEST as u16)
            .map_err(Error::failed)?;
        let runtime = Arc::new(noq::TokioRuntime);
        let (inner, hub) = if config.bare {
            // Peers need a socket to send ACKs; there will be none.
            let unused = std::net::UdpSocket::bind((address.ip(), 0)).map_err(failed)?;
            let hub = Hub::new(Arc::new(Core::new(unused).map_err(failed)?));
            (noq::Endpoint::new(endpoint, server.clone(), socket, runtime), hub)
        } else {
            let hub = Hub::new(Arc::new(Core::new(socket).map_err(failed)?));
            let wrapper = Box::new(Socket::new(Arc::clone(&hub)));
            let inner = noq::Endpoint::new_with_abstract_socket(endpoint, server.clone(), wrapper, runtime);
            (inner, hub)
        };
        Ok(Self {
            inner: inner.map_err(failed)?,
            hub,
            config,
            identity,
            server,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_address(&self) -> Result<SocketAddr, Error> {
        self.inner.local_addr().map_err(Error::failed)
    }

    /// Its key.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Connects to whom we trust at that address.
    ///
    /// # Errors
    /// When no server replies, or one with another key.
    pub async fn connect(&self, address: SocketAddr, trust: Trust) -> Result<Connection, Error> {
        let named = |e: &dyn fmt::Display| Error::failed(format!("{address}: {e}"));
        let law_config = self.config.law_config.clone();
        let under_law = law_config.is_some();
        let peer = self.hub.register(address, law_config);
        let tls = identity::client(&self.identity, trust, &self.config.protocol)?;
        let mut config = noq::ClientConfig::new(tls);
        config.transport_config(transport(Arc::clone(&peer), under_law));
        let connecting = on_behalf_of(&peer, || self.inner.connect_with(config, address, "levelflow"));
        let connected = connecting.map_err(|e| named(&e))?.await;
        let inner = connected.map_err(|e| match e {
            noq::ConnectionError::TimedOut => named(&format!("no reply for {} s", IDLE.as_secs())),
            e => named(&e),
        })?;
        Ok(Connection { inner, peer })
    }

    /// The next who wants to connect; none when the endpoint is closed.
    pub async fn accept(&self) -> Option<Arrival> {
        let incoming = self.inner.accept().await?;
        let server = self.server.clone()?;
        let address = incoming.remote_address();
        let law_config = self.hub.heard(address).and_then(|law| self.config.ruling_for(law));
        Some(Arrival {
            incoming,
            server,
            law_config,
            hub: Arc::clone(&self.hub),
        })
    }

    /// Ends all connections.
    pub fn close(&self) {
        self.inner.close(VarInt::from_u32(0), b"closed");
    }

    /// Waits until all peers have been notified.
    pub async fn finish(&self) {
        self.inner.wait_idle().await;
    }
}

/// A client that wants to connect.
#[derive(Debug)]
pub struct Arrival {
    incoming: noq::Incoming,
    server: noq::ServerConfig,
    law_config: Option<LawConfig>,
    hub: Arc<Hub>,
}

impl Arrival {
    /// From where.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.incoming.remote_address()
    }

    /// Whether it has shown that it receives what is sent to its address. Until then, another host may have sent this in its
    /// name.
    #[must_use]
    pub fn is_validated(&self) -> bool {
        self.incoming.remote_address_validated()
    }

    /// Lets it show that it receives what is sent to its address, and then come again, [validated](Self::is_validated). Keeps
    /// nothing here.
    pub fn retry(self) {
        if let Err(error) = self.incoming.retry() {
            error.into_incoming().refuse();
        }
    }

    /// Turns it away.
    pub fn refuse(self) {
        self.incoming.refuse();
    }

    /// Lets it in.
    ///
    /// # Errors
    /// When it is not one of those admitted, or goes away.
    pub async fn finish(self) -> Result<Connection, Error> {
        let address = self.incoming.remote_address();
        let named = |e: &dyn fmt::Display| Error::failed(format!("{address}: {e}"));
        let under_law = self.law_config.is_some();
        let peer = self.hub.register(address, self.law_config);
        let mut server = self.server;
        server.transport_config(transport(Arc::clone(&peer), under_law));
        let connecting = on_behalf_of(&peer, || self.incoming.accept_with(Arc::new(server)));
        let connecting = connecting.map_err(|e| named(&e))?;
        let inner = connecting.await.map_err(|e| named(&e))?;
        Ok(Connection { inner, peer })
    }
}

/// A connection whose rate the network sets.
#[derive(Debug, Clone)]
pub struct Connection {
    inner: noq::Connection,
    peer: Arc<Peer>,
}

impl Connection {
    /// Streams, statistics and the rest, as `noq` has them.
    #[must_use]
    pub fn quic(&self) -> &noq::Connection {
        &self.inner
    }

    /// Key of the other end, if it showed one.
    #[must_use]
    pub fn peer_key(&self) -> Option<Fingerprint> {
        let identity = self.inner.peer_identity()?;
        let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        chain.first().map(|key| Fingerprint::of(key))
    }

    /// What the network has said of what we send; none without a law.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.peer.status()
    }

    /// Who sets the rate of what we send.
    #[must_use]
    pub fn control(&self) -> Verdict {
        Verdict {
            control: self.peer.control(),
            law: self.peer.law(),
        }
    }

    /// Ends the connection.
    pub fn close(&self) {
        self.inner.close(VarInt::from_u32(0), b"done");
    }
}

/// Who sets the rate of a connection, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Who.
    pub control: Control,
    /// Name of the law, if there is one.
    pub law: Option<&'static str>,
}

impl Verdict {
    /// As short as it can be said.
    #[must_use]
    pub fn short(&self) -> String {
        match (self.control, self.law) {
            (Control::Law, Some(law)) => law.to_owned(),
            (Control::Both, Some(law)) => format!("{law}, cubic"),
            _ => "cubic".to_owned(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.control, self.law) {
            (_, None) => f.write_str("cubic"),
            (Control::Law, Some(law)) => f.write_str(law),
            (Control::Standard, Some(law)) => write!(f, "cubic (no router of {law} on the path)"),
            (Control::Both, Some(law)) => {
                write!(
                    f,
                    "{law}, and cubic below it (packets are lost where no router of {law} looks after the queue)"
                )
            }
        }
    }
}
