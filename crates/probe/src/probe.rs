//! The near end: measures.
//!
//! Small packets as of a call go out every 20 ms, all the time, and come back. For two seconds they have the line for themselves;
//! then load goes up, then down, from a port of its own, so that a queue for each flow keeps them apart. Answers are
//! believed only if they have the session's secret, answer what was asked, and count no more than was sent.

use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::estimate::{Idle, Loaded};
use crate::message::{Arrived, LONGEST, Message, SMALL};
use crate::reflector::LOAD;
use crate::search::{Part, Search};
use crate::tally::{Tally, signed};

/// Time between two small packets, greetings and requests for load.
const PING: Duration = Duration::from_ms(20);
const GREET: Duration = Duration::from_ms(200);
const PULL: Duration = Duration::from_ms(50);
/// Time for the idle line, and for queues to empty.
const IDLE: Duration = Duration::from_secs(2);
const DRAIN: Duration = Duration::from_secs(8);
/// What is silent for so long is not there; a far end forgets its last client sooner than a greeting is given up.
const SILENT: Duration = Duration::from_secs(10);
const UNANSWERED: Duration = Duration::from_secs(7);
/// Load that could not be sent in time is sent later, up to this much.
const LATE: Duration = Duration::from_ms(50);

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Longest time of load in each direction.
    pub time: Duration,
    /// Largest load, on the wire.
    pub max_rate: Rate,
    /// What precedes the payload of a datagram on the wire, bytes.
    pub around: usize,
}

/// Which port a datagram leaves from, or came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// That of small packets.
    Call,
    /// That of load.
    Load,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The far end is being greeted.
    Greet,
    /// The idle line.
    Idle,
    /// Load goes up.
    Up(Part),
    /// Queues empty.
    Drain,
    /// Load comes down.
    Down(Part),
    /// All is known.
    Done,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The idle line.
    pub idle: Idle,
    /// Load up, and down.
    pub loaded: [Loaded; 2],
    /// Datagrams that were not believed.
    pub garbage: u64,
}

/// Why there is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nobody answers.
    Nobody,
    /// Another client is being served.
    Busy,
    /// It answered, and does no longer.
    Silent,
}

struct Ping {
    sent: Time,
    trip: Option<Duration>,
    /// What it tells of: the idle line, or one under load.
    of: Option<Of>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Idle,
    Up,
    Down,
}

/// The near end.
pub struct Probe {
    settings: Settings,
    id: u64,
    tokens: [Option<u64>; 2],
    stage: Stage,
    since: Time,
    next_greeting: [Time; 2],
    next_ping: Time,
    next_load: Time,
    next_pull: Time,
    pulls: u64,
    stops: u32,
    heard: Time,
    pings: Vec<Ping>,
    pongs: u64,
    sent: u64,
    /// What the far end said of load that arrived there.
    up: Arrived,
    down: Tally,
    /// Shortest ways up and down, ns between the two clocks.
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
    /// Begins now, under a secret number that nobody can guess.
    #[must_use]
    pub fn new(now: Time, settings: Settings, id: u64) -> Self {
        Self {
            settings,
            id,
            tokens: [None; 2],
            stage: Stage::Greet,
            since: now,
            next_greeting: [now; 2],
            next_ping: now,
            next_load: now,
            next_pull: now,
            pulls: 0,
            stops: 0,
            heard: now,
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

    /// What is going on.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match (self.stage, &self.search) {
            (Stage::Up(_), Some(search)) => Stage::Up(search.part()),
            (Stage::Down(_), Some(search)) => Stage::Down(search.part()),
            (stage, _) => stage,
        }
    }

    /// Load now, bit/s, and the last round trip of a small packet.
    #[must_use]
    pub fn now_at(&self) -> (f64, Duration) {
        (self.search.as_ref().map_or(0.0, Search::rate), self.last_trip)
    }

