//! State machine of the far end, the reflector. It replies to small packets, counts load, and sends load on request. A
//! client must first prove that it receives at its source address.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use levelflow_host::udp::overhead;
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::message::{CONTROL_BYTES, MAX_MESSAGE_BYTES, Message};
use crate::tally::Tally;

/// Idle timeout of a session.
const SESSION_TIMEOUT: Duration = Duration::from_secs(5);
/// A request for load expires after this time.
const LOAD_REQUEST_TIMEOUT: Duration = Duration::from_ms(500);
/// Largest delay of a load packet that is still sent. Packets overdue by more are skipped.
const MAX_CATCH_UP: Duration = Duration::from_ms(50);
/// Length of a load packet, bytes.
pub(crate) const LOAD_BYTES: usize = 1200;

/// Limits on the service to each client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Limit on the rate of load, on the wire. Because one client is served at a time, this limit also holds for all
    /// clients together.
    pub max_rate: Rate,
    /// Limit on the duration of a session.
    pub time: Duration,
}

/// State machine of the probe's far end.
#[derive(Debug)]
pub struct Reflector {
    limits: Limits,
    secret: RandomState,
    session: Option<Session>,
    /// Sessions started.
    pub sessions: u64,
    /// Invalid datagrams, and datagrams without a valid token.
    pub garbage: u64,
}

#[derive(Debug)]
struct Session {
    ip: IpAddr,
    id: u64,
    until: Time,
    last_packet_at: Time,
    pings: u64,
    load: Tally,
    out: Option<Out>,
    /// Sequence number of the newest request for load.
    asked: Option<u64>,
    sent: u64,
}

/// Load that is being sent to the client.
#[derive(Debug)]
struct Out {
    to: SocketAddr,
    token: u64,
    gap: Duration,
    next: Time,
    until: Time,
    ecn: u8,
}

impl Reflector {
    /// Creates a reflector without a session. `secret` generates the tokens of clients.
    #[must_use]
    pub fn new(limits: Limits, secret: RandomState) -> Self {
        Self {
            limits,
            secret,
            session: None,
            sessions: 0,
            garbage: 0,
        }
    }

    /// Processes a datagram that arrived with the ECN field `seen`. Writes the reply to `answer`, if there is one, and
    /// returns its length and its ECN field. A reply is never longer than the datagram.
    pub fn handle_input(
        &mut self,
        now: Time,
        from: SocketAddr,
        wire: &[u8],
        seen: u8,
        answer: &mut [u8; CONTROL_BYTES],
    ) -> Option<(usize, u8)> {
        self.handle_timeout(now);
        let message = Message::decode(wire);
        let reply = message.and_then(|message| self.reply(now, from, message, wire.len(), seen));
        if reply.is_none() && !matches!(message, Some(Message::Load { .. } | Message::Pull { .. })) {
            self.garbage += 1;
        }
        reply?.encode(answer);
        let ecn = match message {
            Some(Message::Ping { ecn, .. }) => ecn,
            _ => 0,
        };
        Some((CONTROL_BYTES, ecn))
    }

    fn reply(&mut self, now: Time, from: SocketAddr, message: Message, length: usize, seen: u8) -> Option<Message> {
        let ns = now.as_ps() / 1000;
        match message {
            Message::Hello { id } if self.serves_other(from.ip(), id) => Some(Message::Busy { id }),
            Message::Hello { id } => Some(Message::Welcome {
                id,
                token: self.token(from, id),
                max_rate: self.limits.max_rate.bps() as u64,
            }),
            Message::Ping { id, token, seq, .. } => {
                let session = self.session(now, from, id, token)?;
                session.pings += 1;
                Some(Message::Pong {
                    id,
                    seq,
                    at: ns,
                    pings: session.pings,
                    load: session.load.arrived(),
                    seen,
                })
            }
            Message::Load { id, token, seq, sent } => {
                let size = (length + overhead(&from)) as u64;
                let session = self.session(now, from, id, token)?;
                session.load.take(ns, sent, seq, size, seen);
                None
            }
            Message::Pull {
                id,
                token,
                seq,
                rate,
                ecn,
            } => {
                let rate = (rate as f64).min(self.limits.max_rate.bps());
                let session = self.session(now, from, id, token)?;
                if session.asked.is_none_or(|newest| seq > newest) {
                    session.asked = Some(seq);
                    session.pull(now, from, token, rate, ecn);
                }
                None
            }
            Message::Welcome { .. } | Message::Busy { .. } | Message::Pong { .. } => None,
        }
    }

    fn token(&self, from: SocketAddr, id: u64) -> u64 {
        self.secret.hash_one((from, id))
    }

    fn serves_other(&self, ip: IpAddr, id: u64) -> bool {
        self.session.as_ref().is_some_and(|one| (one.ip, one.id) != (ip, id))
    }

    /// Returns the session of the client with this token. Starts a session if no client is being served.
    fn session(&mut self, now: Time, from: SocketAddr, id: u64, token: u64) -> Option<&mut Session> {
        if token != self.token(from, id) || self.serves_other(from.ip(), id) {
            return None;
        }
        if self.session.is_none() {
            self.sessions += 1;
        }
        let session = self.session.get_or_insert_with(|| Session {
            ip: from.ip(),
            id,
            until: now + self.limits.time,
            last_packet_at: now,
            pings: 0,
            load: Tally::default(),
            out: None,
            asked: None,
            sent: 0,
        });
        session.last_packet_at = now;
        Some(session)
    }

    /// Ends the session after its time limit or its timeout. Ends the load if the request for it has expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if self
            .session
            .as_ref()
            .is_some_and(|one| now >= one.until || now >= one.last_packet_at + SESSION_TIMEOUT)
        {
            self.session = None;
        }
        if let Some(session) = &mut self.session
            && session.out.as_ref().is_some_and(|out| now >= out.until)
        {
            session.out = None;
        }
    }

    /// Time at which the next load packet is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.session.as_ref()?.out.as_ref().map(|out| out.next)
    }

    /// Address of the client that is being served, and secret of its session.
    #[must_use]
    pub fn serves(&self) -> Option<(IpAddr, u64)> {
        self.session.as_ref().map(|one| (one.ip, one.id))
    }

    /// Writes the next load packet to `wire` if it is due. Returns its destination, its length and its ECN field.
    pub fn poll_transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(SocketAddr, usize, u8)> {
        self.handle_timeout(now);
        let session = self.session.as_mut()?;
        let out = session.out.as_mut().filter(|out| out.next <= now)?;
        out.next = (out.next + out.gap).max(Time::from_ps(now.as_ps().saturating_sub(MAX_CATCH_UP.as_ps())));
        let load = Message::Load {
            id: session.id,
            token: out.token,
            seq: session.sent,
            sent: now.as_ps() / 1000,
        };
        session.sent += 1;
        load.encode(wire);
        Some((out.to, LOAD_BYTES, out.ecn))
    }
}

impl Session {
    fn pull(&mut self, now: Time, to: SocketAddr, token: u64, rate: f64, ecn: u8) {
        let size = Bytes::new((LOAD_BYTES + overhead(&to)) as u64);
        let gap = Rate::new(rate).and_then(|rate| rate.time_to_send(size));
        let begun = self.out.as_ref().map(|out| out.next);
        self.out = gap.map(|gap| Out {
            to,
            token,
            gap,
            next: begun.map_or(now, |next| next.min(now + gap)),
            until: now + LOAD_REQUEST_TIMEOUT,
            ecn,
        });
    }
}
