//! State machine that tests a measured line for L4S (RFC 9330). It continues the session of a [`Probe`](crate::Probe).
//!
//! - *Survey*: pings with each ECN field. Ping and reply show the field that arrives in each direction.
//! - *Sweep*, in each direction: the rate of ECT(1) load rises from below to above the capacity, and falls again. The
//!   queue grows slowly and drains. [`Marking`] is inferred from marks and queueing delays.
//! - *Classic*, in each direction: load without ECN keeps the queue full. Pings with ECT(1) and pings without ECN
//!   alternate. If only the pings with ECT(1) are fast, they have a low-latency queue.

use levelflow_units::{Bytes, Duration, Rate, Time};
use serde::Serialize;

use crate::estimate::Idle;
use crate::marking::{Marking, Sample};
use crate::message::{Arrived, Bounds, CONTROL_BYTES, MAX_MESSAGE_BYTES, Message, Session};
use crate::probe::{Channel, Failure};
use crate::reflector::LOAD_BYTES;
use crate::tally::{Tally, signed};

/// ECN field without ECN capability.
const NOT_ECT: u8 = 0b00;
/// ECN field of L4S senders.
const ECT1: u8 = 0b01;
/// Interval between pings.
const PING_INTERVAL: Duration = Duration::from_ms(10);
/// Interval between requests for load.
const LOAD_REQUEST_INTERVAL: Duration = Duration::from_ms(50);
/// Duration of the survey.
const SURVEY_TIME: Duration = Duration::from_secs(2);
/// Duration of the rising part of a sweep.
const RISE_TIME: Duration = Duration::from_secs(4);
/// Duration of the falling part of a sweep.
const FALL_TIME: Duration = Duration::from_secs(2);
/// Constants `(a, b)` of a sweep: after `t` seconds, the rate is `a + b t` times the capacity.
const RISE: (f64, f64) = (0.97, 0.03);
/// Rate of the falling part of a sweep, as a multiple of the capacity.
const FALL_RATIO: f64 = 0.8;
/// Rates `(fill, keep)` of classic load, as multiples of the capacity.
const CLASSIC: (f64, f64) = (1.25, 1.05);
/// Time of classic load at the first rate.
const FILL_TIME: Duration = Duration::from_secs(2);
/// Start of the measured part of classic load.
const MEASURED_FROM: Duration = Duration::from_secs(3);
/// Duration of classic load.
const CLASSIC_TIME: Duration = Duration::from_secs(5);
/// Limit on the time for queues to drain, and timeout of a line without replies.
const MAX_DRAIN: Duration = Duration::from_secs(8);
/// Largest delay of a load packet that is still sent. Packets overdue by more are skipped.
const MAX_CATCH_UP: Duration = Duration::from_ms(50);

/// ECN fields that arrive in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Fields {
    /// Packets that were sent with the ECN field `i` and arrived with the field `j`, as element `[i][j]`.
    pub arrived: [[u64; 4]; 4],
}

impl Fields {
    /// The field that most packets with the field `sent` have at the far end. `None` if no packet arrived.
    #[must_use]
    pub fn most(&self, sent: u8) -> Option<u8> {
        let row = self.arrived.get(usize::from(sent))?;
        let most = (0..4_u8).max_by_key(|field| row[usize::from(*field)])?;
        (row[usize::from(most)] > 0).then_some(most)
    }
}

/// Results of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EcnWay {
    /// ECN fields that arrive.
    pub fields: Fields,
    /// Relation between marks and queueing delay.
    pub marking: Marking,
    /// Median round-trip times of pings under classic load, without ECN and with ECT(1), s. `None` if all were lost.
    pub classic: [Option<f64>; 2],
}

/// Results of the test in the directions up and down.
pub type EcnOutcome = [EcnWay; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Survey,
    Sweep(usize),
    Classic(usize),
    /// The queues drain before the next stage, which has this index in [`STAGES`].
    Drain(usize),
    Done,
}

