//! A line of finite rate behind a [`Scheduler`], with the methods of [`Fifo`](crate::Fifo).

use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use super::{Class, Classes, Next, Overflow, Queued, Scheduler};
use crate::fifo::{Backlog, Departure};

/// The packet in service.
#[derive(Debug)]
struct Service<T> {
    queued: Queued<T>,
    marked: bool,
    waited: Duration,
    /// When it will have been sent; never on a dead line.
    done: Time,
    /// Bytes that were left when the line died.
    stalled: Option<f64>,
}

/// Queues in front of a transmitter, which decide at the departure of a packet who is next.
///
/// Callers poll all output up to now before they hand in more. At rate zero the line is dead, and what it holds waits.
#[derive(Debug)]
pub struct Scheduled<T> {
    scheduler: Scheduler<T>,
    rate: Option<Rate>,
    limit: Buffer,
    service: Option<Service<T>>,
    /// When a shaper lets the next packet go.
    opens: Option<Time>,
    /// When the scheduler's interval ends.
    update: Option<Time>,
}

impl<T> Scheduled<T> {
    /// An idle line; without a rate, packets take no time to send.
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

    /// Takes a packet. Others, or it itself, may be dropped for it: they are for [`poll_dropped`](Self::poll_dropped).
    ///
    /// # Errors
    /// Gives it back if it does not fit.
    pub fn handle_input(&mut self, now: Time, size: Bytes, class: Class, packet: T) -> Result<(), T> {
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

    /// What the discipline says of itself.
    #[must_use]
    pub fn signal(&self) -> f64 {
        self.scheduler.signal()
    }

    /// Classes of service.
    #[must_use]
    pub fn classes(&self) -> Classes {
        self.scheduler.classes()
    }

    /// A packet that was dropped after it had been taken.
    pub fn poll_dropped(&mut self) -> Option<(Bytes, T)> {
        let queued = self.scheduler.poll_dropped()?;
        Some((Bytes::new(queued.size.into()), queued.packet))
    }

    /// When something happens next.
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

    /// The next packet, if it has left by now, and whether it is to be marked.
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

    /// The transmitter takes the next packet, if it is free.
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

    /// Changes the limit; packets that no longer fit stay.
    pub fn set_limit(&mut self, limit: Buffer) {
        self.limit = limit;
    }

    /// Changes the rate: the packet in service goes on at the new one.
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
                // As the simulator does, to the bit.
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

    /// Whether nothing waits and nothing is in service.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }

    /// Bytes that wait or are in service.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.scheduler.bytes() + self.in_service()
    }

    /// Packets that wait or are in service.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.scheduler.packets() as usize + usize::from(self.service.is_some())
    }

    /// Both, and the packet in service.
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

    /// To the nearest picosecond, as in the simulator.
    fn transmission(&self, bytes: f64) -> Duration {
        Duration::from_ps((bytes * pace(self.rate) + 0.5) as u64)
    }
}

/// Picoseconds to send a byte.
fn pace(rate: Option<Rate>) -> f64 {
    rate.filter(|&rate| rate > Rate::ZERO)
        .map_or(0.0, |rate| 8e12 / rate.bps())
}