    /// What came of it, once it is over.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Outcome, Failure>> {
        if let Some(failure) = self.failure {
            return Some(Err(failure));
        }
        let ([Some(up), Some(down)], Some(idle)) = (self.loaded, self.idle) else {
            return None;
        };
        (self.stage == Stage::Done).then_some(Ok(Outcome {
            idle,
            loaded: [up, down],
            garbage: self.garbage,
        }))
    }

    /// When something is to be done.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        let load = match self.stage {
            Stage::Up(_) => self.next_load,
            Stage::Down(_) => self.next_pull,
            Stage::Greet => return self.next_greeting[0].min(self.next_greeting[1]),
            _ => Time::NEVER,
        };
        self.next_ping.min(load)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        let silent = match self.stage {
            Stage::Greet if now >= self.since + UNANSWERED => {
                Some(if self.busy { Failure::Busy } else { Failure::Nobody })
            }
            Stage::Greet | Stage::Done => None,
            _ if now >= self.heard + SILENT => Some(Failure::Silent),
            _ => None,
        };
        self.failure = self.failure.or(silent);
        match self.stage {
            Stage::Greet if self.tokens.iter().all(Option::is_some) => {
                (self.heard, self.next_ping) = (now, now);
                self.enter(Stage::Idle, now);
            }
            Stage::Idle if now >= self.since + IDLE => self.end_idle(now),
            Stage::Drain if self.drained(now) => self.begin(now, Stage::Down(Part::Ramp)),
            Stage::Up(_) | Stage::Down(_) => {
                let Some(search) = &mut self.search else { return };
                search.handle_timeout(now);
                // The newest small packets are on their way.
                if search.part() == Part::Over && self.stops > 2 {
                    self.end_load(now);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, stage: Stage, now: Time) {
        (self.stage, self.since) = (stage, now);
    }

    fn end_idle(&mut self, now: Time) {
        self.idle = Idle::of(&self.trips(Of::Idle, now));
        match self.idle {
            Some(_) => self.begin(now, Stage::Up(Part::Ramp)),
            None if now >= self.since + UNANSWERED => self.failure = Some(Failure::Silent),
            None => {}
        }
    }

    fn begin(&mut self, now: Time, stage: Stage) {
        let round = self
            .idle
            .and_then(|idle| Duration::from_secs_f64(idle.median))
            .unwrap_or_default();
        let base = self.base[usize::from(stage != Stage::Up(Part::Ramp))].unwrap_or(0);
        let size = (LOAD + self.settings.around) as u64;
        let most = self.settings.max_rate.bps();
        self.search = Some(Search::new(now, self.settings.time, round, base, most, size));
        (self.next_load, self.next_pull, self.stops) = (now, now, 0);
        self.enter(stage, now);
    }

    fn end_load(&mut self, now: Time) {
        let up = matches!(self.stage, Stage::Up(_));
        // Small packets of the last moment have had a time to come back.
        if !self.settled(now) {
            return;
        }
        let trips = self.trips(if up { Of::Up } else { Of::Down }, now);
        let (Some(search), Some(idle)) = (&mut self.search, &self.idle) else {
            return;
        };
        let around = self.settings.around;
        let sizes = ((SMALL + around) as u64, (LOAD + around) as u64);
        self.loaded[usize::from(!up)] = Some(Loaded::of(search, &trips, idle, sizes));
        self.search = None;
        self.enter(if up { Stage::Drain } else { Stage::Done }, now);
    }

    /// Whether small packets that went out under load have come back, or will not.
    fn settled(&self, now: Time) -> bool {
        let of = if matches!(self.stage, Stage::Up(_)) {
            Of::Up
        } else {
            Of::Down
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
        newest.is_none() || after > 0 || now >= self.heard + UNANSWERED
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
        calm || now >= self.since + DRAIN
    }

    /// Round trips, s, of packets that told of this; one that may still come is left out.
    fn trips(&self, of: Of, now: Time) -> Vec<Option<f64>> {
        let longest = self.pings.iter().filter_map(|ping| ping.trip).max().unwrap_or_default();
        let told = self.pings.iter().filter(|ping| ping.of == Some(of));
        let over = told.filter(|ping| ping.trip.is_some() || now >= ping.sent + longest + PING);
        over.map(|ping| ping.trip.map(Duration::as_secs_f64)).collect()
    }

    /// The next datagram, if one is due: from which port, and its length.
    pub fn poll_transmit(&mut self, now: Time, wire: &mut [u8; LONGEST]) -> Option<(Lane, usize)> {
        let id = self.id;
        if self.stage == Stage::Greet {
            for lane in [Lane::Call, Lane::Load] {
                let place = lane as usize;
                if self.tokens[place].is_none() && now >= self.next_greeting[place] {
                    self.next_greeting[place] = now + GREET;
                    Message::Hello { id }.encode(wire);
                    return Some((lane, SMALL));
                }
            }
            return None;
        }
        let [Some(call), Some(load)] = self.tokens else {
            return None;
        };
        if now >= self.next_ping {
            self.ping(now, call, wire);
            return Some((Lane::Call, SMALL));
        }
        let rate = self.search.as_ref().map_or(0.0, Search::rate);
        match self.stage {
            Stage::Up(_) if now >= self.next_load => {
                let size = Bytes::new((LOAD + self.settings.around) as u64);
                let Some(gap) = Rate::new(rate)
                    .filter(|_| rate > 0.0)
                    .and_then(|rate| rate.time_to_send(size))
                else {
                    (self.next_load, self.stops) = (now + PULL, self.stops + 1);
                    return None;
                };
                let late = Time::from_ps(now.as_ps().saturating_sub(LATE.as_ps()));
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
                Some((Lane::Load, LOAD))
            }
            Stage::Down(_) if now >= self.next_pull => {
                self.next_pull = now + PULL;
                self.stops += u32::from(rate == 0.0);
                let (seq, rate) = (self.pulls, rate as u64);
                self.pulls += 1;
                Message::Pull {
                    id,
                    token: load,
                    seq,
                    rate,
                }
                .encode(wire);
                Some((Lane::Load, SMALL))
            }
            _ => None,
        }
    }

    fn ping(&mut self, now: Time, token: u64, wire: &mut [u8; LONGEST]) {
        self.next_ping = (self.next_ping + PING).max(now);
        let counts = self.search.as_ref().is_some_and(|search| search.counts(now));
        let of = match self.stage {
            Stage::Idle => Some(Of::Idle),
            Stage::Up(_) if counts => Some(Of::Up),
            Stage::Down(_) if counts => Some(Of::Down),
            _ => None,
        };
        let seq = self.pings.len() as u64;
        self.pings.push(Ping {
            sent: now,
            trip: None,
            of,
        });
        let id = self.id;
        Message::Ping { id, token, seq }.encode(wire);
        if matches!(self.stage, Stage::Down(_)) {
            let small = self.pongs * (SMALL + self.settings.around) as u64;
            let load = self.down.arrived();
            if let Some(search) = &mut self.search {
                search.report(now, load, small);
            }
        }
    }

    /// Handles a datagram from the far end; what makes no sense changes nothing.
    pub fn handle_input(&mut self, now: Time, lane: Lane, wire: &[u8]) {
        let believed = match Message::decode(wire) {
            Some(Message::Welcome { id, token, max_rate }) if id == self.id => {
                let token = self.tokens[lane as usize].get_or_insert(token);
                let _ = token;
                if let Some(rate) =
                    Rate::new(max_rate as f64).filter(|rate| rate.bps() > 0.0 && self.stage == Stage::Greet)
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
            }) if id == self.id && lane == Lane::Call => self.pong(now, seq, at, pings, load),
            Some(Message::Load { id, token, seq, sent }) if id == self.id && lane == Lane::Load => {
                let fits = Some(token) == self.tokens[1] && wire.len() == LOAD && seq < self.most_packets();
                if fits && matches!(self.stage, Stage::Down(_)) {
                    let size = (wire.len() + self.settings.around) as u64;
                    self.down.take(now.as_ps() / 1000, sent, seq, size);
                }
                fits
            }
            _ => false,
        };
        self.garbage += u64::from(!believed);
    }

    /// Packets of load that can have been sent at most.
    fn most_packets(&self) -> u64 {
        let bytes = self.settings.max_rate.bytes_in(self.settings.time + SILENT);
        (bytes / LOAD as f64) as u64 + 1000
    }

    fn pong(&mut self, now: Time, seq: u64, at: u64, pings: u64, load: Arrived) -> bool {
        let size = (LOAD + self.settings.around) as u64;
        let counted = load.packets <= load.sent
            && load.sent <= self.sent
            && load.packets.checked_mul(size) == Some(load.bytes)
            && load.last_sent <= now.as_ps() / 1000
            && load.last_arrived <= at
            && pings <= self.pings.len() as u64;
        let Some(ping) = self
            .pings
            .get_mut(seq as usize)
            .filter(|ping| counted && ping.trip.is_none())
        else {
            return false;
        };
        let trip = now.since(ping.sent);
        ping.trip = Some(trip);
        (self.heard, self.last_trip, self.pongs) = (now, trip, self.pongs + 1);
        let [up, down] = [
            signed(at.wrapping_sub(ping.sent.as_ps() / 1000)),
            signed((now.as_ps() / 1000).wrapping_sub(at)),
        ];
        if self.stage == Stage::Idle {
            for (base, way) in self.base.iter_mut().zip([up, down]) {
                *base = Some(base.map_or(way, |least| least.min(way)));
            }
        }
        // One that was overtaken says nothing new.
        if load.packets >= self.up.packets && load.sent >= self.up.sent {
            self.up = load;
            let small = pings * (SMALL + self.settings.around) as u64;
            if let (Stage::Up(_), Some(search)) = (self.stage, &mut self.search) {
                search.report(now, load, small);
            }
        }
        true
    }
}
