//! Worker that emulates all links of a testbed. Between two packet sockets, it runs the law, queue, delay and loss of
//! each direction.

use std::collections::VecDeque;

use levelflow_laws::{AnyRouterParams, Arriving, PortInfo, RouterLaw};
use levelflow_path::scheduler::{Classes, FlowKey};
use levelflow_path::{Backlog, Datagram, Departure, Hop, HopCounters, HopLaw, Settings};
use levelflow_results::Delays;
use levelflow_scenario::{LinkSpec, LinkState};
use levelflow_units::{Bytes, Duration, Rate, Time};
use rustix::event::{PollFd, PollFlags};

use super::frame;
use super::meter::{Counted, LinkSample, LinkTotal, Part, Task};
use super::plan::{DirectionPlan, Form};
use levelflow_host::clock::Clock;
use levelflow_host::{Error, sys};
use levelflow_link::{Device, PREFIX, class};
use levelflow_router::Port;

/// Longest sleep. It limits the reaction time to `stop`.
const MAX_SLEEP: Duration = Duration::from_ms(20);

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    /// Offset of the UDP payload; `None` if the frame is not UDP.
    payload: Option<usize>,
    ours: bool,
}

impl Datagram for Frame {
    fn payload(&mut self) -> &mut [u8] {
        self.payload.map_or(&mut [], |at| &mut self.bytes[at..])
    }

    fn ours(&mut self) -> &mut bool {
        &mut self.ours
    }

    fn fix_checksum(&mut self) {
        if let Some(at) = self.payload {
            frame::fix_checksum(&mut self.bytes, at);
        }
    }
}

/// Measurements at the queue of a link, and the router port, if the link has a router.
#[derive(Debug)]
struct Watched {
    port: Option<Port>,
    /// Bytes that arrived in the current control interval, bytes that were dropped in it, and its start time.
    interval: (Bytes, Bytes, Time),
    /// Peak values since the previous sample. The fields of other values are not used.
    peaks: LinkSample,
    /// Queueing delays.
    delays: Delays,
    /// Service classes of the queue, and the queueing delays of each class.
    classes: (Classes, Vec<Delays>),
}

impl Watched {
    /// Adds the queueing delay of a packet to the statistics of the link and of the packet's service class.
    fn count_delay(&mut self, waited: Duration, class: Option<usize>) {
        self.delays.record(waited.as_ps());
        let Some(class) = class else { return };
        let classes = &mut self.classes.1;
        if classes.len() <= class {
            classes.resize_with(class + 1, Delays::default);
        }
        classes[class].record(waited.as_ps());
    }
}

impl HopLaw<Frame> for Watched {
    fn handle_arrival(&mut self, arriving: &Arriving, frame: &mut Frame) -> bool {
        self.interval.0 += arriving.size;
        self.port
            .as_mut()
            .is_none_or(|port| port.handle_arrival(arriving, frame))
    }

    fn handle_departure(&mut self, departure: &mut Departure<Frame>) {
        let class = match self.classes.0 {
            Classes::One => None,
            Classes::Latency => Some(departure.class.ecn.latency_class()),
            Classes::Flows => frame::flow_class(&departure.packet.bytes),
        };
        self.count_delay(departure.waited, class);
        if let Some(port) = &mut self.port {
            port.handle_departure(departure);
        }
    }

    fn handle_drop(&mut self, size: Bytes) {
        self.interval.1 += size;
        if let Some(port) = &mut self.port {
            port.lose(1, size);
        }
    }

    fn classify(&self, frame: &Frame) -> FlowKey {
        class::class(&frame.bytes)
    }

    fn mark(&mut self, frame: &mut Frame) -> bool {
        class::mark(&mut frame.bytes)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.port.as_ref().map(Port::due)
    }

    fn handle_timeout(&mut self, now: Time, backlog: Backlog) {
        let Some(port) = &mut self.port else { return };
        port.close(now, backlog);
        let (arrived, dropped, since) = std::mem::replace(&mut self.interval, (Bytes::ZERO, Bytes::ZERO, now));
        self.peaks.end_interval(now.since(since), arrived, dropped);
    }
}

/// Link direction in operation, with its queue.
#[derive(Debug)]
pub struct Direction {
    link: Option<usize>,
    /// True if this direction reports samples, because its queue runs in this process. A queue in the kernel has its
    /// own worker.
    sampled: bool,
    hop: Hop<Frame, Watched>,
    /// Future states of the link, in order of time.
    changes: VecDeque<LinkState>,
    /// Largest backlog since the previous sample, bytes.
    most: u64,
    /// Counters of the hop at the previous sample.
    before: HopCounters,
    /// Totals that the hop's counters do not contain.
    total: LinkTotal,
}

