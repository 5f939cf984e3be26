//! Which flows there are: their number, size and starts; and one of them under way.

use levelflow_laws::journal::Role;
use levelflow_laws::shim::{LENGTH, LONGEST};
use levelflow_laws::{AnyParams, FlowInfo, Kind};
use levelflow_units::{Bytes, Duration, Rate, Time};
use rand::RngExt as _;

use levelflow_host::journal::Journal;
use levelflow_host::journal::Sender;
use levelflow_transport::Answer;

/// What to send.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The law of all flows.
    pub params: AnyParams,
    /// Flows, where they do not arrive at random.
    pub flows: u32,
    /// Time between the starts of two flows.
    pub start_every: Duration,
    /// Flows that arrive per second at random (Poisson); then `flows` is not used.
    pub arrivals: Option<f64>,
    /// Bytes of each flow, on the wire; none: without end.
    pub size: Option<Bytes>,
    /// When all flows stop; none: when they are done.
    pub time: Option<Duration>,
    /// Largest packet on the wire.
    pub packet: Bytes,
    /// No flow leaves faster than this.
    pub max_rate: Rate,
    /// Where what the laws are told is written down, and the values of their parameters for it.
    pub journal: Option<(Journal, Vec<f64>)>,
}

impl Plan {
    /// Starts of flows, in order.
    pub fn starts(&self) -> impl Iterator<Item = Time> + use<> {
        let (every, arrivals, time, flows) = (self.start_every, self.arrivals, self.time, self.flows);
        let mut at = Duration::ZERO;
        let mut random = rand::rng();
        let next = move |i: u32| {
            match arrivals {
                _ if arrivals.is_none() && i >= flows => return None,
                Some(rate) => {
                    let gap = -(1.0 - random.random::<f64>()).ln() / rate;
                    at = at.checked_add(Duration::from_secs_f64(gap)?)?;
                }
                None if i > 0 => at = at.checked_add(every)?,
                None => {}
            }
            time.is_none_or(|time| at < time).then(|| Time::ZERO + at)
        };
        (0..u32::MAX).map_while(next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Sending,
    /// Its end was announced; late answers are welcome until then.
    Closing(Time),
    Over,
}

/// One flow under way.
#[derive(Debug)]
pub struct Flow {
    /// Numbered from 1, in order of their starts.
    pub index: u32,
    /// When it began.
    pub started: Time,
    /// When it had delivered everything; none if it has not, or has no size.
    pub completed: Option<Time>,
    /// The law at work.
    pub sender: Sender,
    /// Sum and count of round-trip times since they were last taken, s.
    pub round_trips: (f64, u32),
    /// Whether a router of the law ever wrote into an answer; none while that is not known.
    pub routed: Option<bool>,
    /// When it is due, as far as the heap of deadlines knows.
    pub queued: Option<Time>,
    size: Option<Bytes>,
    to_send: u64,
    stop: Option<Time>,
    least: u64,
    phase: Phase,
}

impl Flow {
    /// The flow of this number of a plan begins, under a name of its own; datagrams have so much before their payload.
    #[must_use]
    pub fn new(plan: &Plan, index: u32, id: u32, overhead: usize, now: Time) -> Self {
        let header = plan.params.law().header_bytes;
        let mut sender = Sender::new(plan.params.clone(), plan.packet, id).with_max_rate(plan.max_rate);
        if let Some((journal, values)) = &plan.journal {
            let info = FlowInfo {
                packet_size: plan.packet,
            };
            sender = sender.with_log(journal.log(plan.params.law(), Role::Sender(info), values));
        }
        Self {
            index,
            started: now,
            completed: None,
            sender,
            round_trips: (0.0, 0),
            routed: None,
            queued: None,
            size: plan.size,
            to_send: plan.size.map_or(u64::MAX, Bytes::get),
            stop: plan.time.map(|time| Time::ZERO + time),
            least: (overhead + LENGTH + header) as u64,
            phase: Phase::Sending,
        }
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When something is to be done.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        match self.phase {
            Phase::Over => None,
            Phase::Closing(until) => Some(until),
            Phase::Sending => {
                let next = if self.to_send > 0 { self.sender.next() } else { None };
                let dues = [next, self.sender.timer(), self.stop];
                dues.into_iter().flatten().min()
            }
        }
    }

    /// Does what is due; gives the size on the wire of a packet to send, and writes what precedes its payload to `out`.
    pub fn act(&mut self, now: Time, stamp: u64, out: &mut [u8; LONGEST]) -> Option<(Bytes, usize)> {
        match self.phase {
            Phase::Over => None,
            Phase::Closing(until) if now < until => None,
            Phase::Closing(_) => {
                self.phase = Phase::Over;
                Some(self.control(now, stamp, Kind::Fin, out)) // the first may have been lost
            }
            Phase::Sending => self.go_on(now, stamp, out),
        }
    }

    fn go_on(&mut self, now: Time, stamp: u64, out: &mut [u8; LONGEST]) -> Option<(Bytes, usize)> {
        let delivered = self.to_send == 0 && self.sender.outstanding() == 0;
        if delivered || self.stop.is_some_and(|stop| now >= stop) {
            if delivered {
                self.completed.get_or_insert(now);
            }
            let patience = self
                .sender
                .rtt()
                .map_or(Duration::from_ms(200), |rtt| rtt.min(Duration::from_ms(500)) * 2);
            self.phase = Phase::Closing(now.checked_add(patience).unwrap_or(now));
            return Some(self.control(now, stamp, Kind::Fin, out));
        }
        if self.sender.timer().is_some_and(|timer| timer <= now) {
            let lost = self.sender.on_timer(now);
            self.send_again(lost);
        }
        if self.to_send == 0 || self.sender.next().is_none_or(|next| next > now) {
            return None;
        }
        if !self.sender.is_open() {
            return Some(self.control(now, stamp, Kind::Syn, out));
        }
        let size = self.sender.packet_size().get().min(self.to_send).max(self.least);
        if self.size.is_some() {
            self.to_send = self.to_send.saturating_sub(size);
        }
        let size = Bytes::new(size);
        Some((size, self.sender.stamp(now, stamp, Kind::Data, size, out)))
    }

    fn control(&mut self, now: Time, stamp: u64, kind: Kind, out: &mut [u8; LONGEST]) -> (Bytes, usize) {
        let size = Bytes::new(self.least);
        (size, self.sender.stamp(now, stamp, kind, size, out))
    }

    fn send_again(&mut self, lost: Bytes) {
        if self.size.is_some() {
            self.to_send += lost.get();
        }
    }

    /// An answer counted.
    pub fn on_answer(&mut self, now: Time, answer: &Answer) {
        self.round_trips.0 += answer.rtt.as_secs_f64();
        self.round_trips.1 += 1;
        if let Some(routed) = answer.routed {
            self.routed = Some(routed || self.routed == Some(true));
        }
        self.send_again(answer.lost_bytes);
        if self.size.is_some() && self.to_send == 0 && self.sender.outstanding() == 0 {
            self.completed.get_or_insert(now);
        }
    }
}
