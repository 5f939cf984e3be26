//! Endpoints and connections.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use levelflow_laws::{LAWS, LawInfo, explicit_laws, on_the_wire};
use levelflow_wire::shim::MAX_PREFIX_BYTES;
use noq::{EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use super::controller::Factory;
use super::hub::Hub;
use super::identity::{self, Identity, Trust};
use super::limits::DATAGRAM_BYTES;
use super::peer::{Core, LawConfig, Peer, Status};
use super::selector::Control;
use super::socket::Socket;
use levelflow_host::Error;
use levelflow_journal::Journal;
use levelflow_scenario::settings;

/// Idle timeout of connections.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Initial rate of laws that have this parameter: ten packets in 100 ms, as in other QUIC connections. Routers detect a
/// flow by its packets. At a lower rate, full-sized packets would be too rare for this.
const DEFAULT_INITIAL_RATE: &str = "initial_rate=1 Mb/s";
/// Flow-control limit of a connection, in bytes in flight or not yet read: 250 ms at 1 Gb/s.
const RECEIVE_WINDOW_BYTES: u32 = 32 << 20;
/// Flow-control limit of a stream, in bytes; a stream carries at most this amount per round trip. A larger limit would
/// help on long paths. However, noq 1.4 closes a connection if more than 2048 received packets of a stream wait.
/// Packets wait for a missing packet or for a slow reader. Faster transfers need several streams.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;

/// Configuration of an endpoint.
#[derive(Debug, Clone)]
pub struct Config {
    protocol: Vec<u8>,
    identity: Option<Identity>,
    law_config: Option<LawConfig>,
    journal: Option<Journal>,
}

impl Config {
    /// Creates a configuration for a protocol (an ALPN name). It has a new key pair for this process, and no law.
    #[must_use]
    pub fn new(protocol: &[u8]) -> Self {
        Self {
            protocol: protocol.to_vec(),
            identity: None,
            law_config: None,
            journal: None,
        }
    }

    /// Sets the key pair.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Sets a law with router feedback, and some of its parameters, such as `"tau=0.6"`. An endpoint that accepts a
    /// connection sends its ACKs with the signalling of the client. If the law set here has the same signalling, the
    /// endpoint also uses this law for its data. Otherwise, it uses the law with the name of the signalling.
    ///
    /// # Errors
    /// When no law with router feedback has this name, or the law lacks one of the parameters.
    pub fn with_law(mut self, name: &str, sets: &[String]) -> Result<Self, Error> {
        self.law_config = Some(self.rule(law_named(name)?, sets)?);
        Ok(self)
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
        let first = begins.then(|| DEFAULT_INITIAL_RATE.to_owned());
        // Later settings override earlier ones.
        let sets: Vec<String> = first.into_iter().chain(sets.iter().cloned()).collect();
        Ok(LawConfig {
            params: settings::params(law.name, &sets).map_err(Error::input)?,
            values: settings::values(law.name, &sets).map_err(Error::input)?,
            journal: self.journal.clone(),
        })
    }

    /// Returns the law for an incoming connection whose signalling has this number. This is the configured law if it
    /// has this signalling. Otherwise, it is the law with the name of the signalling.
    fn config_for(&self, number: u8) -> Option<LawConfig> {
        let own = self.law_config.as_ref();
        if let Some(own) = own.filter(|own| own.params.law().signalling.number == number) {
            return Some(own.clone());
        }
        let signalling = on_the_wire().find(|own| own.number == number)?;
        let law = LAWS.iter().find(|law| law.name == signalling.name)?;
        self.rule(law, &[]).ok()
    }
}

/// Returns the law with router feedback of this name.
fn law_named(name: &str) -> Result<&'static LawInfo, Error> {
    explicit_laws().find(|law| law.name == name).ok_or_else(|| {
        let allowed = settings::law_names(|law| law.signalling.is_explicit());
        Error::input(format!("{name}: not a law with router feedback (allowed: {allowed})"))
    })
}

fn transport(peer: Arc<Peer>, under_law: bool) -> Arc<TransportConfig> {
    let mut mtu = MtuDiscoveryConfig::default();
    // Shim and header are added to this size. The limit leaves room for the header of any law, because the other end
    // may choose the law.
    mtu.upper_bound(DATAGRAM_BYTES);
    let mut transport = TransportConfig::default();
    transport
        .mtu_discovery_config(Some(mtu))
        .max_idle_timeout(IdleTimeout::try_from(IDLE_TIMEOUT).ok())
        .keep_alive_interval(Some(IDLE_TIMEOUT / 4))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .send_window(RECEIVE_WINDOW_BYTES.into());
    if under_law {
        transport.congestion_controller_factory(Arc::new(Factory(peer)));
    }
    Arc::new(transport)
}

/// QUIC endpoint on a UDP socket, which opens and accepts connections. It needs a tokio runtime.
#[derive(Debug)]
pub struct Endpoint {
    inner: noq::Endpoint,
    hub: Arc<Hub>,
    config: Config,
    identity: Identity,
    server: Option<noq::ServerConfig>,
}

