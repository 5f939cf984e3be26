//! A link in real time: one thread that moves frames between two devices when they are due.

use hdrhistogram::Histogram;
use levelflow_path::scheduler::AnyQueueParams;
use levelflow_path::{Hop, Settings};
use levelflow_units::{Bytes, Duration, Time};
use rustix::event::{PollFd, PollFlags};

use super::control::Change;
use super::port::Port;
use super::report::{Report, Waits};
use super::segment::PREFIX;
use levelflow_host::Error;
use levelflow_host::clock::{Clock, ready, span};

/// Sleeps end so late; the rest of the wait is spent asking the clock, if there is time to spare.
const SPIN_BELOW: Duration = Duration::from_us(25);
/// Never sleep longer, so that changes and signals are seen.
const MAX_SLEEP: Duration = Duration::from_ms(20);
/// Spin for at most one part in this many of wall time.
const SPIN_BUDGET_DIVISOR: u64 = 10;

/// Two devices and what is between them.
#[derive(Debug)]
pub struct Link {
    ports: [Port; 2],
    /// The first takes frames from the first device to the second.
    hops: [Hop<Vec<u8>, Waits>; 2],
    /// How much later than due they were handed on, ns.
    late: [Histogram<u64>; 2],
    /// Which devices may have frames for us.
    ready: [bool; 2],
    spare: Vec<Vec<u8>>,
}

impl Link {
    /// Joins two devices; the first of the settings are those of the way from the first to the second.
    #[must_use]
    pub fn new(ports: [Port; 2], settings: [Settings; 2], seed: u64) -> Self {
        let hops = [0, 1].map(|way| {
            let name = format!("{}->{}", ports[way].name(), ports[1 - way].name());
            Hop::under(Waits(super::histogram()), settings[way], seed, &name)
        });
        Self {
            ports,
            hops,
            late: [super::histogram(), super::histogram()],
            ready: [true; 2],
            spare: Vec::new(),
        }
    }

    /// The same, idle, with queues of this discipline.
    #[must_use]
    pub fn with_queues(mut self, queue: &AnyQueueParams, seed: u64) -> Self {
        for (way, hop) in self.hops.iter_mut().enumerate() {
            let name = format!("{}->{}", self.ports[way].name(), self.ports[1 - way].name());
            hop.set_queue(queue, seed, &name);
        }
        self
    }

    /// Changes what it is like from now on.
    pub fn change(&mut self, now: Time, change: Change) {
        for (hop, wanted) in self.hops.iter_mut().zip([change.forward, change.reverse]) {
            if wanted {
                let mut settings = hop.settings();
                change.setting.apply(&mut settings);
                hop.set(now, settings);
            }
        }
    }

    /// What happened so far, in each direction.
    pub fn report(&mut self, now: Time) -> [Report; 2] {
        [0, 1].map(|way| {
            let (from, to) = (&self.ports[way], &self.ports[1 - way]);
            Report::new(from, to, &mut self.hops[way], &self.late[way], now)
        })
    }

    /// Takes what has come and sends what is due; `true`: more may have come.
    fn turn(&mut self, clock: &Clock) -> Result<bool, Error> {
        for end in 0..2 {
            let (port, hop) = (&mut self.ports[end], &mut self.hops[end]);
            if !self.ready[end] && !port.suspect() {
                continue;
            }
            let spare = &mut self.spare;
            self.ready[end] = port.receive(clock, |arrived, frame| {
                let mut copy = spare.pop().unwrap_or_default();
                copy.clear();
                copy.extend_from_slice(frame);
                let size = Bytes::new((frame.len() - PREFIX) as u64);
                if let Err(dropped) = hop.handle_input(arrived, size, copy) {
                    spare.push(dropped);
                }
                spare.extend(std::iter::from_fn(|| hop.poll_dropped()));
            })?;
        }
        for way in 0..2 {
            loop {
                let now = clock.now();
                let Some((due, frame)) = self.hops[way].poll_output(now) else {
                    break;
                };
                self.late[way].saturating_record(now.since(due).as_ps() / 1000);
                self.ports[1 - way].send(&frame)?;
                self.spare.push(frame);
            }
        }
        Ok(self.ready != [false; 2])
    }

    fn due(&self) -> Option<Time> {
        self.hops.iter().filter_map(Hop::poll_timeout).min()
    }

    /// Moves frames. `step` is called between them, at the latest when it wants to be, and says when that is next; none: it
    /// is enough.
    ///
    /// # Errors
    /// If a device vanishes, or as `step` says.
    pub fn run(
        &mut self,
        clock: &Clock,
        mut step: impl FnMut(&mut Self, Time) -> Result<Option<Time>, Error>,
    ) -> Result<(), Error> {
        levelflow_host::sys::sharp_timers();
        let begin = clock.now();
        let mut spun = Duration::ZERO;
        loop {
            let now = clock.now();
            let Some(wanted) = step(self, now)? else {
                return Ok(());
            };
            if self.turn(clock)? {
                continue;
            }
            let latest = wanted.min(now + MAX_SLEEP);
            let next = self.due().map_or(latest, |due| due.min(latest));
            let may_spin = spun.as_ps() < now.since(begin).as_ps() / SPIN_BUDGET_DIVISOR;
            let early = if may_spin { SPIN_BELOW } else { Duration::ZERO };
            if !self.sleep(clock, next, early)? && may_spin {
                let woken = clock.now();
                clock.wait(next);
                spun = spun + clock.now().since(woken);
            }
        }
    }

    /// Sleeps until a frame comes (`true`), or until shortly before a time.
    fn sleep(&mut self, clock: &Clock, next: Time, early: Duration) -> Result<bool, Error> {
        let devices = self.ports.iter().map(Port::socket);
        let mut waits: Vec<_> = devices.map(|d| PollFd::from_borrowed_fd(d, PollFlags::IN)).collect();
        if !ready(&mut waits, clock.until(next).saturating_sub(span(early)))? {
            return Ok(false);
        }
        for (ready, wait) in self.ready.iter_mut().zip(&waits) {
            *ready = !wait.revents().is_empty();
        }
        Ok(true)
    }
}
