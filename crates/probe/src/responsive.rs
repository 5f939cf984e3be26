//! Driver of the responsiveness test: TCP load in both directions at once, and probes.

use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use levelflow_host::format::short_rate;
use levelflow_units::{Duration, Time};
use serde::Serialize;

use crate::estimate::{Idle, ms};
use crate::message::{CONTROL_BYTES, Message, Session};
use crate::rpm::{Confidence, MAX_CONNECTIONS, Probes, Rpm, Test};
use crate::tcp::{Connection, Direction, FarEnd, MAX_PENDING};

/// Longest sleep of the driver.
pub(crate) const TICK: Duration = Duration::from_ms(2);
/// Interval between two evaluations, and between two new connections per direction (ID).
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval between pings.
const PING_INTERVAL: Duration = Duration::from_ms(20);
/// Intervals before the end whose pings are reported.
const MEASURED_INTERVALS: u64 = 4;
/// Limit on foreign probes that have not ended.
const MAX_FOREIGN: u64 = 100;

/// Results under TCP load in both directions at once.
#[derive(Debug, Clone, Serialize)]
pub struct TcpOutcome {
    /// Responsiveness and goodput.
    #[serde(flatten)]
    pub rpm: Rpm,
    /// Connections with load in each direction.
    pub connections: usize,
    /// Congestion control of this end.
    pub congestion_control: Option<String>,
    /// Round-trip times of small UDP packets under this load, s.
    pub loaded: Option<Idle>,
}

impl TcpOutcome {
    /// Formats the results for the terminal.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let [up, down] = self.rpm.goodput_bps.map(short_rate);
        let control = self.congestion_control.as_deref().unwrap_or("TCP");
        let trips = self.loaded.map_or_else(
            || "not measured".to_owned(),
            |trips| format!("{} (95 % within {})", ms(trips.median), ms(trips.p95)),
        );
        let Rpm { rpm, foreign, own, .. } = self.rpm;
        let sure = |confidence: Confidence| match confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        };
        format!(
            "TCP   {up} up and {down} down at once, by {} connections of {control} each; round trip {trips}\n      \
             {rpm:.0} RPM ({foreign:.0} on new connections, {own:.0} on loaded ones); confidence: {} in the rate, {} in the \
             RPM\n",
            self.connections,
            sure(self.rpm.goodput_confidence),
            sure(self.rpm.rpm_confidence)
        )
    }
}

/// Pings that continue a session.
pub(crate) struct Pings {
    session: Session,
    first: u64,
    next: Time,
    sent: Vec<(Time, Option<Duration>)>,
}

