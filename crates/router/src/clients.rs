//! Clients of a relay. Each client has a separate socket towards the server, so that the relay forwards ACKs to the
//! right client.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use levelflow_units::{Duration, Time};

/// Timeout after which an idle client is removed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Idle time after which a client may be evicted while the table is full. Active clients therefore keep their entries
/// even during a flood of new addresses.
const EVICTABLE_AFTER: Duration = Duration::from_secs(2);
/// Limit on the number of clients in the table.
pub const MAX_CLIENTS: usize = 512;

/// Client of a relay.
#[derive(Debug)]
pub struct Client {
    /// Address of the client.
    pub address: SocketAddr,
    /// Socket, connected to the server.
    pub socket: UdpSocket,
    seen: Time,
}

/// Table of clients, by number. Numbers are never reused.
#[derive(Debug)]
pub struct Clients {
    server: SocketAddr,
    next: u32,
    numbers: HashMap<SocketAddr, u32>,
    clients: HashMap<u32, Client>,
}

/// Result of a search for a client's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The client is in the table, with this number.
    Known(u32),
    /// The client was added, with this number.
    New(u32),
    /// The table is full of active clients, or the system has no sockets left.
    Full,
}

impl Clients {
    /// Creates an empty table.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        Self {
            server,
            next: 0,
            numbers: HashMap::new(),
            clients: HashMap::new(),
        }
    }

    /// Searches for the sender of a datagram, and adds the sender if it is new.
    pub fn enter(&mut self, now: Time, address: SocketAddr) -> Lookup {
        if let Some(number) = self.numbers.get(&address) {
            if let Some(client) = self.clients.get_mut(number) {
                client.seen = now;
            }
            return Lookup::Known(*number);
        }
        if self.clients.len() >= MAX_CLIENTS && !self.make_room(now) {
            return Lookup::Full;
        }
        let Ok(socket) = connected(self.server) else {
            return Lookup::Full;
        };
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(address, number);
        let seen = now;
        self.clients.insert(number, Client { address, socket, seen });
        Lookup::New(number)
    }

    /// Evicts the client with the longest idle time, if this time is at least [`EVICTABLE_AFTER`]. Returns true if a
    /// client was evicted.
    fn make_room(&mut self, now: Time) -> bool {
        let silent = self
            .clients
            .iter()
            .min_by_key(|(number, client)| (client.seen, **number));
        let Some((&number, client)) = silent.filter(|(_, client)| now.since(client.seen) >= EVICTABLE_AFTER) else {
            return false;
        };
        self.numbers.remove(&client.address);
        self.clients.remove(&number);
        true
    }

    /// Returns the client with this number, if it is still in the table.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Client> {
        self.clients.get(&number)
    }

    /// Records the time of a datagram from the server to a client.
    pub fn mark_active(&mut self, now: Time, number: u32) {
        if let Some(client) = self.clients.get_mut(&number) {
            client.seen = now;
        }
    }

    /// Removes clients after [`CLIENT_TIMEOUT`] without a datagram, and closes their sockets.
    pub fn expire(&mut self, now: Time) {
        let numbers = &mut self.numbers;
        self.clients.retain(|_, client| {
            let stays = now.since(client.seen) < CLIENT_TIMEOUT;
            if !stays {
                numbers.remove(&client.address);
            }
            stays
        });
    }

    /// Number of clients.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// True if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }
}

fn connected(server: SocketAddr) -> std::io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    socket.connect(server)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1024 + n as u16))
    }

    fn full() -> Clients {
        let mut clients = Clients::new("127.0.0.1:9".parse().unwrap());
        for n in 0..MAX_CLIENTS {
            assert_eq!(clients.enter(Time::ZERO, address(n)), Lookup::New(n as u32));
        }
        clients
    }

    #[test]
    fn a_table_is_bounded_and_expires() {
        let mut clients = full();
        assert_eq!(clients.enter(Time::ZERO, address(MAX_CLIENTS)), Lookup::Full);
        let late = Time::ZERO + Duration::from_secs(59);
        assert_eq!(clients.enter(late, address(3)), Lookup::Known(3));
        clients.expire(Time::ZERO + Duration::from_secs(61));
        assert_eq!(clients.len(), 1);
        assert!(clients.get(3).is_some() && clients.get(4).is_none());
        assert_eq!(clients.enter(late, address(4)), Lookup::New(MAX_CLIENTS as u32));
    }

    #[test]
    fn the_longest_idle_client_is_evicted() {
        let mut clients = full();
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        for n in 0..MAX_CLIENTS {
            match n {
                7 => {}
                8 => clients.mark_active(at(500), 8),
                _ => assert_eq!(clients.enter(at(1000), address(n)), Lookup::Known(n as u32)),
            }
        }
        let (first, second) = (MAX_CLIENTS, MAX_CLIENTS + 1);
        assert_eq!(
            clients.enter(at(1999), address(first)),
            Lookup::Full,
            "no client was idle long enough"
        );
        assert_eq!(clients.enter(at(2000), address(first)), Lookup::New(first as u32));
        assert!(clients.get(7).is_none(), "it was idle longest");
        assert_eq!(clients.enter(at(2499), address(second)), Lookup::Full);
        assert_eq!(clients.enter(at(2500), address(second)), Lookup::New(second as u32));
        assert!(clients.get(8).is_none() && clients.len() == MAX_CLIENTS);
        assert_eq!(
            clients.enter(at(3000), address(7)),
            Lookup::New(second as u32 + 1),
            "it is a new client now"
        );
    }
}
