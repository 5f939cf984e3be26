//! Daemon that sizes the queues of a device in real time. It reads counters, runs algorithms, sets limits, and restores
//! the original limits at the end.

use std::time::{Duration as Span, Instant};

use levelflow_units::{Duration, Rate};

use super::control::{Control, Targets};
use super::memory::{Memory, Sharer};
use super::meter::{Measured, Meter};
use super::queue::{self, SizedQueue};
use super::reading::{Reading, Total};
use super::restore::{Outcome, SavedLimit, SavedState};
use super::trouble::failed;
use levelflow_host::Error;
use levelflow_host::clock::span;
use levelflow_host::limit::{limit_of, same_but_limit, with_limit};
use levelflow_host::qdisc::{Device, Queue};
use levelflow_host::stop::Stop;
use levelflow_host::tc::Handle;

/// Number of backlog readings per interval.
const SAMPLES_PER_INTERVAL: u32 = 5;
/// Shortest time between two backlog readings.
const MIN_SAMPLE_GAP: Span = Span::from_millis(20);
/// Longest time between two backlog readings.
const MAX_SAMPLE_GAP: Span = Span::from_millis(200);

/// Queue with its controller.
#[derive(Debug)]
pub struct SizedPort {
    /// The queue.
    pub place: SizedQueue,
    /// Controller of the queue.
    pub control: Control,
    /// Totals over the run.
    pub total: Total,
    meter: Option<Meter>,
    /// Current limit.
    limit: u32,
    /// Latest reading.
    queue: Queue,
}

/// Daemon that sizes the queues of a device. When dropped, the daemon restores the original limits if they are not
/// restored yet.
#[derive(Debug)]
pub struct Daemon {
    device: Device,
    ports: Vec<SizedPort>,
    targets: Targets,
    /// Saved limits; `None` if the daemon has set no limits.
    undo: Option<SavedState>,
    /// Start of the run. It is an `Instant`, because a [`Time`](levelflow_units::Time) overflows after 213 days.
    began: Instant,
}

impl Daemon {
    /// Finds the queues and checks all options. Changes nothing.
    ///
    /// # Errors
    /// When a queue cannot be sized, or does not fit the targets.
    pub fn new(mut device: Device, queues: &[Handle], capacity: Option<Rate>, targets: Targets) -> Result<Self, Error> {
        let places = if queues.is_empty() {
            vec![queue::find(&mut device, None, capacity)?]
        } else {
            let found = queues.iter().map(|at| queue::find(&mut device, Some(*at), capacity));
            found.collect::<Result<Vec<_>, _>>()?
        };
        let mut ports: Vec<SizedPort> = Vec::new();
        for place in places {
            if ports.iter().any(|port| port.place.handle == place.handle) {
                return Err(Error::input(format!("--qdisc {}: named twice", place.handle)));
            }
            let (control, limit) = (Control::new(&targets, &place)?, place.limit);
            ports.push(SizedPort {
                place,
                control,
                total: Total::default(),
                meter: None,
                limit,
                queue: Queue::default(),
            });
        }
        if let Some(memory) = targets.memory {
            memory.check(ports.iter().map(|port| (&port.place, port.control.least())))?;
        }
        Ok(Self {
            device,
            ports,
            targets,
            undo: None,
            began: Instant::now(),
        })
    }

    /// Returns the queues.
    #[must_use]
    pub fn ports(&self) -> &[SizedPort] {
        &self.ports
    }

    /// Returns the memory that the queues share.
    #[must_use]
    pub fn memory(&self) -> Option<Memory> {
        self.targets.memory
    }

    /// Sets each queue to the initial limit of its algorithm. This is the current limit of the queue, or the nearest
    /// limit within bounds.
    ///
    /// # Errors
    /// When privileges are missing. In this case, no limit has changed.
    pub fn arm(&mut self) -> Result<(), Error> {
        let places: Vec<SizedQueue> = self.ports.iter().map(|port| port.place.clone()).collect();
        self.undo = Some(SavedState::begin(&self.device, &places)?);
        for index in 0..places.len() {
            self.read(index)?;
            // Even an unchanged limit is set, so that a missing permission is detected before the first decision.
            self.set(index, self.ports[index].limit)?;
        }
        let first = self.ports.iter().map(|port| port.control.nearest(port.place.limit));
        let first = first.collect::<Vec<_>>();
        self.grant(&first).map(|_| ())
    }

    /// Runs the control loop until stopped, or for a duration. Calls `see` with each decision and the number of its
    /// queue.
    ///
    /// # Errors
    /// When the device or a queue is gone, or another process has set a limit.
    pub fn run(
        &mut self,
        stop: &Stop,
        time: Option<Duration>,
        mut see: impl FnMut(usize, &Reading),
    ) -> Result<(), Error> {
        self.began = Instant::now();
        let every = span(self.targets.every);
        let gap = (every / SAMPLES_PER_INTERVAL).clamp(MIN_SAMPLE_GAP, MAX_SAMPLE_GAP);
        let end = time.map(|time| self.began + span(time));
        let mut decision = self.began + every;
        self.look(false, &mut see)?;
        loop {
            let now = Instant::now();
            let due = (now + gap).min(decision);
            let due = end.map_or(due, |end| end.min(due));
            if stop.within(due.saturating_duration_since(now)) {
                return Ok(());
            }
            let now = Instant::now();
            let decides = now >= decision;
            self.look(decides, &mut see)?;
            if decides {
                decision = following(decision, every, Instant::now());
            }
            if end.is_some_and(|end| now >= end) {
                return Ok(());
            }
        }
    }

