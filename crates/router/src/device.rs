//! Router at a real device. A data path in the kernel counts and stamps packets. The loop in this module closes the
//! control intervals.
//!
//! Packets wait in the queue discipline of the device. The router neither delays nor drops packets.

use levelflow_laws::offload::{Counts, Offload, Words};
use levelflow_laws::{AnyRouterParams, PortInfo};
use levelflow_path::Backlog;
use levelflow_path::port::Traffic;
use levelflow_units::{Bytes, Duration, Time};

use super::Port;
use super::capacity::Capacity;
use super::logging::Logging;
use super::snapshot::{Board, Snapshot};
use levelflow_host::clock::Clock;
use levelflow_host::qdisc::{Device, Presence, Queue, bytes_of};
use levelflow_host::stop::Stop;
use levelflow_host::{Error, sys, terminal};

/// Time between two checks that the device is up.
const LINK_CHECK_INTERVAL: Duration = Duration::from_ms(500);

/// Time between two readings of the queue, for laws that use the queue for each packet. XCP computes its persistent
/// queue from these readings.
pub const QUEUE_READ_INTERVAL: Duration = Duration::from_ms(2);

/// Data path that counts and stamps packets. Its *words* are the numbers that the law computes for it
/// ([`levelflow_laws::offload`]).
pub trait DataPath {
    /// Sets all words for the next control interval atomically.
    ///
    /// # Errors
    /// When the kernel rejects the words.
    fn load_words(&mut self, words: &Words) -> Result<(), Error>;

    /// Sets words within a control interval. Only the backlog may differ from the previous words.
    ///
    /// # Errors
    /// When the kernel rejects the words.
    fn refresh(&mut self, words: &Words) -> Result<(), Error>;

    /// Returns the counts since the last call.
    ///
    /// # Errors
    /// When the kernel does not return the counts.
    fn collect(&mut self) -> Result<(Counts, Traffic), Error>;
}

/// Router at a device.
pub struct Attached<D> {
    device: Device,
    path: D,
    port: Port,
    clock: Clock,
    queue: Queue,
    presence: Presence,
    peak: u64,
    /// True if stamping depends on the current queue.
    watches: bool,
    capacity: Capacity,
}

/// Totals of a control interval.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// Length of the interval.
    pub length: Duration,
    /// Bytes received.
    pub arrived: Bytes,
    /// Estimate of the bytes dropped. Dropped packets are assumed to have the mean size.
    pub dropped: Bytes,
}

impl<D: DataPath> Attached<D> {
    /// Creates a router and starts its first control interval.
    ///
    /// # Errors
    /// When the data path rejects its words, or the device is gone.
    pub fn new(
        mut device: Device,
        path: D,
        params: AnyRouterParams,
        info: PortInfo,
        clock: Clock,
    ) -> Result<Self, Error> {
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
        attached.load_words()?;
        Ok(attached)
    }

    /// Adds a log of the law's inputs.
    #[must_use]
    pub fn logged(mut self, logging: Option<&Logging>) -> Self {
        if let Some(logging) = logging {
            self.port.log(logging.log(*self.port.info()));
        }
        self
    }

    /// Sets the source of the capacity.
    #[must_use]
    pub fn following(mut self, capacity: Capacity) -> Self {
        self.capacity = capacity;
        self
    }

    /// Closes control intervals until `stop` is set.
    ///
    /// # Errors
    /// When the device is gone, or the data path fails.
    pub fn run(mut self, stop: &Stop, board: &Board) -> Result<(), Error> {
        sys::sharp_timers();
        let mut look = Time::ZERO;
        loop {
            let soon = if self.watches {
                self.clock.now() + QUEUE_READ_INTERVAL
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
                look = now + LINK_CHECK_INTERVAL;
            }
            board.post(self.snapshot());
        }
        self.close()?;
        board.post_last(self.snapshot());
        Ok(())
    }

    /// Time at which the current control interval ends.
    #[must_use]
    pub fn due(&self) -> Time {
        self.port.due()
    }

    /// Output port with the law.
    #[must_use]
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Ends a control interval. Passes the counts to the law, and the new words of the law to the data path.
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
        self.load_words()?;
        Ok(Interval {
            length,
            arrived: Bytes::new(traffic.bytes),
            dropped,
        })
    }

    /// Reads the capacity. Notifies the law of a change, unless the change is an outage.
    fn follow(&mut self, queue: &Queue) {
        let new = self.capacity.poll(queue).filter(|rate| rate.bps() > 0.0);
        if let Some(rate) = new.filter(|rate| *rate != self.port.info().capacity) {
            self.port.set_capacity(rate);
        }
    }

    fn load_words(&mut self) -> Result<(), Error> {
        let words = self.words(Bytes::new(self.queue.backlog));
        self.path.load_words(&words)
    }

    /// Reads the queue within a control interval. Passes the backlog to the data path if the law uses it for each
    /// packet.
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

    /// Checks the device. A device may be down for some time. If the device is gone, the router ends, because a new
    /// device has another index.
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

/// Returns the error to report if a queue cannot be read.
#[must_use]
pub fn gone(device: &Device, error: &std::io::Error) -> Error {
    let name = &device.name;
    match error.raw_os_error() {
        Some(libc::ENODEV) => Error::failed(format!("{name}: the device is gone")),
        _ => Error::failed(format!("{name}: its queue: {error}")),
    }
}

/// Converts a reading to a backlog. A shaper counts the packet in transmission, but a device's own queue does not.
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
