//! State machine of the near end, the client. It sends pings and load, and measures both directions of a line.
//!
//! During the whole measurement, the client sends a small packet (a ping) every 20 ms, like a voice call. The reflector
//! replies to each ping. In the first two seconds, the probe sends no other packets. Then the client sends load up to
//! the reflector. After that, the reflector sends load down to the client. Load uses a separate port, so that flow
//! queueing puts load and pings into different queues.
//!
//! The client accepts a reply if it contains the session's secret and matches a request. The reply also must not count
//! more packets than the client has sent.

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::estimate::{Idle, Loaded};
use crate::message::{Arrived, Bounds, CONTROL_BYTES, MAX_MESSAGE_BYTES, Message, Session};
use crate::reflector::LOAD_BYTES;
use crate::search::{LoadStep, Search};
use crate::tally::{Tally, signed};

/// Interval between pings.
const PING_INTERVAL: Duration = Duration::from_ms(20);
/// Interval between handshake messages.
const HANDSHAKE_RETRY: Duration = Duration::from_ms(200);
/// Interval between requests for load.
const LOAD_REQUEST_INTERVAL: Duration = Duration::from_ms(50);
/// Duration of the idle measurement.
const IDLE_PHASE: Duration = Duration::from_secs(2);
/// Limit on the time for queues to drain between the two directions.
const MAX_DRAIN: Duration = Duration::from_secs(8);
/// Timeout of a session without replies.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a handshake. It exceeds the reflector's session timeout, so that an old session ends in time for a new
/// client.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(7);
/// Largest delay of a load packet that is still sent. Packets overdue by more are skipped.
const MAX_CATCH_UP: Duration = Duration::from_ms(50);

/// Settings of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Time limit of the load in each direction.
    pub time: Duration,
    /// Limit on the rate of load, on the wire.
    pub max_rate: Rate,
    /// Size of the headers before the payload of a datagram on the wire, bytes.
    pub around: usize,
}

/// Local port that sends or receives a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Port of small packets.
    Call,
    /// Port of load.
    Load,
}

/// Stage of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Handshake with the reflector.
    Handshake,
    /// The line is idle except for pings.
    Idle,
    /// Load is sent to the reflector.
    Up(LoadStep),
    /// Queues drain between the two directions.
    Drain,
    /// Load is received from the reflector.
    Down(LoadStep),
    /// The measurement is complete.
    Done,
}

/// Results of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Round-trip times on the idle line.
    pub idle: Idle,
    /// Results under load, up and down.
    pub loaded: [Loaded; 2],
    /// Datagrams rejected.
    pub garbage: u64,
}

/// Reason why a measurement has no results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The reflector never replied.
    NoReply,
    /// The reflector serves another client.
    Busy,
    /// The reflector stopped replying.
    TimedOut,
}

struct Ping {
    sent: Time,
    trip: Option<Duration>,
    /// Phase whose latency the ping measures. `None` for a ping outside the measured parts of phases.
    of: Option<MeasuredPhase>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasuredPhase {
    Idle,
    Up,
    Down,
}

/// State machine of the probe's near end.
pub struct Probe {
    settings: Settings,
    id: u64,
    tokens: [Option<u64>; 2],
    stage: Phase,
    since: Time,
    next_handshake: [Time; 2],
    next_ping: Time,
    next_load: Time,
    next_pull: Time,
    pulls: u64,
    stops: u32,
    last_reply_at: Time,
    pings: Vec<Ping>,
    pongs: u64,
    sent: u64,
    /// Counts of load that arrived at the reflector, from the newest reply.
    up: Arrived,
    down: Tally,
    /// Shortest one-way delays on the idle line, up and down, ns. They include the offset between the clocks.
    base: [Option<i64>; 2],
    idle: Option<Idle>,
    search: Option<Search>,
    loaded: [Option<Loaded>; 2],
    last_trip: Duration,
    busy: bool,
    failure: Option<Failure>,
    garbage: u64,
}

impl Probe {
    /// Starts a measurement at `now`. `id` is the session's secret and must be unpredictable.
    #[must_use]
    pub fn new(now: Time, settings: Settings, id: u64) -> Self {
        Self {
            settings,
            id,
            tokens: [None; 2],
            stage: Phase::Handshake,
            since: now,
            next_handshake: [now; 2],
            next_ping: now,
            next_load: now,
            next_pull: now,
            pulls: 0,
            stops: 0,
            last_reply_at: now,
            pings: Vec::new(),
            pongs: 0,
            sent: 0,
            up: Arrived::default(),
            down: Tally::default(),
            base: [None; 2],
            idle: None,
            search: None,
            loaded: [None; 2],
            last_trip: Duration::ZERO,
            busy: false,
            failure: None,
            garbage: 0,
        }
    }

