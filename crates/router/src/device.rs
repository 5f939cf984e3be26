//! The form for a real device: something in the kernel counts and stamps packets, and this loop closes the intervals.
//!
//! The queue is that of the device's own discipline; nothing here delays or drops packets.

use levelflow_laws::offload::{Counts, Offload, Words};
use levelflow_laws::{AnyParams, PortInfo};
use levelflow_path::Backlog;
use levelflow_path::port::Traffic;
use levelflow_units::{Bytes, Duration, Time};
use levelflow_wire::journal::Role;

use super::Port;
use super::capacity::Capacity;
use super::snapshot::{Board, Snapshot};
use levelflow_host::clock::Clock;
use levelflow_host::journal::Logging;
use levelflow_host::qdisc::{Device, Presence, Queue, bytes_of};
use levelflow_host::stop::Stop;
use levelflow_host::{Error, sys, terminal};

/// Time between two looks whether the device is up.
const LOOK: Duration = Duration::from_ms(500);

/// Time between two readings of the queue for laws whose packets look at it: XCP calls one persistent that stands for as long.
pub const WATCH: Duration = Duration::from_ms(2);

/// What counts and stamps packets.
pub trait DataPath {
    /// Tells the words for the next interval, all at once.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn tell(&mut self, words: &Words) -> Result<(), Error>;

    /// Tells words that differ in what waits, within an interval.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn refresh(&mut self, words: &Words) -> Result<(), Error>;

    /// What it has counted since the last time.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn collect(&mut self) -> Result<(Counts, Traffic), Error>;
}

/// A router at a device.
pub struct Attached<D> {
    device: Device,
    path: D,
    port: Port,
    clock: Clock,
    queue: Queue,
    presence: Presence,
    peak: u64,
    /// Packets look at the queue.
    watches: bool,
    capacity: Capacity,
}

/// What happened in an interval.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// How long it was.
    pub length: Duration,
    /// Bytes that came.
    pub arrived: Bytes,
    /// Bytes that found no room, if dropped packets are as large as others.
    pub dropped: Bytes,
}

impl<D: DataPath> Attached<D> {
    /// Begins the first interval.
    ///
    /// # Errors
    /// When the data path refuses its words, or the device is gone.
    pub fn new(mut device: Device, path: D, params: AnyParams, info: PortInfo, clock: Clock) -> Result<Self, Error> {
        let queue = device.queue().map_err(|e| gone(&device, &e))?;
        let mut attached = Self {
            port: Port::new(params, info, clock.now()),
            presence: device.presence(),
            device,
            path,
            clock,
            queue,
            peak: 0,
            watches: false,
            capacity: Capacity::Given,
        };
        attached.watches = attached.words(Bytes::ZERO) != attached.words(Bytes::new(1));
        attached.tell()?;
        Ok(attached)
    }

    /// Logs the inputs of its law.
    #[must_use]
    pub fn logged(mut self, logging: Option<&Logging>) -> Self {
        if let Some(logging) = logging {
            self.port.log(logging.log(Role::Router(*self.port.info())));
        }
        self
    }

    /// Follows a capacity that changes.
    #[must_use]
    pub fn following(mut self, capacity: Capacity) -> Self {
        self.capacity = capacity;
        self
    }

    /// Closes intervals until told to stop.
    ///
    /// # Errors
    /// When the device is gone, or the data path fails.
    pub fn run(mut self, stop: &Stop, board: &Board) -> Result<(), Error> {
        sys::sharp_timers();
        let mut look = Time::ZERO;
        loop {
            let soon = if self.watches {
                self.clock.now() + WATCH
            } else {
                self.due()
            };
            if stop.within(self.clock.until(soon.min(self.due()))) {
                break;
            }
            let now = self.clock.now();
            if now < self.due() {
                self.refresh()?;
                continue;
            }
            self.close()?;
            if now >= look {
                self.look()?;
                look = now + LOOK;
            }
            board.post(self.snapshot());
        }
        self.close()?;
        board.post_last(self.snapshot());
        Ok(())
    }

    /// When the running interval ends.
    #[must_use]
    pub fn due(&self) -> Time {
        self.port.due()
    }

