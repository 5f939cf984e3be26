//! Flows of a load: their number, sizes and start times, and the state of one flow.

use levelflow_laws::{Any, AnyParams, FlowInfo, Protocol};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::framing::Framing;
use levelflow_wire::journal::Role;
use levelflow_wire::shim::{MAX_PREFIX_BYTES, prefix_bytes};
use rand::RngExt as _;

use levelflow_journal::{Journal, Sender};
use levelflow_transport::{AckReport, Encoded, Limits};

/// Flows to send.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Law of all flows.
    pub params: AnyParams,
    /// Number of flows. Not used with `arrivals`.
    pub flows: u32,
    /// Time between the starts of two flows.
    pub start_every: Duration,
    /// Rate of random arrivals (Poisson), flows per second; none if `flows` and `start_every` determine the starts.
    pub arrivals: Option<f64>,
    /// Payload of each flow, without headers; none for endless flows.
    pub size: Option<Bytes>,
    /// Stop time of all flows; none if each flow continues until its data is delivered.
    pub time: Option<Duration>,
    /// Size of the largest packet on the wire.
    pub packet: Bytes,
    /// Rate limit of a flow.
    pub max_rate: Rate,
    /// Log of the laws' inputs, and parameter values to write into it.
    pub journal: Option<(Journal, Vec<f64>)>,
}

impl Plan {
    /// Start times of flows, in order.
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
    /// The sender has announced the end of the flow. Late ACKs are accepted until this time.
    Closing(Time),
    Over,
}

/// Flow in progress.
#[derive(Debug)]
pub struct Flow {
    /// Number from 1, in order of start times.
    pub index: u32,
    /// Start time.
    pub started: Time,
    /// Time at which the transfer was complete. None if the flow is incomplete, has no size, or receives no ACKs.
    pub completed: Option<Time>,
    /// Sender with the law.
    pub sender: Sender,
    /// Sum of the round-trip times since the latest progress report, s, and their number.
    pub round_trips: (f64, u32),
    /// True if an ACK has shown a router of the law on the path. None if no ACK shows whether there is one.
    pub routed: Option<bool>,
    /// Deadline of the flow in the heap of deadlines.
    pub queued: Option<Time>,
    /// True if the flow has a size and receives ACKs, so that its sender detects the end of the transfer.
    completes: bool,
    phase: Phase,
}

impl Flow {
    /// Creates flow number `index` of a plan, with the random identifier `id`. On the wire, each datagram has
    /// `overhead` bytes of headers before its payload.
    #[must_use]
    pub fn new(plan: &Plan, index: u32, id: u32, overhead: usize, now: Time) -> Self {
        let headers = (overhead + prefix_bytes(plan.params.law().signalling)) as u16;
        let limits = Limits {
            max_rate: Some(plan.max_rate),
            catch_up: Limits::OWN_THREAD,
            control: headers,
            headers,
            least: headers + 1,
        };
        let framing = Framing {
            packet: plan.packet,
            headers: Bytes::new(headers.into()),
        };
        let stop = plan.time.map(|time| Time::ZERO + time);
        let info = FlowInfo::of(plan.packet).with(rand::random(), plan.size.map(|size| framing.wire_size(size)));
        let mut sender = Sender::new(plan.params.clone(), info, id)
            .with_limits(limits)
            .with_transfer(plan.size.map(Bytes::get), stop, plan.size.is_some());
        if let Some((journal, values)) = &plan.journal {
            sender = sender.with_log(journal.log(Role::Sender(plan.params.law(), info), values));
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

    /// True if the flow needs no further action.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Time of the next action.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        match self.phase {
            Phase::Over => None,
            Phase::Closing(until) => Some(until),
            Phase::Sending if self.sender.is_done(Time::ZERO) => Some(Time::ZERO),
            Phase::Sending => self.sender.poll_timeout(),
        }
    }

    /// Performs the action that is due. If the action sends a packet, writes the shim and the header of the packet to
    /// `out`.
    pub fn act(&mut self, now: Time, stamp: u64, out: &mut [u8; MAX_PREFIX_BYTES]) -> Option<Encoded> {
        match self.phase {
            Phase::Over => None,
            Phase::Closing(until) if now < until => None,
            Phase::Closing(_) => {
                self.phase = Phase::Over;
                Some(self.sender.transmit_end(now, stamp, out)) // the first closing packet may have been lost
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

    /// Counts an accepted ACK.
    pub fn on_ack(&mut self, now: Time, news: &AckReport) {
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