    /// Current stage of the measurement.
    #[must_use]
    pub fn stage(&self) -> Phase {
        match (self.stage, &self.search) {
            (Phase::Up(_), Some(search)) => Phase::Up(search.part()),
            (Phase::Down(_), Some(search)) => Phase::Down(search.part()),
            (stage, _) => stage,
        }
    }

    /// Current rate of load, bit/s, and round-trip time of the latest ping.
    #[must_use]
    pub fn now_at(&self) -> (f64, Duration) {
        (self.search.as_ref().map_or(0.0, Search::rate), self.last_trip)
    }

    /// Results or the reason for a failure; `None` before the measurement is over.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Outcome, Failure>> {
        if let Some(failure) = self.failure {
            return Some(Err(failure));
        }
        let ([Some(up), Some(down)], Some(idle)) = (self.loaded, self.idle) else {
            return None;
        };
        (self.stage == Phase::Done).then_some(Ok(Outcome {
            idle,
            loaded: [up, down],
            garbage: self.garbage,
        }))
    }

    /// The session, for further tests; `None` before the handshake is complete.
    #[must_use]
    pub fn session(&self) -> Option<Session> {
        let [Some(call), Some(load)] = self.tokens else {
            return None;
        };
        Some(Session {
            id: self.id,
            tokens: [call, load],
            pings: self.pings.len() as u64,
            sent: self.sent,
            pulls: self.pulls,
            most_packets: self.most_packets(),
            around: self.settings.around,
        })
    }