impl Endpoint {
    /// Opens the socket. If `admit` is given, the endpoint accepts connections from these peers.
    ///
    /// # Errors
    /// When the address is unavailable.
    pub fn bind(address: SocketAddr, config: Config, admit: Option<Trust>) -> Result<Self, Error> {
        let identity = match &config.identity {
            Some(identity) => identity.clone(),
            None => Identity::generate()?,
        };
        let failed = |e: std::io::Error| Error::failed(format!("UDP {address}: {e}"));
        let socket = std::net::UdpSocket::bind(address).map_err(failed)?;
        let buffers = socket2::SockRef::from(&socket);
        // The system may limit these sizes.
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
            .max_udp_payload_size(DATAGRAM_BYTES + 2 * MAX_PREFIX_BYTES as u16)
            .map_err(Error::failed)?;
        let runtime = Arc::new(noq::TokioRuntime);
        let hub = Hub::new(Arc::new(Core::new(socket).map_err(failed)?));
        let wrapper = Box::new(Socket::new(Arc::clone(&hub)));
        let inner = noq::Endpoint::new_with_abstract_socket(endpoint, server.clone(), wrapper, runtime);
        Ok(Self {
            inner: inner.map_err(failed)?,
            hub,
            config,
            identity,
            server,
        })
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// When the system does not return the address.
    pub fn local_address(&self) -> Result<SocketAddr, Error> {
        self.inner.local_addr().map_err(Error::failed)
    }

    /// Returns the key pair.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Connects to a trusted server at this address.
    ///
    /// # Errors
    /// When no server replies, or its key is not trusted.
    pub async fn connect(&self, address: SocketAddr, trust: Trust) -> Result<Connection, Error> {
        let named = |e: &dyn fmt::Display| Error::failed(format!("{address}: {e}"));
        let law_config = self.config.law_config.clone();
        let under_law = law_config.is_some();
        let peer = self.hub.register(address, law_config);
        let tls = identity::client(&self.identity, trust, &self.config.protocol)?;
        let mut config = noq::ClientConfig::new(tls);
        config.transport_config(transport(Arc::clone(&peer), under_law));
        let connecting = self
            .hub
            .open(&peer, || self.inner.connect_with(config, address, "levelflow"));
        let connected = connecting.map_err(|e| named(&e))?.await;
        let inner = connected.map_err(|e| match e {
            noq::ConnectionError::TimedOut => named(&format!("no reply for {} s", IDLE_TIMEOUT.as_secs())),
            e => named(&e),
        })?;
        Ok(Connection { inner, peer })
    }

    /// Waits for the next client; returns `None` when the endpoint is closed.
    pub async fn accept(&self) -> Option<Arrival> {
        let incoming = self.inner.accept().await?;
        let server = self.server.clone()?;
        let address = incoming.remote_address();
        let law_config = self
            .hub
            .signalling_of(address)
            .and_then(|number| self.config.config_for(number));
        Some(Arrival {
            incoming,
            server,
            law_config,
            hub: Arc::clone(&self.hub),
        })
    }
}

/// Client that requests a connection.
#[derive(Debug)]
pub struct Arrival {
    incoming: noq::Incoming,
    server: noq::ServerConfig,
    law_config: Option<LawConfig>,
    hub: Arc<Hub>,
}

impl Arrival {
    /// Accepts the connection.
    ///
    /// # Errors
    /// When the client is not admitted, or the handshake fails.
    pub async fn finish(self) -> Result<Connection, Error> {
        let address = self.incoming.remote_address();
        let named = |e: &dyn fmt::Display| Error::failed(format!("{address}: {e}"));
        let under_law = self.law_config.is_some();
        let peer = self.hub.register(address, self.law_config);
        let mut server = self.server;
        server.transport_config(transport(Arc::clone(&peer), under_law));
        let connecting = self.hub.open(&peer, || self.incoming.accept_with(Arc::new(server)));
        let connecting = connecting.map_err(|e| named(&e))?;
        let inner = connecting.await.map_err(|e| named(&e))?;
        Ok(Connection { inner, peer })
    }
}

/// Connection whose rate the network sets.
#[derive(Debug, Clone)]
pub struct Connection {
    inner: noq::Connection,
    peer: Arc<Peer>,
}

impl Connection {
    /// Returns the underlying `noq` connection, with its streams and statistics.
    #[must_use]
    pub fn quic(&self) -> &noq::Connection {
        &self.inner
    }

    /// Returns the state of the law and its feedback; `None` without a law.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.peer.status()
    }

    /// Returns the active controller of the sending rate.
    #[must_use]
    pub fn control(&self) -> Verdict {
        Verdict {
            control: self.peer.control(),
            law: self.peer.law(),
        }
    }

    /// Closes the connection.
    pub fn close(&self) {
        self.inner.close(VarInt::from_u32(0), b"done");
    }
}

/// Active controller of a connection, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Controller.
    pub control: Control,
    /// Name of the law, if the connection has a law.
    pub law: Option<&'static str>,
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
                    "{law}, and cubic below it (packets are lost at a queue without a router of {law})"
                )
            }
        }
    }
}