impl Direction {
    /// Creates an idle direction. `spec` is the link of the scenario, if the scenario has a link in this direction. If
    /// the kernel runs the queue and the law, the direction runs neither of them.
    #[must_use]
    pub fn new(
        plan: &DirectionPlan,
        spec: Option<&LinkSpec<levelflow_laws::Any>>,
        form: Form,
        entries: usize,
        seed: u64,
    ) -> Self {
        let name = spec.map_or("", |s| s.name.as_str());
        let mut settings = Settings {
            wire: plan.wire,
            ..Settings::default()
        };
        if let Some((rate, buffer)) = plan.queue.filter(|_| form == Form::User) {
            (settings.rate, settings.buffer) = (Some(rate), buffer);
        }
        let ours = spec.filter(|_| form == Form::User);
        let law = ours.and_then(|s| Some((s.routers.first()?, s.capacity)));
        let id = plan.link.map_or(0, |l| l as u32) + 1;
        let port = |(params, capacity): (&AnyRouterParams, _)| {
            Port::new(params.clone(), PortInfo { id, capacity }, Time::ZERO)
        };
        let watched = Watched {
            port: law.map(port),
            interval: (Bytes::ZERO, Bytes::ZERO, Time::ZERO),
            peaks: LinkSample::default(),
            delays: Delays::default(),
            classes: (Classes::One, Vec::new()),
        };
        let mut hop = Hop::under(watched, settings, seed, name);
        if let Some(ours) = ours {
            hop.set_queue(&ours.queue, seed, name);
            hop.law_mut().classes.0 = hop.classes();
        }
        Self {
            link: plan.link,
            sampled: form == Form::User,
            hop,
            changes: plan.changes.clone().into(),
            most: 0,
            before: HopCounters::default(),
            total: LinkTotal {
                dropped_of: vec![0; entries],
                ..LinkTotal::default()
            },
        }
    }

    fn handle_input(&mut self, now: Time, frame: &[u8], spare: &mut Vec<Vec<u8>>) {
        let mut bytes = spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(frame);
        self.catch_up(now);
        self.total.backlog_sum += u128::from(self.hop.backlog(now).0.get());
        let payload = frame::payload(&bytes);
        let size = Bytes::new((frame.len() - PREFIX) as u64);
        let came = Frame {
            bytes,
            payload,
            ours: false,
        };
        if let Err(dropped) = self.hop.handle_input(now, size, came) {
            self.count_dropped(dropped, spare);
        }
        while let Some(dropped) = self.hop.poll_dropped() {
            self.count_dropped(dropped, spare);
        }
        self.most = self.most.max(self.hop.backlog(now).0.get());
    }

    /// Counts a dropped packet for its flow entry.
    fn count_dropped(&mut self, dropped: Frame, spare: &mut Vec<Vec<u8>>) {
        let to = frame::entry(&dropped.bytes);
        if let Some(count) = to.and_then(|entry| self.total.dropped_of.get_mut(entry)) {
            *count += 1;
        }
        spare.push(dropped.bytes);
    }

    /// Processes departures and ends of control intervals until `now`. Calls `out` with each packet for the far end.
    fn advance(
        &mut self,
        now: Time,
        mut out: impl FnMut(&[u8]) -> Result<(), Error>,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        self.catch_up(now);
        self.hop.handle_timeout(now);
        while let Some(dropped) = self.hop.poll_dropped() {
            self.count_dropped(dropped, spare);
        }
        while let Some((due, frame)) = self.hop.poll_output(now) {
            self.total.late.record(now.since(due).as_ps() / 1000);
            out(&frame.bytes)?;
            spare.push(frame.bytes);
        }
        Ok(())
    }

    /// Applies all changes that are due.
    fn catch_up(&mut self, now: Time) {
        while let Some(state) = self.changes.front().copied().filter(|state| state.at <= now) {
            self.changes.pop_front();
            self.change(state);
        }
    }

    /// Applies a state of the link at the time of the change. The law is not notified of an outage.
    fn change(&mut self, state: LinkState) {
        let mut settings = self.hop.settings();
        settings.rate = Some(state.capacity);
        settings.wire = state.wire;
        self.hop.set(state.at, settings);
        if let Some(port) = self.hop.law_mut().port.as_mut().filter(|_| state.capacity > Rate::ZERO) {
            port.set_capacity(state.capacity);
        }
    }

