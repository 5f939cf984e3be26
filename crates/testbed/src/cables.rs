//! All cables of a testbed in one thread: laws, queues, delays and losses of each direction, between packet sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use levelflow_laws::{Arriving, PortInfo, RouterLaw};
use levelflow_path::{Hop, Propagation, Settings};
use levelflow_scenario::LinkSpec;
use levelflow_units::{Bytes, Duration, Time};
use rustix::event::{PollFd, PollFlags};

use super::frame;
use super::meter::{LinkSample, LinkTotal, Part, Reports, Samples};
use super::plan::{Form, Way};
use levelflow_host::clock::Clock;
use levelflow_host::{Error, sys};
use levelflow_link::{PREFIX, Port as Device};
use levelflow_router::port::{Class, Port};

/// Sleep at most so long, so that the end is seen.
const NAP: Duration = Duration::from_ms(20);

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    /// Where the payload begins that the law has stamped.
    ours: Option<usize>,
}

/// One direction at work.
#[derive(Debug)]
pub struct Lane {
    link: Option<usize>,
    /// Its queue is here.
    sampled: bool,
    law: Option<Port>,
    /// Rate and buffer.
    queue: Hop<Frame>,
    /// Delay and loss.
    wire: Hop<Frame>,
    sample: LinkSample,
    total: LinkTotal,
    /// Bytes that came and were dropped in the router's interval, and when that began.
    interval: (u64, u64, Time),
}

impl Lane {
    /// An idle direction; `spec` is that of its link, if the scenario has one there. It has neither queue nor law if they are
    /// the kernel's.
    #[must_use]
    pub fn new(way: &Way, spec: Option<&LinkSpec<levelflow_laws::Any>>, form: Form, entries: usize, seed: u64) -> Self {
        let name = spec.map_or("", |s| s.name.as_str());
        let mut queue = Settings::default();
        if let Some((rate, buffer)) = way.queue.filter(|_| form == Form::User) {
            (queue.rate, queue.buffer) = (Some(rate), buffer);
        }
        let wire = Settings {
            wire: Propagation {
                delay: way.delay,
                loss: way.loss,
                ..Propagation::default()
            },
            ..Settings::default()
        };
        let ours = spec.filter(|_| form == Form::User);
        let law = ours.and_then(|s| Some((s.routers.first()?, s.capacity)));
        let id = way.link.map_or(0, |l| l as u32) + 1;
        Self {
            link: way.link,
            sampled: form == Form::User,
            law: law.map(|(params, capacity)| Port::new(params.clone(), PortInfo { id, capacity }, Time::ZERO)),
            queue: Hop::new(queue, seed, name),
            wire: Hop::new(wire, seed, name),
            sample: LinkSample::default(),
            total: LinkTotal {
                dropped_of: vec![0; entries],
                ..LinkTotal::default()
            },
            interval: (0, 0, Time::ZERO),
        }
    }

    fn arrive(&mut self, now: Time, frame: &[u8], spare: &mut Vec<Vec<u8>>) {
        let size = (frame.len() - PREFIX) as u64;
        let mut bytes = spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(frame);
        let (queue, packets) = self.queue.backlog(now);
        self.total.queue.record(queue.get());
        let mut frame = Frame { bytes, ours: None };
        if let Some(law) = &mut self.law {
            let packets = packets as u32;
            let arriving = Arriving {
                now,
                size: Bytes::new(size),
                queue,
                packets,
            };
            let payload = frame::payload(&frame.bytes);
            let class = law.arrive(&arriving, payload.map_or(&mut [], |at| &mut frame.bytes[at..]));
            frame.ours = payload.filter(|_| class == Class::Ours);
            if let Some(at) = frame.ours {
                frame::mend(&mut frame.bytes, at);
            }
        }
        let to = frame::entry(&frame.bytes);
        let taken = self.queue.handle_input(now, Bytes::new(size), frame).is_ok();
        (self.total.arrived, self.total.arrived_bytes) = (self.total.arrived + 1, self.total.arrived_bytes + size);
        self.sample.arrived += size;
        self.interval.0 += size;
        self.sample.most = self.sample.most.max(self.queue.backlog(now).0.get());
        if !taken {
            self.drop(size, to);
        }
    }

    fn drop(&mut self, size: u64, to: Option<usize>) {
        if let Some(law) = &mut self.law {
            law.lose(1, Bytes::new(size));
        }
        (self.total.dropped, self.total.dropped_bytes) = (self.total.dropped + 1, self.total.dropped_bytes + size);
        (self.sample.dropped, self.sample.dropped_bytes) = (self.sample.dropped + 1, self.sample.dropped_bytes + size);
        self.interval.1 += size;
        if let Some(count) = to.and_then(|entry| self.total.dropped_of.get_mut(entry)) {
            *count += 1;
        }
    }

