//! The far end: answers small packets, counts load, and sends load on request, to who proved its address.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use levelflow_host::udp::overhead;
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::message::{LONGEST, Message, SMALL};
use crate::tally::Tally;

/// A session without a word for so long is over.
const SILENT: Duration = Duration::from_secs(5);
/// A request for load lapses after this time.
const LAPSES: Duration = Duration::from_ms(500);
/// Load that could not be sent in time is sent later, up to this much.
const LATE: Duration = Duration::from_ms(50);
/// Bytes of a packet of load.
pub(crate) const LOAD: usize = 1200;

/// What is done for others at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Load that is sent, on the wire, to all clients together: one is served at a time.
    pub max_rate: Rate,
    /// Time for which one is served.
    pub time: Duration,
}

/// The far end.
#[derive(Debug)]
pub struct Reflector {
    limits: Limits,
    secret: RandomState,
    session: Option<Session>,
    /// Sessions that began, and datagrams that were not for it.
    pub sessions: u64,
    /// Datagrams that made no sense, or showed no token.
    pub garbage: u64,
}

#[derive(Debug)]
struct Session {
    ip: IpAddr,
    id: u64,
    until: Time,
    heard: Time,
    pings: u64,
    load: Tally,
    out: Option<Out>,
    /// Newest request, and packets of load that were sent.
    asked: Option<u64>,
    sent: u64,
}

/// Load on its way out.
#[derive(Debug)]
struct Out {
    to: SocketAddr,
    token: u64,
    gap: Duration,
    next: Time,
    until: Time,
}

impl Reflector {
    /// One that serves nobody yet; `secret` makes its tokens.
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

    /// Handles a datagram; gives the length of its answer, if there is one: never more than came.
    pub fn handle_input(
        &mut self,
        now: Time,
        from: SocketAddr,
        wire: &[u8],
        answer: &mut [u8; SMALL],
    ) -> Option<usize> {
        self.handle_timeout(now);
        let said = self.hear(now, from, wire);
        if said.is_none() && !matches!(Message::decode(wire), Some(Message::Load { .. } | Message::Pull { .. })) {
            self.garbage += 1;
        }
        said?.encode(answer);
        Some(SMALL)
    }

    fn hear(&mut self, now: Time, from: SocketAddr, wire: &[u8]) -> Option<Message> {
        let ns = now.as_ps() / 1000;
        match Message::decode(wire)? {
            Message::Hello { id } if self.serves_other(from.ip(), id) => Some(Message::Busy { id }),
            Message::Hello { id } => Some(Message::Welcome {
                id,
                token: self.token(from, id),
                max_rate: self.limits.max_rate.bps() as u64,
            }),
            Message::Ping { id, token, seq } => {
                let session = self.session(now, from, id, token)?;
                session.pings += 1;
                Some(Message::Pong {
                    id,
                    seq,
                    at: ns,
                    pings: session.pings,
                    load: session.load.arrived(),
                })
            }
            Message::Load { id, token, seq, sent } => {
                let size = (wire.len() + overhead(&from)) as u64;
                let session = self.session(now, from, id, token)?;
                session.load.take(ns, sent, seq, size);
                None
            }
            Message::Pull { id, token, seq, rate } => {
                let rate = (rate as f64).min(self.limits.max_rate.bps());
                let session = self.session(now, from, id, token)?;
                if session.asked.is_none_or(|newest| seq > newest) {
                    session.asked = Some(seq);
                    session.pull(now, from, token, rate);
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

    /// The session of who shows this token; begins it if nobody else is served.
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
            heard: now,
            pings: 0,
            load: Tally::default(),
            out: None,
            asked: None,
            sent: 0,
        });
        session.heard = now;
        Some(session)
    }

    /// Ends what is over.
    pub fn handle_timeout(&mut self, now: Time) {
        if self
            .session
            .as_ref()
            .is_some_and(|one| now >= one.until || now >= one.heard + SILENT)
        {
            self.session = None;
        }
        if let Some(session) = &mut self.session
            && session.out.as_ref().is_some_and(|out| now >= out.until)
        {
            session.out = None;
        }
    }

    /// When load is to be sent next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.session.as_ref()?.out.as_ref().map(|out| out.next)
    }

    /// Who is served.
    #[must_use]
    pub fn serves(&self) -> Option<IpAddr> {
        self.session.as_ref().map(|one| one.ip)
    }

    /// The next packet of load, if it is due, and its length.
    pub fn poll_transmit(&mut self, now: Time, wire: &mut [u8; LONGEST]) -> Option<(SocketAddr, usize)> {
        self.handle_timeout(now);
        let session = self.session.as_mut()?;
        let out = session.out.as_mut().filter(|out| out.next <= now)?;
        out.next = (out.next + out.gap).max(Time::from_ps(now.as_ps().saturating_sub(LATE.as_ps())));
        let load = Message::Load {
            id: session.id,
            token: out.token,
            seq: session.sent,
            sent: now.as_ps() / 1000,
        };
        session.sent += 1;
        load.encode(wire);
        Some((out.to, LOAD))
    }
}

impl Session {
    fn pull(&mut self, now: Time, to: SocketAddr, token: u64, rate: f64) {
        let size = Bytes::new((LOAD + overhead(&to)) as u64);
        let gap = Rate::new(rate).and_then(|rate| rate.time_to_send(size));
        let begun = self.out.as_ref().map(|out| out.next);
        self.out = gap.map(|gap| Out {
            to,
            token,
            gap,
            next: begun.map_or(now, |next| next.min(now + gap)),
            until: now + LAPSES,
        });
    }
}
