//! Kernel queues of a testbed. Each queue is a token bucket on the sending node's device. The BPF program of the law
//! runs before the queue. One thread closes the control intervals of all laws, and reads all queues every
//! [`QUEUE_READ_INTERVAL`].

use levelflow_laws::{AnyRouterParams, PortInfo, RouterLaw};
use levelflow_units::Time;

use super::meter::{Counted, LinkSample, LinkTotal, Part, Task};
use levelflow_host::clock::Clock;
use levelflow_host::qdisc::{Device, Queue, bytes_of};
use levelflow_host::{Error, sys};
use levelflow_router::device::{Attached, Interval, QUEUE_READ_INTERVAL, gone};
use levelflow_router::kernel::Program;

/// Kernel queue on a newly created device.
#[derive(Debug)]
pub struct TokenBucket {
    /// Number of the link in the scenario.
    pub link: usize,
    /// Device of the queue.
    pub device: Device,
    /// Reading of the queue before any flow starts. Counts of the run are relative to this reading.
    pub queue: Queue,
    /// BPF program in front of the queue, and its parameters. `None` if the link has no router.
    pub law: Option<(Program, AnyRouterParams, PortInfo)>,
}

/// Source of queue readings: the device alone, or the router attached to the device.
enum Line {
    Bare(Device),
    Ruled(Box<Attached<Program>>),
}

struct Work {
    link: usize,
    line: Line,
    /// Latest reading of the queue.
    queue: Queue,
    sample: LinkSample,
    total: LinkTotal,
    /// Number of packets that left the queue, from which their mean size follows. Dropped packets are assumed to have
    /// this size.
    sent: u64,
}

/// Closes control intervals and reads queues until the worker is stopped. Returns totals, by link number.
///
/// # Errors
/// When a device disappears, or the kernel does not reply.
pub fn run(token_buckets: Vec<TokenBucket>, mut task: Task) -> Counted<LinkTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without real-time priority, intervals are longer
    let work = |bucket| Work::new(bucket, task.clock);
    let mut all = token_buckets.into_iter().map(work).collect::<Result<Vec<_>, _>>()?;
    let mut reading = task.clock.now();
    while task.goes_on() {
        let now = task.clock.now();
        for work in &mut all {
            work.close(now)?;
        }
        let due = task.due().is_some_and(|due| due <= now);
        if now >= reading || due {
            for work in &mut all {
                work.read()?;
            }
            reading = now + QUEUE_READ_INTERVAL;
        }
        task.sample(now, || {
            Part::Links(all.iter_mut().map(|w| (w.link, w.sample())).collect())
        });
        let dues = all.iter().filter_map(Work::due).chain(task.due());
        std::thread::sleep(task.clock.until(dues.fold(reading, Time::min)));
    }
    all.into_iter().map(Work::end).collect()
}

impl Work {
    fn new(bucket: TokenBucket, clock: Clock) -> Result<Self, Error> {
        let TokenBucket {
            link,
            device,
            queue,
            law,
        } = bucket;
        let line = match law {
            None => Line::Bare(device),
            Some((program, params, info)) => {
                Line::Ruled(Box::new(Attached::new(device, program, params, info, clock)?))
            }
        };
        Ok(Self {
            link,
            line,
            queue,
            sample: LinkSample::default(),
            total: LinkTotal::default(),
            sent: 0,
        })
    }

    fn due(&self) -> Option<Time> {
        match &self.line {
            Line::Bare(_) => None,
            Line::Ruled(attached) => Some(attached.due()),
        }
    }

    fn close(&mut self, now: Time) -> Result<(), Error> {
        let Line::Ruled(attached) = &mut self.line else {
            return Ok(());
        };
        if attached.due() > now {
            return Ok(());
        }
        let Interval {
            length,
            arrived,
            dropped,
        } = attached.close()?;
        self.sample.end_interval(length, arrived, dropped);
        Ok(())
    }

    /// Reads the queue, and adds the difference from the previous reading to the counts.
    fn read(&mut self) -> Result<(), Error> {
        let now = match &mut self.line {
            Line::Bare(device) => device.queue().map_err(|e| gone(device, &e))?,
            Line::Ruled(attached) => attached.refresh()?,
        };
        let (sample, total) = (&mut self.sample, &mut self.total);
        let packets = now.sent_packets.wrapping_sub(self.queue.sent_packets);
        let bytes = now.sent_bytes.saturating_sub(self.queue.sent_bytes);
        let dropped = now.dropped_since(&self.queue);
        self.sent += u64::from(packets);
        total.sent_bytes += bytes;
        sample.sent += bytes;
        let lost = bytes_of(dropped, total.sent_bytes, self.sent).get();
        (total.dropped, total.dropped_bytes) = (total.dropped + u64::from(dropped), total.dropped_bytes + lost);
        (sample.dropped, sample.dropped_bytes) = (sample.dropped + u64::from(dropped), sample.dropped_bytes + lost);
        let came = (bytes + lost + now.backlog).saturating_sub(self.queue.backlog);
        let arrived = u64::from(packets) + u64::from(dropped) + u64::from(now.packets);
        let arrived = arrived.saturating_sub(self.queue.packets.into());
        (total.arrived, total.arrived_bytes) = (total.arrived + arrived, total.arrived_bytes + came);
        sample.arrived += came;
        sample.most = sample.most.max(now.backlog);
        total.backlog_max = total.backlog_max.max(now.backlog);
        total.backlog_sum += u128::from(arrived) * u128::from(now.backlog); // estimate: each packet found this backlog
        self.queue = now;
        Ok(())
    }

    fn sample(&mut self) -> LinkSample {
        let mut sample = std::mem::take(&mut self.sample);
        (sample.queue, sample.packets) = (self.queue.backlog, self.queue.packets);
        sample.signal = match &self.line {
            Line::Bare(_) => f64::NAN,
            Line::Ruled(attached) => attached.port().law().signal(),
        };
        sample
    }

    fn end(mut self) -> Result<(usize, LinkTotal), Error> {
        self.read()?;
        self.total.delivered = self.sent;
        self.total.waiting = self.queue.packets.into();
        Ok((self.link, self.total))
    }
}