    /// Departures and ends of intervals up to now; `out` gets what is due at the far end.
    fn advance(
        &mut self,
        now: Time,
        mut out: impl FnMut(&[u8]) -> Result<(), Error>,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        while let Some((left, mut frame)) = self.queue.poll_output(now) {
            let size = (frame.bytes.len() - PREFIX) as u64;
            (self.sample.sent, self.total.sent_bytes) = (self.sample.sent + size, self.total.sent_bytes + size);
            if let Some((law, at)) = self.law.as_mut().zip(frame.ours) {
                law.depart(Bytes::new(size), &mut frame.bytes[at..]);
                frame::mend(&mut frame.bytes, at);
            }
            let lost = self.wire.counters().lost;
            let _ = self.wire.handle_input(left, Bytes::new(size), frame); // it has no limit
            self.total.lost += self.wire.counters().lost - lost;
        }
        while let Some((due, frame)) = self.wire.poll_output(now) {
            self.total.delivered += 1;
            self.total.late.record(now.since(due).as_ps() / 1000);
            out(&frame.bytes)?;
            spare.push(frame.bytes);
        }
        let Some(law) = &mut self.law else { return Ok(()) };
        if law.due() <= now {
            let (queue, packets) = self.queue.backlog(now);
            law.close(now, queue, packets as u32);
            let (arrived, dropped, since) = std::mem::replace(&mut self.interval, (0, 0, now));
            let elapsed = now.since(since).as_secs_f64();
            if elapsed > 0.0 && arrived > 0 {
                self.sample.peak_rate = self.sample.peak_rate.max(arrived as f64 * 8.0 / elapsed);
                self.sample.peak_loss = self.sample.peak_loss.max(dropped as f64 / arrived as f64);
            }
        }
        Ok(())
    }

    fn due(&self) -> Option<Time> {
        let law = self.law.as_ref().map(Port::due);
        [self.queue.poll_timeout(), self.wire.poll_timeout(), law]
            .into_iter()
            .flatten()
            .min()
    }

    fn sample(&mut self, now: Time) -> Option<(usize, LinkSample)> {
        let (queue, packets) = self.queue.backlog(now);
        let mut sample = std::mem::take(&mut self.sample);
        (sample.queue, sample.packets) = (queue.get(), packets as u32);
        sample.most = sample.most.max(queue.get());
        sample.signal = self.law.as_ref().map_or(f64::NAN, |law| law.law().signal());
        self.link.filter(|_| self.sampled).map(|link| (link, sample))
    }
}

/// A cable at work: its devices, and the directions from the first and from the second.
#[derive(Debug)]
pub struct Cable {
    /// Devices at its ends.
    pub ends: [Device; 2],
    /// From the first end to the second, and back.
    pub lanes: [Lane; 2],
}

/// Moves packets until it is told to stop; gives totals by number of the link.
///
/// # Errors
/// When a device vanishes.
pub fn run(
    mut cables: Vec<Cable>,
    clock: Clock,
    mut samples: Samples,
    reports: &Reports,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<(usize, LinkTotal)>, Error> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without it, packets are later
    let mut spare = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut more = false;
        for cable in &mut cables {
            more |= cable.turn(&clock, &mut spare)?;
        }
        let now = clock.now();
        if samples.due().is_some_and(|due| due <= now) {
            let all = cables.iter_mut().flat_map(|c| &mut c.lanes);
            let parts = all.filter_map(|lane| lane.sample(now)).collect();
            let _ = reports.send((samples.take(), Part::Links(parts))); // nobody listens: the end
        }
        if !more {
            let dues = cables.iter().flat_map(|c| &c.lanes).filter_map(Lane::due);
            let next = dues.chain(samples.due()).fold(now + NAP, Time::min);
            let devices = cables.iter().flat_map(|c| &c.ends);
            let mut watched: Vec<_> = devices
                .map(|d| PollFd::from_borrowed_fd(d.socket(), PollFlags::IN))
                .collect();
            clock.ready(&mut watched, next)?;
        }
    }
    let lanes = cables.into_iter().flat_map(|c| c.lanes);
    Ok(lanes.filter_map(|lane| Some((lane.link?, lane.total))).collect())
}

impl Cable {
    /// Takes what has come and sends what is due; `true`: more may have come.
    fn turn(&mut self, clock: &Clock, spare: &mut Vec<Vec<u8>>) -> Result<bool, Error> {
        let mut more = false;
        for (end, lane) in self.ends.iter_mut().zip(&mut self.lanes) {
            more |= end.receive(clock, |at, frame| lane.arrive(at, frame, spare))?;
        }
        let [first, second] = &mut self.ends;
        let now = clock.now();
        self.lanes[0].advance(now, |frame| second.send(frame), spare)?;
        self.lanes[1].advance(now, |frame| first.send(frame), spare)?;
        Ok(more)
    }
}