/// Stages with load. The numbers are the directions.
const STAGES: [Stage; 4] = [Stage::Sweep(0), Stage::Classic(0), Stage::Sweep(1), Stage::Classic(1)];

struct Ping {
    sent: Time,
    ecn: u8,
    trip: Option<Duration>,
    /// Direction of the classic load that this ping measures.
    of: Option<usize>,
}

/// State machine of the near end in a test for L4S.
pub struct EcnProbe {
    session: Session,
    capacity: [f64; 2],
    /// Longest round-trip time that shows an empty queue, s.
    quiet: f64,
    /// Jitter of the idle line, s.
    jitter: f64,
    stage: Stage,
    since: Time,
    next_ping: Time,
    next_load: Time,
    next_pull: Time,
    pings: Vec<Ping>,
    last_reply_at: Time,
    sent: u64,
    pulls: u64,
    up: Arrived,
    down: Tally,
    /// Counts at the previous sample.
    before: Arrived,
    samples: [Vec<Sample>; 2],
    fields: [Fields; 2],
    failure: Option<Failure>,
}

impl EcnProbe {
    /// Starts the test at `now` in the session of a complete measurement, which found `capacity` up and down, bit/s.
    #[must_use]
    pub fn new(now: Time, session: Session, capacity: [f64; 2], idle: &Idle) -> Self {
        Self {
            session,
            capacity,
            quiet: idle.max.max(idle.median * 1.2) + 0.002,
            jitter: idle.jitter,
            stage: Stage::Survey,
            since: now,
            next_ping: now,
            next_load: now,
            next_pull: now,
            pings: Vec::new(),
            last_reply_at: now,
            sent: session.sent,
            pulls: session.pulls,
            up: Arrived::default(),
            down: Tally::default(),
            before: Arrived::default(),
            samples: [Vec::new(), Vec::new()],
            fields: [Fields::default(); 2],
            failure: None,
        }
    }

