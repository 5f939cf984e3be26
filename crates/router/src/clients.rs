//! Clients of a relay: each has a socket of its own towards the server, so that ACKs find their way back.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use levelflow_units::{Duration, Time};

/// A client that has been silent for so long is forgotten.
const SILENCE: Duration = Duration::from_secs(60);
/// One that has been silent for so long makes room for another if there is none; who speaks, or is spoken to, keeps its place, also
/// while a flood of addresses wants it.
const PAUSE: Duration = Duration::from_secs(2);
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
    /// There is no room, since all others are busy, or the system has no sockets left.
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
        if self.clients.len() >= MOST && !self.make_room(now) {
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

    /// Forgets the client that has been silent longest, if that is long enough.
    fn make_room(&mut self, now: Time) -> bool {
        let silent = self
            .clients
            .iter()
            .min_by_key(|(number, client)| (client.seen, **number));
        let Some((&number, client)) = silent.filter(|(_, client)| now.since(client.seen) >= PAUSE) else {
            return false;
        };
        self.numbers.remove(&client.address);
        self.clients.remove(&number);
        true
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

    fn address(n: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1024 + n as u16))
    }

    fn full() -> Clients {
        let mut clients = Clients::new("127.0.0.1:9".parse().unwrap());
        for n in 0..MOST {
            assert_eq!(clients.enter(Time::ZERO, address(n)), Entry::New(n as u32));
        }
        clients
    }

    #[test]
    fn a_table_has_a_limit_and_forgets() {
        let mut clients = full();
        assert_eq!(clients.enter(Time::ZERO, address(MOST)), Entry::Full);
        let late = Time::ZERO + Duration::from_secs(59);
        assert_eq!(clients.enter(late, address(3)), Entry::Known(3));
        clients.expire(Time::ZERO + Duration::from_secs(61));
        assert_eq!(clients.len(), 1);
        assert!(clients.get(3).is_some() && clients.get(4).is_none());
        assert_eq!(clients.enter(late, address(4)), Entry::New(MOST as u32));
    }

    #[test]
    fn who_has_been_silent_longest_makes_room() {
        let mut clients = full();
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        for n in 0..MOST {
            match n {
                7 => {}
                8 => clients.spoken_to(at(500), 8),
                _ => assert_eq!(clients.enter(at(1000), address(n)), Entry::Known(n as u32)),
            }
        }
        let (first, second) = (MOST, MOST + 1);
        assert_eq!(
            clients.enter(at(1999), address(first)),
            Entry::Full,
            "nobody was silent for long"
        );
        assert_eq!(clients.enter(at(2000), address(first)), Entry::New(first as u32));
        assert!(clients.get(7).is_none(), "it was silent longest");
        assert_eq!(clients.enter(at(2499), address(second)), Entry::Full);
        assert_eq!(clients.enter(at(2500), address(second)), Entry::New(second as u32));
        assert!(clients.get(8).is_none() && clients.len() == MOST);
        assert_eq!(
            clients.enter(at(3000), address(7)),
            Entry::New(second as u32 + 1),
            "it is a new one now"
        );
    }
}