    /// Time of the next call of [`Self::handle_timeout`] or [`Self::poll_transmit`].
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        let load = match self.stage {
            Phase::Up(_) => self.next_load,
            Phase::Down(_) => self.next_pull,
            Phase::Handshake => return self.next_handshake[0].min(self.next_handshake[1]),
            _ => Time::NEVER,
        };
        self.next_ping.min(load)
    }

    /// Detects timeouts, and enters the next stage when the current stage is over.
    pub fn handle_timeout(&mut self, now: Time) {
        let silent = match self.stage {
            Phase::Handshake if now >= self.since + HANDSHAKE_TIMEOUT => {
                Some(if self.busy { Failure::Busy } else { Failure::NoReply })
            }
            Phase::Handshake | Phase::Done => None,
            _ if now >= self.last_reply_at + SESSION_TIMEOUT => Some(Failure::TimedOut),
            _ => None,
        };
        self.failure = self.failure.or(silent);
        match self.stage {
            Phase::Handshake if self.tokens.iter().all(Option::is_some) => {
                (self.last_reply_at, self.next_ping) = (now, now);
                self.enter(Phase::Idle, now);
            }
            Phase::Idle if now >= self.since + IDLE_PHASE => self.end_idle(now),
            Phase::Drain if self.drained(now) => self.begin(now, Phase::Down(LoadStep::Ramp)),
            Phase::Up(_) | Phase::Down(_) => {
                let Some(search) = &mut self.search else { return };
                search.handle_timeout(now);
                // The last pings under load are still in flight, so the phase ends a few intervals after the load.
                if search.part() == LoadStep::Over && self.stops > 2 {
                    self.end_load(now);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, stage: Phase, now: Time) {
        (self.stage, self.since) = (stage, now);
    }

    fn end_idle(&mut self, now: Time) {
        self.idle = Idle::of(&self.trips(MeasuredPhase::Idle, now));
        match self.idle {
            Some(_) => self.begin(now, Phase::Up(LoadStep::Ramp)),
            None if now >= self.since + HANDSHAKE_TIMEOUT => self.failure = Some(Failure::TimedOut),
            None => {}
        }
    }

    fn begin(&mut self, now: Time, stage: Phase) {
        let round = self
            .idle
            .and_then(|idle| Duration::from_secs_f64(idle.median))
            .unwrap_or_default();
        let base = self.base[usize::from(stage != Phase::Up(LoadStep::Ramp))].unwrap_or(0);
        let size = (LOAD_BYTES + self.settings.around) as u64;
        let most = self.settings.max_rate.bps();
        self.search = Some(Search::new(now, self.settings.time, round, base, most, size));
        (self.next_load, self.next_pull, self.stops) = (now, now, 0);
        self.enter(stage, now);
    }

    fn end_load(&mut self, now: Time) {
        let up = matches!(self.stage, Phase::Up(_));
        // Replies to the last pings may still be in flight.
        if !self.settled(now) {
            return;
        }
        let trips = self.trips(if up { MeasuredPhase::Up } else { MeasuredPhase::Down }, now);
        let (Some(search), Some(idle)) = (&mut self.search, &self.idle) else {
            return;
        };
        let around = self.settings.around;
        let sizes = ((CONTROL_BYTES + around) as u64, (LOAD_BYTES + around) as u64);
        self.loaded[usize::from(!up)] = Some(Loaded::of(search, &trips, idle, sizes));
        self.search = None;
        self.enter(if up { Phase::Drain } else { Phase::Done }, now);
    }

    /// True if each ping under load has returned or is lost. A ping is lost if a later ping has returned before it, or
    /// if no reply has arrived for `HANDSHAKE_TIMEOUT`.
    fn settled(&self, now: Time) -> bool {
        let of = if matches!(self.stage, Phase::Up(_)) {
            MeasuredPhase::Up
        } else {
            MeasuredPhase::Down
        };
        let newest = self.pings.iter().rev().find(|ping| ping.of == Some(of));
        let after = newest.map_or(0, |newest| {
            self.pings
                .iter()
                .rev()
                .take_while(|ping| ping.sent > newest.sent)
                .filter(|ping| ping.trip.is_some())
                .count()
        });
        newest.is_none() || after > 0 || now >= self.last_reply_at + HANDSHAKE_TIMEOUT
    }

    fn drained(&self, now: Time) -> bool {
        let Some(idle) = &self.idle else { return false };
        let quiet = idle.max.max(idle.median * 1.2) + 0.002;
        let last = self
            .pings
            .iter()
            .rev()
            .filter(|ping| ping.sent > self.since)
            .filter_map(|ping| ping.trip);
        let calm = last.take(5).filter(|trip| trip.as_secs_f64() <= quiet).count() == 5;
        calm || now >= self.since + MAX_DRAIN
    }

    /// Round-trip times of a phase's pings, s; `None` for a lost ping. Pings still in flight are left out.
    fn trips(&self, of: MeasuredPhase, now: Time) -> Vec<Option<f64>> {
        let longest = self.pings.iter().filter_map(|ping| ping.trip).max().unwrap_or_default();
        let measured = self.pings.iter().filter(|ping| ping.of == Some(of));
        let over = measured.filter(|ping| ping.trip.is_some() || now >= ping.sent + longest + PING_INTERVAL);
        over.map(|ping| ping.trip.map(Duration::as_secs_f64)).collect()
    }

    /// Writes the next datagram to `wire` if one is due. Returns its port and its length.
    pub fn poll_transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize)> {
        let id = self.id;
        if self.stage == Phase::Handshake {
            for lane in [Channel::Call, Channel::Load] {
                let place = lane as usize;
                if self.tokens[place].is_none() && now >= self.next_handshake[place] {
                    self.next_handshake[place] = now + HANDSHAKE_RETRY;
                    Message::Hello { id }.encode(wire);
                    return Some((lane, CONTROL_BYTES));
                }
            }
            return None;
        }
        let [Some(call), Some(load)] = self.tokens else {
            return None;
        };
        if now >= self.next_ping {
            self.ping(now, call, wire);
            return Some((Channel::Call, CONTROL_BYTES));
        }
        let rate = self.search.as_ref().map_or(0.0, Search::rate);
        match self.stage {
            Phase::Up(_) if now >= self.next_load => {
                let size = Bytes::new((LOAD_BYTES + self.settings.around) as u64);
                let Some(gap) = Rate::new(rate)
                    .filter(|_| rate > 0.0)
                    .and_then(|rate| rate.time_to_send(size))
                else {
                    (self.next_load, self.stops) = (now + LOAD_REQUEST_INTERVAL, self.stops + 1);
                    return None;
                };
                let late = Time::from_ps(now.as_ps().saturating_sub(MAX_CATCH_UP.as_ps()));
                self.next_load = (self.next_load + gap).max(late);
                let (seq, sent) = (self.sent, now.as_ps() / 1000);
                self.sent += 1;
                Message::Load {
                    id,
                    token: load,
                    seq,
                    sent,
                }
                .encode(wire);
                Some((Channel::Load, LOAD_BYTES))
            }
            Phase::Down(_) if now >= self.next_pull => {
                self.next_pull = now + LOAD_REQUEST_INTERVAL;
                self.stops += u32::from(rate == 0.0);
                let (seq, rate) = (self.pulls, rate as u64);
                self.pulls += 1;
                Message::Pull {
                    id,
                    token: load,
                    seq,
                    rate,
                    ecn: 0,
                }
                .encode(wire);
                Some((Channel::Load, CONTROL_BYTES))
            }
            _ => None,
        }
    }

    fn ping(&mut self, now: Time, token: u64, wire: &mut [u8; MAX_MESSAGE_BYTES]) {
        self.next_ping = (self.next_ping + PING_INTERVAL).max(now);
        let counts = self.search.as_ref().is_some_and(|search| search.counts(now));
        let of = match self.stage {
            Phase::Idle => Some(MeasuredPhase::Idle),
            Phase::Up(_) if counts => Some(MeasuredPhase::Up),
            Phase::Down(_) if counts => Some(MeasuredPhase::Down),
            _ => None,
        };
        let seq = self.pings.len() as u64;
        self.pings.push(Ping {
            sent: now,
            trip: None,
            of,
        });
        let id = self.id;
        Message::Ping { id, token, seq, ecn: 0 }.encode(wire);
        if matches!(self.stage, Phase::Down(_)) {
            let small = self.pongs * (CONTROL_BYTES + self.settings.around) as u64;
            let load = self.down.arrived();
            if let Some(search) = &mut self.search {
                search.report(now, load, small);
            }
        }
    }

    /// Processes a datagram from the reflector. An invalid datagram is counted and otherwise ignored.
    pub fn handle_input(&mut self, now: Time, lane: Channel, wire: &[u8]) {
        let believed = match Message::decode(wire) {
            Some(Message::Welcome { id, token, max_rate }) if id == self.id => {
                let token = self.tokens[lane as usize].get_or_insert(token);
                let _ = token;
                if let Some(rate) =
                    Rate::new(max_rate as f64).filter(|rate| rate.bps() > 0.0 && self.stage == Phase::Handshake)
                {
                    self.settings.max_rate = if rate < self.settings.max_rate {
                        rate
                    } else {
                        self.settings.max_rate
                    };
                }
                true
            }
            Some(Message::Busy { id }) if id == self.id => {
                self.busy = true;
                true
            }
            Some(Message::Pong {
                id,
                seq,
                at,
                pings,
                load,
                ..
            }) if id == self.id && lane == Channel::Call => self.pong(now, seq, at, pings, load),
            Some(Message::Load { id, token, seq, sent }) if id == self.id && lane == Channel::Load => {
                let fits = Some(token) == self.tokens[1] && wire.len() == LOAD_BYTES && seq < self.most_packets();
                if fits && matches!(self.stage, Phase::Down(_)) {
                    let size = (wire.len() + self.settings.around) as u64;
                    self.down.take(now.as_ps() / 1000, sent, seq, size, 0);
                }
                fits
            }
            _ => false,
        };
        self.garbage += u64::from(!believed);
    }

    /// Upper bound on the number of load packets in one direction.
    fn most_packets(&self) -> u64 {
        let bytes = self.settings.max_rate.bytes_in(self.settings.time + SESSION_TIMEOUT);
        (bytes / LOAD_BYTES as f64) as u64 + 1000
    }

    fn pong(&mut self, now: Time, seq: u64, at: u64, pings: u64, load: Arrived) -> bool {
        let bounds = Bounds {
            sent: self.sent,
            pings: self.pings.len() as u64,
            size: (LOAD_BYTES + self.settings.around) as u64,
            now: now.as_ps() / 1000,
        };
        let possible = bounds.allow(at, pings, &load);
        let Some(ping) = self
            .pings
            .get_mut(seq as usize)
            .filter(|ping| possible && ping.trip.is_none())
        else {
            return false;
        };
        let trip = now.since(ping.sent);
        ping.trip = Some(trip);
        (self.last_reply_at, self.last_trip, self.pongs) = (now, trip, self.pongs + 1);
        let [up, down] = [
            signed(at.wrapping_sub(ping.sent.as_ps() / 1000)),
            signed((now.as_ps() / 1000).wrapping_sub(at)),
        ];
        if self.stage == Phase::Idle {
            for (base, way) in self.base.iter_mut().zip([up, down]) {
                *base = Some(base.map_or(way, |least| least.min(way)));
            }
        }
        // A reordered reply contains nothing new.
        if load.packets >= self.up.packets && load.sent >= self.up.sent {
            self.up = load;
            let small = pings * (CONTROL_BYTES + self.settings.around) as u64;
            if let (Phase::Up(_), Some(search)) = (self.stage, &mut self.search) {
                search.report(now, load, small);
            }
        }
        true
    }
}