    /// Reads every queue. If `decides` is true, ends the interval and decides on the limits.
    fn look(&mut self, decides: bool, see: &mut impl FnMut(usize, &Reading)) -> Result<(), Error> {
        let mut readings = Vec::new();
        for index in 0..self.ports.len() {
            let queue = self.read(index)?;
            let now = Instant::now();
            let port = &mut self.ports[index];
            match &mut port.meter {
                None => port.meter = Some(Meter::new(&port.place, now, queue)),
                Some(meter) if decides => {
                    let measured = meter.close(now, queue);
                    readings.push(self.decide(index, &measured, now));
                }
                Some(meter) => meter.sample(now, queue),
            }
        }
        if readings.len() < self.ports.len() {
            return Ok(());
        }
        let wanted: Vec<u32> = readings.iter().map(|reading| reading.wanted).collect();
        let limits = self.grant(&wanted)?;
        for (index, (mut reading, limit)) in readings.into_iter().zip(limits).enumerate() {
            reading.limit = limit;
            self.ports[index].total.add(&reading);
            see(index, &reading);
        }
        Ok(())
    }

    fn read(&mut self, index: usize) -> Result<Queue, Error> {
        let port = &self.ports[index];
        let handle = port.place.handle;
        let found = self.device.queue_of(handle).map_err(|e| failed(&self.device, &e))?;
        let name = &self.device.name;
        if found.queue.kind != port.place.kind {
            let kind = &found.queue.kind;
            return Err(Error::failed(format!(
                "{name}: another process replaced {handle} by a {kind}"
            )));
        }
        let limit = limit_of(&found.queue.kind, &found.options).unwrap_or(port.limit);
        if !same_but_limit(&port.place.kind, &port.place.options, &found.options) {
            return Err(Error::failed(format!(
                "{name}: another process gave {handle} another rate or burst"
            )));
        }
        if limit != port.limit {
            let text = port.place.unit.text(limit);
            return Err(Error::failed(format!(
                "{name}: another process set the limit of {handle} to {text}"
            )));
        }
        self.ports[index].queue = found.queue.clone();
        Ok(found.queue)
    }

    fn decide(&mut self, index: usize, measured: &Measured, now: Instant) -> Reading {
        let port = &mut self.ports[index];
        Reading {
            time: now.saturating_duration_since(self.began).as_secs_f64(),
            device: self.device.name.clone(),
            qdisc: port.place.handle,
            utilisation: port.control.utilisation(&measured.load),
            wait: port.control.wait(&measured.load),
            before: port.limit,
            wanted: port.control.decide(&measured.load),
            set: self.undo.is_some(),
            ..Reading::of(measured, port.place.unit)
        }
    }

    /// Sets each queue to the limit that its algorithm requests, or to its share of the memory. Notifies the
    /// algorithms. Returns the limits.
    fn grant(&mut self, wanted: &[u32]) -> Result<Vec<u32>, Error> {
        // Memory must be free before another queue gets it. Smaller limits are therefore set first, and their queues
        // are read again.
        for (index, limit) in self.divide(wanted).into_iter().enumerate() {
            if limit < self.ports[index].limit {
                self.set(index, limit)?;
                self.read(index)?;
            }
        }
        let limits = self.divide(wanted);
        for (index, &limit) in limits.iter().enumerate() {
            if limit != self.ports[index].limit {
                self.set(index, limit)?;
            }
            let port = &mut self.ports[index];
            if self.undo.is_some() || limit == port.limit {
                port.control.grant(limit);
            } else {
                // In a dry run, this limit was not set, so the traffic does not react to it. The algorithm starts anew.
                // Otherwise, it would repeat the same step in each interval.
                port.control = Control::new(&self.targets, &port.place)?;
            }
        }
        Ok(limits)
    }

    fn divide(&self, wanted: &[u32]) -> Vec<u32> {
        let Some(memory) = self.targets.memory else {
            return wanted.to_vec();
        };
        let sharers = self.ports.iter().zip(wanted).map(|(port, &wanted)| Sharer {
            place: &port.place,
            least: port.control.least(),
            wanted,
            limit: port.limit,
            queue: &port.queue,
        });
        memory.divide(&sharers.collect::<Vec<_>>())
    }

    fn set(&mut self, index: usize, limit: u32) -> Result<(), Error> {
        let port = &mut self.ports[index];
        let Some((undo, options)) = self
            .undo
            .as_mut()
            .zip(with_limit(&port.place.kind, &port.place.options, limit))
        else {
            return Ok(());
        };
        undo.about(index, limit)?;
        self.device
            .change(port.place.handle, &port.place.kind, options)
            .map_err(|e| failed(&self.device, &e))?;
        port.limit = limit;
        Ok(())
    }

    /// Restores the limits of all queues. Returns the outcome of each queue, and the first error of the kernel.
    pub fn restore(&mut self) -> (Vec<(SavedLimit, Outcome)>, Result<(), Error>) {
        let undo = self.undo.take();
        undo.map_or((Vec::new(), Ok(())), |undo| undo.restore(&mut self.device))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.restore(); // does nothing after an earlier call, which has reported its errors
    }
}

/// Returns the time of the next decision. After a pause of the machine, a whole interval passes before the decision. A
/// very short interval would contain no information.
fn following(decision: Instant, every: Span, now: Instant) -> Instant {
    let next = decision + every;
    if next < now + every / 2 { now + every } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_lasts_half_of_its_time_or_more() {
        let begin = Instant::now();
        let ms = |ms| begin + Span::from_millis(ms);
        let next = |now| following(ms(1000), Span::from_millis(200), ms(now));
        assert_eq!([next(1000), next(1020), next(1100)], [ms(1200); 3], "on time");
        assert_eq!([next(1101), next(1199), next(9000)], [ms(1301), ms(1399), ms(9200)]);
    }
}