impl Pings {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            first: session.pings,
            next: Time::ZERO,
            sent: Vec::new(),
        }
    }

    /// The session with its numbers of packets after these pings.
    pub(crate) fn session(&self) -> Session {
        Session {
            pings: self.first + self.sent.len() as u64,
            ..self.session
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<(usize, [u8; CONTROL_BYTES])> {
        if now < self.next {
            return None;
        }
        self.next = now + PING_INTERVAL;
        let ping = Message::Ping {
            id: self.session.id,
            token: self.session.tokens[0],
            seq: self.first + self.sent.len() as u64,
            ecn: 0,
        };
        self.sent.push((now, None));
        let mut wire = [0; CONTROL_BYTES];
        ping.encode(&mut wire);
        Some((CONTROL_BYTES, wire))
    }

    pub(crate) fn handle_input(&mut self, now: Time, wire: &[u8]) {
        let Some(Message::Pong { id, seq, .. }) = Message::decode(wire) else {
            return;
        };
        let place = seq.checked_sub(self.first).filter(|_| id == self.session.id);
        let ping = place.and_then(|place| self.sent.get_mut(place as usize));
        if let Some((sent, trip)) = ping.filter(|ping| ping.1.is_none()) {
            *trip = Some(now.since(*sent));
        }
    }

    /// Round-trip times of pings that were sent in this time, s. Pings in flight are left out.
    fn trips(&self, from: Time, to: Time) -> Option<Idle> {
        let longest = self.sent.iter().filter_map(|ping| ping.1).max().unwrap_or_default();
        let measured = self
            .sent
            .iter()
            .filter(|(sent, trip)| *sent >= from && (trip.is_some() || *sent + longest + PING_INTERVAL <= to));
        let trips: Vec<_> = measured.map(|ping| ping.1.map(Duration::as_secs_f64)).collect();
        Idle::of(&trips)
    }
}

/// A connection with load, and the times of its open requests.
struct Loaded {
    connection: Connection,
    replies: Receiver<(u32, Instant)>,
    requested: Requested,
}

/// Times of the requests on a connection. The time of a request is `None` after its reply.
#[derive(Default)]
struct Requested(Vec<Option<Instant>>);

impl Requested {
    /// Returns the time from a request to its reply at `at`, s; `None` for a repeated reply or one without a request.
    fn reply(&mut self, seq: u32, at: Instant) -> Option<f64> {
        let begun = self.0.get_mut(seq as usize)?.take()?;
        Some(at.saturating_duration_since(begun).as_secs_f64())
    }
}

/// Results from other threads.
type Channel<T> = (Sender<Result<T>>, Receiver<Result<T>>);

/// Test in progress.
pub(crate) struct Tcp {
    far: FarEnd,
    end: Time,
    begun: Option<Time>,
    interval_end: Time,
    next_probe: Time,
    opening: Channel<Loaded>,
    loads: Vec<Loaded>,
    bytes: [Arc<AtomicU64>; 2],
    counted: [u64; 2],
    foreign: Channel<(f64, f64)>,
    /// Foreign probes that have not ended.
    open: u64,
    probes: Probes,
    test: Test,
    now: Time,
}

impl Tcp {
    pub(crate) fn new(far: FarEnd, end: Time) -> Self {
        Self {
            far,
            end,
            begun: None,
            interval_end: Time::NEVER,
            next_probe: Time::ZERO,
            opening: channel(),
            loads: Vec::new(),
            bytes: Default::default(),
            counted: [0; 2],
            foreign: channel(),
            open: 0,
            probes: Probes::default(),
            test: Test::default(),
            now: Time::ZERO,
        }
    }

    /// Opens a connection with load in each direction. Other threads wait for the handshakes.
    fn add(&self) {
        for (direction, bytes) in [Direction::Up, Direction::Down].into_iter().zip(&self.bytes) {
            let (far, bytes, opened) = (self.far.clone(), Arc::clone(bytes), self.opening.0.clone());
            thread::spawn(move || {
                let (sender, replies) = sync_channel(MAX_PENDING);
                let connection = Connection::open(&far, direction, &bytes, sender);
                opened.send(connection.map(|connection| Loaded {
                    connection,
                    replies,
                    requested: Requested::default(),
                }))
            });
        }
    }

    /// Starts probes and connections that are due. Returns true if the test is over.
    pub(crate) fn step(&mut self, now: Time, read: &mut impl FnMut(Time, usize)) -> Result<bool> {
        self.now = now;
        if self.begun.is_none() {
            self.add();
            (self.begun, self.interval_end, self.next_probe) = (Some(now), now + INTERVAL, now);
        }
        self.collect()?;
        if now >= self.next_probe {
            let gap = Duration::from_secs_f64(self.test.probe_interval()).unwrap_or(INTERVAL);
            self.next_probe = (self.next_probe + gap).max(now);
            self.probe();
        }
        if now < self.interval_end {
            return Ok(false);
        }
        let seconds = (INTERVAL + now.since(self.interval_end)).as_secs_f64();
        self.interval_end = now + INTERVAL;
        let totals = self.bytes.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
        let goodput = [0, 1].map(|way| (totals[way] - self.counted[way]) as f64 * 8.0 / seconds);
        self.counted = totals;
        let over = self.test.end_interval(goodput, std::mem::take(&mut self.probes));
        read(now, self.loads.len() / 2);
        if over || now >= self.end {
            return Ok(true);
        }
        if self.loads.len() / 2 < MAX_CONNECTIONS {
            self.add();
        }
        Ok(false)
    }

    /// Starts a pair of probes. The own probe uses a random connection.
    fn probe(&mut self) {
        let chosen = rand::random_range(0..self.loads.len().max(1));
        if let Some(load) = self.loads.get_mut(chosen) {
            let seq = load.requested.0.len() as u32;
            if load.connection.request(seq) {
                load.requested.0.push(Some(Instant::now()));
            }
        }
        if self.open < MAX_FOREIGN {
            self.open += 1;
            let (far, sender) = (self.far.clone(), self.foreign.0.clone());
            thread::spawn(move || sender.send(far.foreign_probe()));
        }
    }

    fn collect(&mut self) -> Result<()> {
        for opened in self.opening.1.try_iter() {
            self.loads.push(opened?);
        }
        if self.loads.iter().any(|load| load.connection.is_over()) {
            return Err(Error::other(
                "the far end closed a connection; it may lack this congestion control",
            ));
        }
        for load in &mut self.loads {
            for (seq, at) in load.replies.try_iter() {
                self.probes.own.extend(load.requested.reply(seq, at));
            }
        }
        for result in self.foreign.1.try_iter() {
            self.open -= 1;
            let (handshake, request) = result?;
            self.probes.handshakes.push(handshake);
            self.probes.foreign.push(request);
        }
        Ok(())
    }

    /// Results; `None` if no probe has ended.
    pub(crate) fn outcome(&self, pings: &Pings) -> Option<TcpOutcome> {
        let measured = Duration::from_ps(INTERVAL.as_ps() * MEASURED_INTERVALS);
        let from = Time::from_ps(self.now.as_ps().saturating_sub(measured.as_ps()));
        Some(TcpOutcome {
            rpm: self.test.result()?,
            connections: self.loads.len() / 2,
            congestion_control: self.loads.first()?.connection.congestion_control(),
            loaded: pings.trips(from, self.now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_counted_once() {
        let begun = Instant::now();
        let at = begun + std::time::Duration::from_secs(2);
        let mut requested = Requested(vec![Some(begun)]);
        let trips = [0, 0, 1].map(|seq| requested.reply(seq, at));
        assert_eq!(trips, [Some(2.0), None, None]);
    }
}