    /// Name of the current stage, for progress.
    #[must_use]
    pub fn doing(&self) -> &'static str {
        match self.stage {
            Stage::Survey => "sends each ECN field",
            Stage::Sweep(0) => "up: marks of ECT(1) load",
            Stage::Sweep(_) => "down: marks of ECT(1) load",
            Stage::Classic(0) => "up: ECT(1) next to load without ECN",
            Stage::Classic(_) => "down: ECT(1) next to load without ECN",
            Stage::Drain(_) => "waits until the buffer is empty",
            Stage::Done => "done",
        }
    }

    /// Results or the reason for a failure; `None` before the test is over.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<EcnOutcome, Failure>> {
        if let Some(failure) = self.failure {
            return Some(Err(failure));
        }
        let way = |way: usize| EcnWay {
            fields: self.fields[way],
            marking: Marking::of(
                &self.samples[way],
                self.size() * 8.0 / self.capacity[way].max(1.0),
                self.jitter,
            ),
            classic: [NOT_ECT, ECT1].map(|ecn| self.median(way, ecn)),
        };
        (self.stage == Stage::Done).then(|| Ok([way(0), way(1)]))
    }

    /// Median round-trip time of the pings with this field under classic load, s.
    fn median(&self, way: usize, ecn: u8) -> Option<f64> {
        let pings = self.pings.iter().filter(|ping| ping.of == Some(way) && ping.ecn == ecn);
        let trips: Vec<_> = pings.map(|ping| ping.trip.map(Duration::as_secs_f64)).collect();
        Idle::of(&trips).map(|trips| trips.median)
    }

    /// Size of a load packet on the wire, bytes.
    fn size(&self) -> f64 {
        (LOAD_BYTES + self.session.around) as f64
    }

    /// Current load: its direction, its rate in bit/s and its ECN field.
    fn load(&self, now: Time) -> Option<(usize, f64, u8)> {
        let elapsed = now.since(self.since);
        let (way, ratio, ecn) = match self.stage {
            Stage::Sweep(way) if elapsed < RISE_TIME => (way, RISE.0 + RISE.1 * elapsed.as_secs_f64(), ECT1),
            Stage::Sweep(way) if elapsed < RISE_TIME + FALL_TIME => (way, FALL_RATIO, ECT1),
            Stage::Classic(way) if elapsed < FILL_TIME => (way, CLASSIC.0, NOT_ECT),
            Stage::Classic(way) if elapsed < CLASSIC_TIME => (way, CLASSIC.1, NOT_ECT),
            _ => return None,
        };
        Some((way, ratio * self.capacity[way], ecn))
    }

    /// Time of the next call of [`Self::handle_timeout`] or [`Self::poll_transmit`].
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        let load = match self.stage {
            Stage::Sweep(0) | Stage::Classic(0) => self.next_load,
            Stage::Sweep(_) | Stage::Classic(_) => self.next_pull,
            _ => Time::NEVER,
        };
        self.next_ping.min(load)
    }

    /// Detects timeouts, and enters the next stage when the current one is over.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.last_reply_at + MAX_DRAIN {
            self.failure = Some(Failure::TimedOut);
        }
        let elapsed = now.since(self.since);
        let next = match self.stage {
            Stage::Survey if elapsed >= SURVEY_TIME => Stage::Drain(0),
            Stage::Sweep(way) if elapsed >= RISE_TIME + FALL_TIME => Stage::Drain(2 * way + 1),
            Stage::Classic(way) if elapsed >= CLASSIC_TIME => Stage::Drain(2 * way + 2),
            Stage::Drain(next) if self.drained(now) => STAGES.get(next).copied().unwrap_or(Stage::Done),
            _ => return,
        };
        (self.stage, self.since) = (next, now);
        (self.next_load, self.next_pull) = (now, now);
        self.before = self.counts();
    }

    /// Counts of the load of the current direction.
    fn counts(&self) -> Arrived {
        match self.stage {
            Stage::Sweep(1) | Stage::Classic(1) => self.down.arrived(),
            _ => self.up,
        }
    }

    fn drained(&self, now: Time) -> bool {
        let later = self.pings.iter().rev().take_while(|ping| ping.sent > self.since);
        let last = later.filter_map(|ping| ping.trip).take(5);
        let calm = last.filter(|trip| trip.as_secs_f64() <= self.quiet).count() == 5;
        calm || now >= self.since + MAX_DRAIN
    }

    /// Writes the next datagram to `wire` if one is due. Returns its port, its length and its ECN field.
    pub fn poll_transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize, u8)> {
        let Session { id, tokens, .. } = self.session;
        if self.stage == Stage::Done {
            return None;
        }
        if now >= self.next_ping {
            let ecn = self.ping(now);
            let seq = self.session.pings + self.pings.len() as u64 - 1;
            Message::Ping {
                id,
                token: tokens[0],
                seq,
                ecn,
            }
            .encode(wire);
            return Some((Channel::Call, CONTROL_BYTES, ecn));
        }
        let (way, rate, ecn) = self.load(now)?;
        if way == 0 && now >= self.next_load {
            let gap = Rate::new(rate)?.time_to_send(Bytes::new(self.size() as u64))?;
            let late = Time::from_ps(now.as_ps().saturating_sub(MAX_CATCH_UP.as_ps()));
            self.next_load = (self.next_load + gap).max(late);
            let (seq, sent) = (self.sent, now.as_ps() / 1000);
            self.sent += 1;
            Message::Load {
                id,
                token: tokens[1],
                seq,
                sent,
            }
            .encode(wire);
            return Some((Channel::Load, LOAD_BYTES, ecn));
        }
        if way == 1 && now >= self.next_pull {
            self.next_pull = now + LOAD_REQUEST_INTERVAL;
            let (seq, rate) = (self.pulls, rate as u64);
            self.pulls += 1;
            Message::Pull {
                id,
                token: tokens[1],
                seq,
                rate,
                ecn,
            }
            .encode(wire);
            return Some((Channel::Load, CONTROL_BYTES, NOT_ECT));
        }
        None
    }

    /// Records a ping; returns its ECN field.
    fn ping(&mut self, now: Time) -> u8 {
        self.next_ping = (self.next_ping + PING_INTERVAL).max(now);
        let number = self.pings.len() as u8;
        let (ecn, of) = match self.stage {
            Stage::Survey => (number % 4, None),
            Stage::Classic(way) if now >= self.since + MEASURED_FROM => (number % 2, Some(way)),
            // An AQM that marks the load would drop pings without ECN.
            Stage::Sweep(_) => (ECT1, None),
            _ => (NOT_ECT, None),
        };
        self.pings.push(Ping {
            sent: now,
            ecn,
            trip: None,
            of,
        });
        if self.stage == Stage::Sweep(1) {
            self.sample(1);
        }
        ecn
    }

    /// Records the marks and the delay of the load since the previous sample.
    fn sample(&mut self, way: usize) {
        let new = self.counts();
        let packets = new.packets.saturating_sub(self.before.packets);
        if packets > 0 {
            self.samples[way].push(Sample {
                delay: signed(new.last_arrived.wrapping_sub(new.last_sent)),
                packets,
                marked: new.marked.saturating_sub(self.before.marked),
            });
            self.before = new;
        }
    }

    /// Processes a datagram from the reflector that arrived with the ECN field `ecn`. Ignores an invalid datagram.
    pub fn handle_input(&mut self, now: Time, lane: Channel, wire: &[u8], ecn: u8) {
        match Message::decode(wire) {
            Some(Message::Pong {
                id,
                seq,
                at,
                pings,
                load,
                seen,
            }) if id == self.session.id && lane == Channel::Call => {
                let bounds = Bounds {
                    sent: self.sent,
                    pings: self.session.pings + self.pings.len() as u64,
                    size: self.size() as u64,
                    now: now.as_ps() / 1000,
                };
                if bounds.allow(at, pings, &load) {
                    self.pong(now, seq, load, [seen, ecn]);
                }
            }
            Some(Message::Load { id, token, seq, sent })
                if id == self.session.id
                    && lane == Channel::Load
                    && token == self.session.tokens[1]
                    && wire.len() == LOAD_BYTES
                    && seq < self.most_packets() =>
            {
                self.down.take(now.as_ps() / 1000, sent, seq, self.size() as u64, ecn);
            }
            _ => {}
        }
    }

    /// Upper bound on the number of load packets of the reflector.
    fn most_packets(&self) -> u64 {
        let time = (RISE_TIME + FALL_TIME + CLASSIC_TIME).as_secs_f64();
        let bytes = CLASSIC.0 * self.capacity[1] / 8.0 * time;
        self.session
            .most_packets
            .saturating_add((bytes / LOAD_BYTES as f64 + 1000.0) as u64)
    }

    fn pong(&mut self, now: Time, seq: u64, load: Arrived, fields: [u8; 2]) {
        let place = seq.checked_sub(self.session.pings).map(|place| place as usize);
        let ping = place.and_then(|place| self.pings.get_mut(place));
        let Some(ping) = ping.filter(|ping| ping.trip.is_none()) else {
            return;
        };
        ping.trip = Some(now.since(ping.sent));
        self.last_reply_at = now;
        if matches!(self.stage, Stage::Survey | Stage::Drain(0)) {
            for (way, field) in self.fields.iter_mut().zip(fields) {
                way.arrived[usize::from(ping.ecn)][usize::from(field & 3)] += 1;
            }
        }
        // A reordered reply contains nothing new.
        if load.packets >= self.up.packets && load.sent >= self.up.sent {
            self.up = load;
            if self.stage == Stage::Sweep(0) {
                self.sample(0);
            }
        }
    }
}
