//! Which flows there are: their number, size and starts; and one of them under way.

use levelflow_laws::{Any, AnyParams, FlowInfo, Protocol};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::Role;
use levelflow_wire::shim::{LENGTH, LONGEST};
use rand::RngExt as _;

use levelflow_host::journal::Journal;
use levelflow_host::journal::Sender;
use levelflow_transport::{Encoded, Limits, News};

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
    /// Log of the laws' inputs, and the values of their parameters for it.
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
    /// Its end was announced; late ACKs are accepted until then.
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
    /// Time of the last delivery of a transfer; none if it is not complete, has no size, or gets no ACKs.
    pub completed: Option<Time>,
    /// The law at work.
    pub sender: Sender,
    /// Sum and count of round-trip times since they were last taken, s.
    pub round_trips: (f64, u32),
    /// Whether a router of the law ever wrote into an ACK; none while that is not known.
    pub routed: Option<bool>,
    /// When it is due, as far as the heap of deadlines knows.
    pub queued: Option<Time>,
    /// True if the sender is notified of the last delivery.
    completes: bool,
    phase: Phase,
}

impl Flow {
    /// The flow of this number of a plan begins, under a name of its own; datagrams have so much before their payload.
    #[must_use]
    pub fn new(plan: &Plan, index: u32, id: u32, overhead: usize, now: Time) -> Self {
        let least = (overhead + LENGTH + plan.params.law().header_bytes()) as u16;
        let limits = Limits {
            max_rate: Some(plan.max_rate),
            catch_up: Limits::OWN_THREAD,
            control: least,
            least,
        };
        let stop = plan.time.map(|time| Time::ZERO + time);
        let info = FlowInfo {
            packet_size: plan.packet,
            seed: rand::random(),
        };
        let mut sender = Sender::new(plan.params.clone(), info, id)
            .with_limits(limits)
            .with_transfer(plan.size.map(Bytes::get), stop, plan.size.is_some());
        if let Some((journal, values)) = &plan.journal {
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
            completes: plan.size.is_some() && Any::transport(&plan.params).acknowledged,
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
            Phase::Sending if self.sender.is_done(Time::ZERO) => Some(Time::ZERO),
            Phase::Sending => self.sender.poll_timeout(),
        }
    }

    /// Does what is due; writes what precedes the payload of a packet to send to `out`.
    pub fn act(&mut self, now: Time, stamp: u64, out: &mut [u8; LONGEST]) -> Option<Encoded> {
        match self.phase {
            Phase::Over => None,
            Phase::Closing(until) if now < until => None,
            Phase::Closing(_) => {
                self.phase = Phase::Over;
                Some(self.sender.transmit_end(now, stamp, out)) // the first may have been lost
            }
            Phase::Sending if self.sender.is_done(now) => {
                self.note_completion(now);
                let patience = self
                    .sender
                    .rtt()
                    .map_or(Duration::from_ms(200), |rtt| rtt.min(Duration::from_ms(500)) * 2);
                self.phase = Phase::Closing(now.saturating_add(patience));
                Some(self.sender.transmit_end(now, stamp, out))
            }
            Phase::Sending => {
                self.sender.handle_timeout(now);
                self.sender.poll_transmit(now, stamp, out)
            }
        }
    }

    /// An ACK counted.
    pub fn on_ack(&mut self, now: Time, news: &News) {
        self.round_trips.0 += news.rtt.as_secs_f64();
        self.round_trips.1 += 1;
        if let Some(routed) = news.routed {
            self.routed = Some(routed || self.routed == Some(true));
        }
        self.note_completion(now);
    }

    fn note_completion(&mut self, now: Time) {
        if self.completes && self.sender.is_done(Time::ZERO) {
            self.completed.get_or_insert(now);
        }
    }
}
