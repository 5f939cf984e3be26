//! Relay: a router that needs no privileges. A relay forwards UDP datagrams. It is the bottleneck of their path, and
//! runs the law there.
//!
//! The relay runs in one thread, which sleeps until a datagram arrives or a timer expires. In the last microseconds
//! before a timer, the thread polls the clock, because a sleep would end too late.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration as Span;

use levelflow_units::{Duration, Time};
use rustix::event::epoll;

use super::capacity::CapacityFile;
use super::clients::{Clients, Lookup};
use super::direction::{Bottleneck, Direction, Packet};
use super::logging::Logging;
use super::snapshot::{Board, Snapshot};
use levelflow_host::batch::{self, Batch, Origin};
use levelflow_host::clock::{Clock, timespec};
use levelflow_host::stop::Stop;
use levelflow_host::{Error, sys};

/// Limit on the time for which the thread polls the clock instead of sleeping. A sleep and wake-up take about this
/// time.
const SPIN_BELOW: Span = Span::from_micros(15);
/// Time between two snapshots, and between two readings of the capacity file.
const STATUS_INTERVAL: Duration = Duration::from_ms(50);
/// Time between two scans for idle clients.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Requested size of the socket's receive buffer, bytes. The buffer holds datagrams while the relay is busy.
const SOCKET_BUFFER: usize = 4 << 20;

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// Configuration of a relay.
#[derive(Debug)]
pub struct Config {
    /// Address at which the relay receives datagrams of clients.
    pub listen: SocketAddr,
    /// Address of the server.
    pub to: SocketAddr,
    /// Bottleneck towards the server.
    pub forward: Bottleneck,
    /// Bottleneck towards clients; `None` if only the other direction has a bottleneck.
    pub backward: Option<Bottleneck>,
    /// Propagation delay of each direction.
    pub delay: Duration,
    /// File with the rate of both bottlenecks; `None` if the rate is constant.
    pub capacity: Option<CapacityFile>,
    /// Identifier of the router in headers, at least 1.
    pub id: u32,
}

/// Relay with a bound socket.
pub struct Relay {
    listener: UdpSocket,
    epoll: OwnedFd,
    clock: Clock,
    clients: Clients,
    forward: Direction,
    backward: Direction,
    place: String,
    turned_away: u64,
    unsent: u64,
    capacity: Option<CapacityFile>,
}

