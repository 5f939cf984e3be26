//! A transmitter behind a [`Scheduler`], with the methods of [`Fifo`](crate::Fifo).

use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use super::{Classes, FlowKey, Next, Overflow, Queued, Scheduler};
use crate::fifo::{Backlog, Departure};

/// The packet in service.
#[derive(Debug)]
struct Service<T> {
    queued: Queued<T>,
    marked: bool,
    waited: Duration,
    /// End of the transmission. `NEVER` while the link is down.
    done: Time,
    /// Remaining bytes of the packet when the link went down.
    stalled: Option<f64>,
}

/// A scheduler and its transmitter. When a transmission ends, the scheduler selects the next packet.
///
/// Callers poll all packets that have departed by now before they add a packet. A rate of zero means that the link is
/// down. Packets then stay queued.
#[derive(Debug)]
pub struct Scheduled<T> {
    scheduler: Scheduler<T>,
    rate: Option<Rate>,
    limit: Buffer,
    service: Option<Service<T>>,
    /// Time at which the shaper releases the next packet.
    opens: Option<Time>,
    /// End of the scheduler's current control interval.
    update: Option<Time>,
}

impl<T> Scheduled<T> {
    /// Creates an idle transmitter. If `rate` is `None`, transmission takes no time.
    #[must_use]
    pub fn new(scheduler: Scheduler<T>, rate: Option<Rate>, limit: Buffer) -> Self {
        Self {
            update: scheduler.interval().map(|interval| Time::ZERO.saturating_add(interval)),
            scheduler,
            rate,
            limit,
            service: None,
            opens: None,
        }
    }

    /// Adds a packet to the queue. The scheduler may drop this packet or evict other packets, which
    /// [`poll_dropped`](Self::poll_dropped) returns.
    ///
    /// # Errors
    /// Returns the packet if it does not fit into the queue.
    pub fn handle_input(&mut self, now: Time, size: Bytes, class: FlowKey, packet: T) -> Result<(), T> {
        let in_service = self.in_service();
        let fits = self.limit.admits(self.bytes().get(), self.packets() as u64, size.get());
        let alone = self
            .limit
            .admits(in_service.get(), self.service.is_some().into(), size.get());
        let overflow = self.scheduler.overflow();
        if !fits && (overflow == Overflow::Tail || !alone) {
            return Err(packet);
        }
        self.scheduler.enqueue(Queued {
            came: now,
            size: size.get() as u32,
            class,
            packet,
        });
        while !fits && !self.limit.admits(self.bytes().get(), self.packets() as u64 - 1, 0) {
            self.scheduler.shed();
        }
        self.serve(now);
        Ok(())
    }

    /// Returns the signal of the queue discipline.
    #[must_use]
    pub fn signal(&self) -> f64 {
        self.scheduler.signal()
    }

    /// Returns the service classes of the scheduler.
    #[must_use]
    pub fn classes(&self) -> Classes {
        self.scheduler.classes()
    }

    /// Removes and returns a packet that the scheduler has dropped, with its size.
    pub fn poll_dropped(&mut self) -> Option<(Bytes, T)> {
        let queued = self.scheduler.poll_dropped()?;
        Some((Bytes::new(queued.size.into()), queued.packet))
    }

    /// Returns the time of the next event.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let done = self
            .service
            .as_ref()
            .map(|service| service.done)
            .filter(|&at| at < Time::NEVER);
        let busy = !self.is_empty();
        [done, self.opens, self.update.filter(|_| busy)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Removes and returns the next packet if its transmission has ended by now. Also returns true if the packet must
    /// be marked.
    pub fn poll_output(&mut self, now: Time) -> Option<(Departure<T>, bool)> {
        loop {
            let done = self.service.as_ref().map_or(Time::NEVER, |service| service.done);
            let opens = self.opens.unwrap_or(Time::NEVER);
            let update = self.update.unwrap_or(Time::NEVER);
            let at = done.min(opens).min(update);
            if at > now || at == Time::NEVER {
                return None;
            }
            if at == update {
                self.scheduler.handle_interval(at);
                self.update = self.scheduler.interval().map(|interval| at.saturating_add(interval));
            } else if at == opens {
                self.opens = None;
                self.serve(at);
            } else if let Some(service) = self.service.take() {
                self.scheduler.set_in_service(0);
                self.serve(at);
                let departure = Departure {
                    at,
                    waited: service.waited,
                    size: Bytes::new(service.queued.size.into()),
                    class: service.queued.class,
                    packet: service.queued.packet,
                };
                return Some((departure, service.marked));
            }
        }
    }

    /// Starts the next transmission if the transmitter is idle.
    fn serve(&mut self, now: Time) {
        if self.service.is_some() || self.opens.is_some() || self.rate == Some(Rate::ZERO) {
            return;
        }
        match self.scheduler.dequeue(now) {
            Next::Packet(queued, marked) => {
                self.scheduler.set_in_service(queued.size);
                self.service = Some(Service {
                    waited: now.since(queued.came),
                    done: now.saturating_add(self.transmission(queued.size.into())),
                    stalled: None,
                    queued,
                    marked,
                });
            }
            Next::Shut(opens) => self.opens = Some(opens),
            Next::Nothing => {}
        }
    }

    /// Changes the queue limit. Queued packets stay, even if they exceed the new limit.
    pub fn set_limit(&mut self, limit: Buffer) {
        self.limit = limit;
    }

    /// Changes the line rate. The packet in service continues at the new rate.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let before = std::mem::replace(&mut self.rate, rate);
        if rate == before {
            return;
        }
        if let Some(rate) = rate.filter(|&rate| rate > Rate::ZERO) {
            self.scheduler.set_capacity(now, rate);
        }
        if let Some(service) = &mut self.service {
            let size = f64::from(service.queued.size);
            let left = match before {
                // This computation is bit-identical to that of the simulator.
                Some(line) if line > Rate::ZERO => (service.done.since(now).as_ps() as f64 / pace(before)).min(size),
                _ => service.stalled.unwrap_or(0.0),
            };
            let dead = rate == Some(Rate::ZERO);
            service.stalled = dead.then_some(left);
            let sending = Duration::from_ps((left * pace(rate) + 0.5) as u64);
            service.done = if dead { Time::NEVER } else { now.saturating_add(sending) };
        }
        self.serve(now);
    }

    /// Returns true if no packet is queued or in service.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }

    /// Returns the number of bytes queued or in service.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.scheduler.bytes() + self.in_service()
    }

    /// Returns the number of packets queued or in service.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.scheduler.packets() as usize + usize::from(self.service.is_some())
    }

    /// Returns the bytes and packets queued or in service.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes(),
            packets: self.packets() as u32,
            in_service: self.in_service(),
        }
    }

    fn in_service(&self) -> Bytes {
        Bytes::new(self.service.as_ref().map_or(0, |service| service.queued.size.into()))
    }

    /// Returns the transmission time, rounded to the nearest picosecond. The simulator rounds in the same way.
    fn transmission(&self, bytes: f64) -> Duration {
        Duration::from_ps((bytes * pace(self.rate) + 0.5) as u64)
    }
}

/// Returns the transmission time per byte, ps.
fn pace(rate: Option<Rate>) -> f64 {
    rate.filter(|&rate| rate > Rate::ZERO)
        .map_or(0.0, |rate| 8e12 / rate.bps())
}
