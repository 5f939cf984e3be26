//! Who speaks through a relay: each client has a socket of its own towards the server, so that answers find back.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use levelflow_units::{Duration, Time};

/// A client that has been silent for so long is forgotten.
const SILENCE: Duration = Duration::from_secs(60);
/// Most clients at a time.
pub const MOST: usize = 512;

/// A client.
#[derive(Debug)]
pub struct Client {
    /// Where it is.
    pub address: SocketAddr,
    /// Connected to the server.
    pub socket: UdpSocket,
    seen: Time,
}

/// All of them, by number; a number is never used again.
#[derive(Debug)]
pub struct Clients {
    server: SocketAddr,
    next: u32,
    numbers: HashMap<SocketAddr, u32>,
    clients: HashMap<u32, Client>,
}

/// What the table says of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It is known by this number.
    Known(u32),
    /// It has just got this number.
    New(u32),
    /// There is no room, or the system has no sockets left.
    Full,
}

impl Clients {
    /// Nobody yet.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        Self {
            server,
            next: 0,
            numbers: HashMap::new(),
            clients: HashMap::new(),
        }
    }

    /// A datagram has come from there.
    pub fn enter(&mut self, now: Time, address: SocketAddr) -> Entry {
        if let Some(number) = self.numbers.get(&address) {
            if let Some(client) = self.clients.get_mut(number) {
                client.seen = now;
            }
            return Entry::Known(*number);
        }
        if self.clients.len() >= MOST {
            return Entry::Full;
        }
        let Ok(socket) = connected(self.server) else {
            return Entry::Full;
        };
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(address, number);
        let seen = now;
        self.clients.insert(number, Client { address, socket, seen });
        Entry::New(number)
    }

    /// The client of that number, if it is still known.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Client> {
        self.clients.get(&number)
    }

    /// The server has spoken to that client.
    pub fn spoken_to(&mut self, now: Time, number: u32) {
        if let Some(client) = self.clients.get_mut(&number) {
            client.seen = now;
        }
    }

    /// Forgets who has been silent for long; their sockets close.
    pub fn expire(&mut self, now: Time) {
        let numbers = &mut self.numbers;
        self.clients.retain(|_, client| {
            let stays = now.since(client.seen) < SILENCE;
            if !stays {
                numbers.remove(&client.address);
            }
            stays
        });
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there is none.
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

    #[test]
    fn a_table_has_a_limit_and_forgets() {
        let mut clients = Clients::new("127.0.0.1:9".parse().unwrap());
        let address = |n: usize| SocketAddr::from(([127, 0, 0, 1], 1024 + n as u16));
        for n in 0..MOST {
            assert_eq!(clients.enter(Time::ZERO, address(n)), Entry::New(n as u32));
        }
        assert_eq!(clients.enter(Time::ZERO, address(MOST)), Entry::Full);
        let late = Time::ZERO + Duration::from_secs(59);
        assert_eq!(clients.enter(late, address(3)), Entry::Known(3));
        clients.expire(Time::ZERO + Duration::from_secs(61));
        assert_eq!(clients.len(), 1);
        assert!(clients.get(3).is_some() && clients.get(4).is_none());
        assert_eq!(clients.enter(late, address(4)), Entry::New(MOST as u32));
    }
}