impl Relay {
    /// Creates a relay, and binds its socket.
    ///
    /// # Errors
    /// When the address is in use, or does not belong to this machine.
    pub fn bind(config: Config) -> Result<Self, Error> {
        let Config { listen, to, .. } = config;
        let listener = UdpSocket::bind(listen).map_err(|e| Error::failed(format!("--relay {listen}: {e}")))?;
        let cannot = |e: std::io::Error| Error::failed(format!("--relay {listen}: {e}"));
        listener.set_nonblocking(true).map_err(cannot)?;
        // The system may grant a smaller buffer. A relay that is not overloaded needs no larger buffer.
        let _ = socket2::SockRef::from(&listener).set_recv_buffer_size(SOCKET_BUFFER);
        let address = listener.local_addr().map_err(cannot)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| cannot(e.into()))?;
        watch(&epoll, &listener, LISTENER).map_err(|e| cannot(e.into()))?;
        let clock = Clock::start();
        let now = clock.now();
        Ok(Self {
            listener,
            epoll,
            clock,
            clients: Clients::new(to),
            forward: Direction::new(Some(config.forward), config.id, config.delay, to.is_ipv6(), now),
            backward: Direction::new(config.backward, config.id, config.delay, listen.is_ipv6(), now),
            place: format!("{address} to {to}"),
            turned_away: 0,
            unsent: 0,
            capacity: config.capacity,
        })
    }

    /// Returns the address of the socket. If no port was given, the address contains the port that the system chose.
    ///
    /// # Errors
    /// When the system does not return the address.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr().map_err(Error::failed)
    }

    /// Adds a log of the laws' inputs.
    #[must_use]
    pub fn logged(mut self, logging: Option<&Logging>) -> Self {
        if let Some(logging) = logging {
            self.forward.log(logging);
            self.backward.log(logging);
        }
        self
    }

    /// Polices the headers at both bottlenecks.
    #[must_use]
    pub fn policed(mut self) -> Self {
        self.forward.police(secret());
        self.backward.police(secret());
        self
    }

    /// Forwards datagrams until `stop` is set.
    ///
    /// # Errors
    /// When waiting for sockets fails.
    pub fn run(mut self, stop: &Stop, board: &Board) -> Result<(), Error> {
        let failed = |e: rustix::io::Errno| Error::failed(format!("relay: {e}"));
        watch(&self.epoll, stop, STOP).map_err(failed)?;
        sys::sharp_timers();
        let (mut from_clients, mut from_server) = (Batch::default(), Batch::default());
        let mut events = Vec::with_capacity(64);
        let (mut post, mut sweep) = (Time::ZERO, Time::ZERO + SWEEP_INTERVAL);
        loop {
            let now = self.clock.now();
            self.advance(now, &mut from_clients);
            if now >= post {
                self.follow(now);
                board.post(self.snapshot(now));
                post = now + STATUS_INTERVAL;
            }
            if now >= sweep {
                self.clients.expire(now);
                sweep = now + SWEEP_INTERVAL;
            }
            let due = [self.forward.poll_timeout(), self.backward.poll_timeout()]
                .into_iter()
                .flatten()
                .fold(post.min(sweep), Time::min);
            let left = self.clock.until(due);
            let timeout = if left < SPIN_BELOW { Span::ZERO } else { left };
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&timespec(timeout)),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
            for event in &events {
                match event.data.u64() {
                    STOP => {
                        board.post_last(self.snapshot(self.clock.now()));
                        return Ok(());
                    }
                    LISTENER => self.receive_from_clients(&mut from_clients),
                    client => self.receive_from_server(client as u32, &mut from_server),
                }
            }
        }
    }

    fn follow(&mut self, now: Time) {
        if let Some(rate) = self.capacity.as_mut().and_then(CapacityFile::poll) {
            self.forward.set_capacity(now, rate);
            self.backward.set_capacity(now, rate);
        }
    }

    /// Receives datagrams from clients.
    fn receive_from_clients(&mut self, batch: &mut Batch) {
        let now = self.clock.now();
        let Self {
            listener,
            epoll,
            clients,
            forward,
            turned_away,
            ..
        } = self;
        let take = |payload: &mut [u8], Origin { from, .. }: Origin| {
            let number = match from.map(|from| clients.enter(now, from)) {
                Some(Lookup::Known(number)) => number,
                Some(Lookup::New(number)) => {
                    if let Some(client) = clients.get(number) {
                        // After a failure, only the ACKs of this client are lost. This is not an error of the relay.
                        let _ = watch(epoll, &client.socket, number.into());
                    }
                    number
                }
                Some(Lookup::Full) | None => {
                    *turned_away += 1;
                    return;
                }
            };
            forward.handle_input(now, payload, number);
        };
        // An error concerns an earlier datagram, whose client is gone.
        let _ = batch.receive(listener, take);
    }

    /// Receives datagrams from the server to a client.
    fn receive_from_server(&mut self, number: u32, batch: &mut Batch) {
        let now = self.clock.now();
        let Self { clients, backward, .. } = self;
        clients.mark_active(now, number);
        let Some(client) = clients.get(number) else { return };
        let take = |payload: &mut [u8], _| {
            backward.handle_input(now, payload, number);
        };
        // An error means that the port of the server is currently closed.
        let _ = batch.receive(&client.socket, take);
    }

    /// Advances both directions to `now`. Sends the datagrams that have reached the end of the path.
    fn advance(&mut self, now: Time, batch: &mut Batch) {
        self.forward.handle_timeout(now);
        self.backward.handle_timeout(now);
        let ready: Vec<Packet> = std::iter::from_fn(|| self.forward.poll_output(now)).collect();
        for run in ready.chunk_by(|a, b| a.client == b.client) {
            let Some(client) = self.clients.get(run[0].client) else {
                continue;
            };
            for some in run.chunks(batch::MAX_BATCH) {
                let datagrams = some.iter().map(|p| (&p.payload[..], None));
                self.unsent += batch.send(&client.socket, datagrams) as u64;
            }
        }
        self.forward.recycle(ready);
        let ready: Vec<Packet> = std::iter::from_fn(|| self.backward.poll_output(now)).collect();
        for some in ready.chunks(batch::MAX_BATCH) {
            let address = |p: &Packet| self.clients.get(p.client).map(|c| c.address);
            let datagrams = some.iter().filter_map(|p| Some((&p.payload[..], Some(address(p)?))));
            self.unsent += batch.send(&self.listener, datagrams) as u64;
        }
        self.backward.recycle(ready);
    }

    fn snapshot(&mut self, now: Time) -> Snapshot {
        let backlog = self.forward.backlog(now);
        let port = self.forward.port();
        let mut snapshot = port.map_or_else(Snapshot::default, |port| Snapshot::of(port, &self.place, now, backlog));
        snapshot.clients = Some(self.clients.len() as u64);
        snapshot.unsent = self.unsent;
        snapshot.turned_away = self.turned_away;
        snapshot
    }
}

/// Returns a number that other processes cannot predict.
fn secret() -> u64 {
    RandomState::new().hash_one(0)
}

fn watch(epoll: &OwnedFd, what: impl AsFd, number: u64) -> rustix::io::Result<()> {
    epoll::add(epoll, what, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
}
