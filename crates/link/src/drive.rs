//! Real-time operation of a link: one thread passes frames between two devices when the frames are due.

use hdrhistogram::Histogram;
use levelflow_path::scheduler::AnyQueueParams;
use levelflow_path::{Hop, Settings};
use levelflow_units::{Bytes, Duration, Time};
use rustix::event::{PollFd, PollFlags};

use super::control::Change;
use super::device::Device;
use super::report::{Report, Waits};
use super::segment::PREFIX;
use levelflow_host::Error;
use levelflow_host::clock::{Clock, ready, span};

/// Longest expected delay of a wake-up. Before a deadline, the thread therefore spins for this time instead of
/// sleeping. [`SPIN_BUDGET_DIVISOR`] limits the total time of spinning.
const SPIN_BELOW: Duration = Duration::from_us(25);
/// Longest sleep, so that parameter changes and signals are processed in time.
const MAX_SLEEP: Duration = Duration::from_ms(20);
/// Smallest ratio of wall-clock time to time spent spinning. The thread spins for at most a tenth of the time.
const SPIN_BUDGET_DIVISOR: u64 = 10;

/// Two devices and the emulated link between them.
#[derive(Debug)]
pub struct Link {
    ports: [Device; 2],
    /// Both directions of the link; `hops[0]` carries frames from the first device to the second.
    hops: [Hop<Vec<u8>, Waits>; 2],
    /// Timer latency of deliveries in each direction, ns.
    late: [Histogram<u64>; 2],
    /// True for devices that may have frames to receive.
    ready: [bool; 2],
    spare: Vec<Vec<u8>>,
}

impl Link {
    /// Connects two devices. `settings[0]` applies to the direction from the first device to the second.
    #[must_use]
    pub fn new(ports: [Device; 2], settings: [Settings; 2], seed: u64) -> Self {
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

    /// Replaces the queues of an idle link by queues with this discipline.
    #[must_use]
    pub fn with_queues(mut self, queue: &AnyQueueParams, seed: u64) -> Self {
        for (way, hop) in self.hops.iter_mut().enumerate() {
            let name = format!("{}->{}", self.ports[way].name(), self.ports[1 - way].name());
            hop.set_queue(queue, seed, &name);
        }
        self
    }

    /// Changes the settings of the link, starting now.
    pub fn change(&mut self, now: Time, change: Change) {
        for (hop, wanted) in self.hops.iter_mut().zip([change.forward, change.reverse]) {
            if wanted {
                let mut settings = hop.settings();
                change.setting.apply(&mut settings);
                hop.set(now, settings);
            }
        }
    }

    /// Returns the counters of each direction since its start.
    pub fn report(&mut self, now: Time) -> [Report; 2] {
        [0, 1].map(|way| {
            let (from, to) = (&self.ports[way], &self.ports[1 - way]);
            Report::new(from, to, &mut self.hops[way], &self.late[way], now)
        })
    }

    /// Receives the available frames and sends the frames that are due. Returns true if more frames may be available.
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

    /// Moves frames until `step` returns `None`. Calls `step` between frames. The return value of `step` is the latest
    /// time of its next call.
    ///
    /// # Errors
    /// Returns an error if a device has vanished, or the error returned by `step`.
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

    /// Sleeps until a frame arrives, or until the time `next - early`. Returns true if a frame has arrived.
    fn sleep(&mut self, clock: &Clock, next: Time, early: Duration) -> Result<bool, Error> {
        let devices = self.ports.iter().map(Device::socket);
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