    /// The law at work.
    #[must_use]
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Ends an interval: what was counted goes into the law, and what it says goes into the data path.
    ///
    /// # Errors
    /// When the device is gone, or the data path fails.
    pub fn close(&mut self) -> Result<Interval, Error> {
        let (counted, traffic) = self.path.collect()?;
        let queue = self.device.queue().map_err(|e| gone(&self.device, &e))?;
        let packets = queue.dropped_since(&self.queue);
        let dropped = bytes_of(packets, traffic.bytes, traffic.packets);
        self.follow(&queue);
        self.port.lose(packets, dropped);
        self.port.absorb(&counted, &traffic);
        let now = self.clock.now();
        let length = now.since(self.port.opened());
        self.port.close(now, backlog(&queue));
        self.peak = self.peak.max(queue.backlog);
        self.queue = queue;
        self.tell()?;
        Ok(Interval {
            length,
            arrived: Bytes::new(traffic.bytes),
            dropped,
        })
    }

    /// Notifies the law of a new capacity; an outage is no news for it.
    fn follow(&mut self, queue: &Queue) {
        let new = self.capacity.poll(queue).filter(|rate| rate.bps() > 0.0);
        if let Some(rate) = new.filter(|rate| *rate != self.port.info().capacity) {
            self.port.set_capacity(rate);
        }
    }

    fn tell(&mut self) -> Result<(), Error> {
        let words = self.words(Bytes::new(self.queue.backlog));
        self.path.tell(&words)
    }

    /// Reads the queue within an interval, and tells laws whose packets look at it.
    ///
    /// # Errors
    /// When the device is gone, or the data path fails.
    pub fn refresh(&mut self) -> Result<Queue, Error> {
        let queue = self.device.queue().map_err(|e| gone(&self.device, &e))?;
        self.peak = self.peak.max(queue.backlog);
        if self.watches {
            let words = self.words(Bytes::new(queue.backlog));
            self.path.refresh(&words)?;
        }
        Ok(queue)
    }

    fn words(&self, queue: Bytes) -> Words {
        self.port.law().words(self.port.params(), queue)
    }

    /// A device that is down may come back; one that is gone does not, since a new one has another number.
    fn look(&mut self) -> Result<(), Error> {
        let now = self.device.presence();
        let name = &self.device.name;
        match (self.presence, now) {
            (_, Presence::Gone) => return Err(Error::failed(format!("{name}: the device is gone"))),
            (Presence::Up, Presence::Down) => terminal::warn(format!("{name} is down; waiting for it")),
            (Presence::Down, Presence::Up) => terminal::warn(format!("{name} is up")),
            _ => {}
        }
        self.presence = now;
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let waiting = (
            Bytes::new(self.queue.backlog),
            self.queue.packets,
            Bytes::new(self.peak),
        );
        Snapshot::of(&self.port, &self.device.name, self.clock.now(), waiting)
    }
}

/// What a reading of a queue that fails means.
#[must_use]
pub fn gone(device: &Device, error: &std::io::Error) -> Error {
    let name = &device.name;
    match error.raw_os_error() {
        Some(libc::ENODEV) => Error::failed(format!("{name}: the device is gone")),
        _ => Error::failed(format!("{name}: its queue: {error}")),
    }
}

/// What waits, as the kernel counts it. A shaper holds the packet that it sends; of a device's own, the driver has it.
fn backlog(queue: &Queue) -> Backlog {
    let bytes = Bytes::new(queue.backlog);
    let mean = queue.backlog.checked_div(queue.packets.into()).unwrap_or(0);
    Backlog {
        bytes,
        packets: queue.packets,
        in_service: queue.rate.map_or(Bytes::ZERO, |_| Bytes::new(mean)),
    }
}

#[cfg(test)]
mod tests {
    use levelflow_units::Rate;

    use super::*;

    #[test]
    fn only_a_shaper_counts_the_packet_that_it_sends() {
        let plain = Queue {
            backlog: 3000,
            packets: 3,
            ..Queue::default()
        };
        let shaper = Queue {
            rate: Some(Rate::clamped(1e7)),
            ..plain.clone()
        };
        assert_eq!(backlog(&plain).in_service, Bytes::ZERO);
        assert_eq!(backlog(&shaper).in_service, Bytes::new(1000));
        assert_eq!(backlog(&Queue::default()), Backlog::default());
    }
}