    /// Returns the time of the direction's next event.
    fn due(&self) -> Option<Time> {
        let change = self.changes.front().map(|state| state.at);
        self.hop.poll_timeout().into_iter().chain(change).min()
    }

    fn sample(&mut self, now: Time) -> Option<(usize, LinkSample)> {
        let (queue, packets) = self.hop.backlog(now);
        let counters = self.hop.counters();
        let before = std::mem::replace(&mut self.before, counters);
        let said = self.hop.signal();
        let watched = self.hop.law_mut();
        let sample = LinkSample {
            arrived: counters.arrived_bytes - before.arrived_bytes,
            sent: counters.sent_bytes - before.sent_bytes,
            queue: queue.get(),
            packets: packets as u32,
            most: std::mem::take(&mut self.most).max(queue.get()),
            delays: watched.delays.sample(counters.sent - before.sent),
            dropped: counters.dropped - before.dropped,
            dropped_bytes: counters.dropped_bytes - before.dropped_bytes,
            marked: counters.marked - before.marked,
            signal: watched.port.as_ref().map_or(said, |port| port.law().signal()),
            ..std::mem::take(&mut watched.peaks)
        };
        self.link.filter(|_| self.sampled).map(|link| (link, sample))
    }

    fn total(mut self, now: Time) -> LinkTotal {
        let (_, waiting) = self.hop.backlog(now);
        let watched = self.hop.law_mut();
        let delays = std::mem::take(&mut watched.delays);
        let (division, classes) = (watched.classes.0, std::mem::take(&mut watched.classes.1));
        let counters = self.hop.counters();
        LinkTotal {
            arrived: counters.arrived,
            arrived_bytes: counters.arrived_bytes,
            delivered: counters.delivered,
            dropped: counters.dropped,
            dropped_bytes: counters.dropped_bytes,
            marked: counters.marked,
            lost: counters.lost,
            sent_bytes: counters.sent_bytes,
            backlog_max: counters.peak,
            waiting: waiting as u64,
            delays,
            classes: (division, classes),
            ..self.total
        }
    }
}

/// Link in operation, with its devices and both directions.
#[derive(Debug)]
pub struct Link {
    /// Devices at the two ends.
    pub ends: [Device; 2],
    /// Direction from the first end to the second end, and the reverse direction.
    pub directions: [Direction; 2],
}

/// Moves packets until `stop` is set. Returns totals, by link number.
///
/// # Errors
/// When a device disappears.
pub fn run(mut links: Vec<Link>, mut task: Task) -> Counted<LinkTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without real-time priority, timer latency is larger
    let mut spare = Vec::new();
    while task.goes_on() {
        let mut more = false;
        for link in &mut links {
            more |= link.turn(&task.clock, &mut spare)?;
        }
        let now = task.clock.now();
        task.sample(now, || {
            let all = links.iter_mut().flat_map(|link| &mut link.directions);
            Part::Links(all.filter_map(|direction| direction.sample(now)).collect())
        });
        if !more {
            let dues = links
                .iter()
                .flat_map(|link| &link.directions)
                .filter_map(Direction::due);
            let next = dues.chain(task.due()).fold(now + MAX_SLEEP, Time::min);
            let devices = links.iter().flat_map(|link| &link.ends);
            let mut watched: Vec<_> = devices
                .map(|d| PollFd::from_borrowed_fd(d.socket(), PollFlags::IN))
                .collect();
            task.clock.ready(&mut watched, next)?;
        }
    }
    let end = task.clock.now();
    let directions = links.into_iter().flat_map(|link| link.directions);
    Ok(directions
        .filter_map(|direction| Some((direction.link?, direction.total(end))))
        .collect())
}

impl Link {
    /// Receives pending frames and sends frames that are due. Returns true if more frames may be pending.
    fn turn(&mut self, clock: &Clock, spare: &mut Vec<Vec<u8>>) -> Result<bool, Error> {
        let mut more = false;
        for (end, direction) in self.ends.iter_mut().zip(&mut self.directions) {
            more |= end.receive(clock, |at, frame| direction.handle_input(at, frame, spare))?;
        }
        let [first, second] = &mut self.ends;
        let now = clock.now();
        self.directions[0].advance(now, |frame| second.send(frame), spare)?;
        self.directions[1].advance(now, |frame| first.send(frame), spare)?;
        Ok(more)
    }
}
