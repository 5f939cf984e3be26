//! Load of a queue in an interval, computed from its total counters of packets and bytes.

use std::time::{Duration as Span, Instant};

use levelflow_laws::buffers::Load;
use levelflow_units::{Bytes, Duration};

use super::queue::SizedQueue;
use levelflow_host::limit::Unit;
use levelflow_host::qdisc::Queue;

/// Measurement of a queue in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Input of algorithms, in bytes as the line counts them. The mean queue is weighted by time.
    pub load: Load,
    /// Packets dropped.
    pub drops: u32,
}

/// Counters of a queue, and its backlog since the end of the last interval.
#[derive(Debug, Clone)]
pub struct Meter {
    unit: Unit,
    frame: u32,
    /// Extra bytes per packet. The line counts these bytes, and the queue does not.
    extra: u32,
    /// Latest reading.
    last: (Instant, Queue),
    /// First reading of this interval.
    first: (Instant, Queue),
    /// Integral of the backlog over time, bytes times seconds.
    waiting: f64,
    /// Mean size of queued packets if it exceeds the largest frame, otherwise 0. GSO packets exceed the largest frame
    /// until the card splits them.
    large: f64,
}

impl Meter {
    /// Starts the first interval.
    #[must_use]
    pub fn new(place: &SizedQueue, now: Instant, queue: Queue) -> Self {
        let at = (now, queue);
        Self {
            unit: place.unit,
            frame: place.frame,
            extra: place.extra,
            last: at.clone(),
            first: at,
            waiting: 0.0,
            large: 0.0,
        }
    }

    /// Adds a reading within an interval.
    pub fn sample(&mut self, now: Instant, queue: Queue) {
        let (then, before) = &self.last;
        let mean = self.waits(before).midpoint(self.waits(&queue)) as f64;
        self.waiting += mean * now.saturating_duration_since(*then).as_secs_f64();
        if let Some(size) = queue.backlog.checked_div(queue.packets.into()) {
            self.large = if size > self.frame.into() { size as f64 } else { 0.0 };
        }
        self.last = (now, queue);
    }

    /// Ends an interval. `queue` is the last reading of the interval.
    pub fn close(&mut self, now: Instant, queue: Queue) -> Measured {
        self.sample(now, queue);
        let (end, last) = self.last.clone();
        let (begin, first) = std::mem::replace(&mut self.first, (end, last.clone()));
        let waiting = std::mem::take(&mut self.waiting);
        let elapsed = length(end.saturating_duration_since(begin));
        // The counters of a new queue start at zero.
        let first = if last.sent_bytes < first.sent_bytes {
            Queue::default()
        } else {
            first
        };
        let packets = last.sent_packets.wrapping_sub(first.sent_packets);
        let sent = self.counted(last.sent_bytes - first.sent_bytes, packets);
        let drops = last.dropped_since(&first);
        let mean = |span: f64| if span > 0.0 { waiting / span } else { 0.0 };
        let load = Load {
            elapsed,
            admitted: Bytes::new((sent + self.waits(&last)).saturating_sub(self.waits(&first))),
            dropped: Bytes::new((f64::from(drops) * self.size(sent, packets)) as u64),
            sent: Bytes::new(sent),
            queue: Bytes::new(mean(elapsed.as_secs_f64()) as u64),
            packets: self.packets(&last),
        };
        Measured { load, drops }
    }

    /// Returns bytes as the line counts them. A GSO packet counts as the packets that the card makes from it.
    fn counted(&self, bytes: u64, packets: u32) -> u64 {
        let packets = bytes.div_ceil(self.frame.into()).max(packets.into());
        bytes.saturating_add(packets.saturating_mul(self.extra.into()))
    }

    fn waits(&self, queue: &Queue) -> u64 {
        self.counted(queue.backlog, queue.packets)
    }

    /// Returns the assumed size of dropped packets. The kernel does not count their bytes. The first known size of this
    /// list is used:
    ///
    /// 1. Mean size of large queued packets.
    /// 2. Mean size of sent packets.
    /// 3. Size of the largest frame.
    fn size(&self, sent: u64, packets: u32) -> f64 {
        if self.large > 0.0 {
            self.counted(self.large as u64, 1) as f64
        } else if packets > 0 {
            sent as f64 / f64::from(packets)
        } else {
            self.counted(self.frame.into(), 1) as f64
        }
    }

    /// Returns the backlog in packets, counted as queue limits count packets.
    fn packets(&self, queue: &Queue) -> u32 {
        match self.unit {
            Unit::Packets => queue.packets,
            Unit::Bytes => u32::try_from(queue.backlog.div_ceil(self.frame.into())).unwrap_or(u32::MAX),
        }
    }
}

/// Converts a time of at most 213 days. A longer time becomes 213 days.
fn length(span: Span) -> Duration {
    let ps = span.as_nanos().saturating_mul(1000);
    Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use levelflow_units::Rate;

    use super::*;

    fn at(ms: u64) -> Instant {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        *START + Span::from_millis(ms)
    }

    fn place(unit: Unit, extra: u32) -> SizedQueue {
        SizedQueue {
            unit,
            capacity: Rate::clamped(1e9),
            extra,
            ..SizedQueue::example()
        }
    }

    fn queue(sent: (u64, u32), drops: u32, waiting: (u64, u32)) -> Queue {
        Queue {
            kind: "pfifo".into(),
            sent_bytes: sent.0,
            sent_packets: sent.1,
            drops,
            backlog: waiting.0,
            packets: waiting.1,
            ..Queue::default()
        }
    }

    #[test]
    fn a_load_is_the_difference_of_two_readings() {
        let mut meter = Meter::new(&place(Unit::Packets, 0), at(0), queue((5000, 5), 7, (0, 0)));
        meter.sample(at(100), queue((6000, 6), 7, (2000, 2)));
        let seen = meter.close(at(200), queue((9000, 9), 9, (4000, 4)));
        assert_eq!(seen.drops, 2);
        let load = seen.load;
        assert_eq!(
            (load.sent.get(), load.admitted.get()),
            (4000, 8000),
            "4 more packets are queued"
        );
        assert_eq!(load.dropped.get(), 2000, "dropped packets are as large as sent packets");
        assert_eq!(load.queue.get(), 2000, "1000 in the first half, 3000 in the second");
        assert_eq!(load.packets, 4);
        let next = meter.close(at(300), queue((9000, 9), 9, (4000, 4))).load;
        assert_eq!((next.sent.get(), next.admitted.get(), next.queue.get()), (0, 0, 4000));
    }

    #[test]
    fn counters_may_restart() {
        let mut meter = Meter::new(&place(Unit::Packets, 0), at(0), queue((5000, 5), u32::MAX, (0, 0)));
        let seen = meter.close(at(100), queue((6000, 6), 1, (0, 0)));
        assert_eq!((seen.drops, seen.load.dropped.get()), (2, 2000), "after 2^32");
        let seen = meter.close(at(200), queue((1500, 1), 3, (0, 0)));
        assert_eq!((seen.load.sent.get(), seen.load.packets), (1500, 0), "a new queue");
        assert_eq!(seen.drops, 0, "the number of new drops is unknown");
    }

    #[test]
    fn parts_of_a_stream_that_will_be_cut_are_dropped_whole() {
        let mut meter = Meter::new(&place(Unit::Bytes, 0), at(0), queue((0, 0), 0, (0, 0)));
        meter.sample(at(50), queue((64_000, 44), 0, (64_000, 2)));
        let seen = meter.close(at(100), queue((96_000, 66), 1, (0, 0)));
        assert_eq!(seen.load.dropped.get(), 32_000);
        let seen = meter.close(at(200), queue((96_000, 66), 1, (3000, 2)));
        assert_eq!(
            seen.load.packets, 2,
            "if the limit is in bytes, the backlog counts in packets of the largest size"
        );
        let seen = meter.close(at(300), queue((99_000, 68), 2, (0, 0)));
        assert_eq!(seen.load.dropped.get(), 1500);
    }

    /// A card of 1 Gb/s sends 81274 frames of 1514 bytes per second, or 172651 frames of 700 bytes. The line adds 24
    /// bytes to each frame.
    #[test]
    fn a_full_line_of_ethernet_is_used_to_all_of_it() {
        for (size, packets) in [(1514, 8127_u32), (700, 17265)] {
            let mut meter = Meter::new(&place(Unit::Packets, 24), at(0), queue((0, u32::MAX), 0, (0, 0)));
            let sent = u64::from(packets) * size;
            let load = meter
                .close(at(100), queue((sent, packets - 1), 2, (10 * size, 10)))
                .load;
            assert!((load.sent.get() as f64 / 12.5e6 - 1.0).abs() < 2e-4, "{load:?}");
            assert_eq!(load.admitted.get() - load.sent.get(), 10 * (size + 24));
            assert_eq!(load.dropped.get(), 2 * (size + 24));
            assert_eq!(load.queue.get(), 5 * (size + 24));
        }
    }

    #[test]
    fn a_part_of_a_stream_is_cut_into_frames() {
        let mut meter = Meter::new(&place(Unit::Packets, 24), at(0), queue((0, 0), 0, (0, 0)));
        let load = meter.close(at(100), queue((0, 0), 1, (15_140, 1))).load;
        assert_eq!(load.dropped.get(), 15_380, "ten frames");
        let mut meter = Meter::new(&place(Unit::Packets, 24), at(0), queue((0, 0), 0, (0, 0)));
        let load = meter.close(at(100), queue((0, 0), 1, (0, 0))).load;
        assert_eq!(load.dropped.get(), 1538, "assumed to be the largest frame");
    }

    #[test]
    fn where_nothing_was_sent_a_drop_is_the_largest_packet() {
        let mut meter = Meter::new(&place(Unit::Packets, 0), at(0), queue((0, 0), 0, (0, 0)));
        assert_eq!(meter.close(at(100), queue((0, 0), 1, (0, 0))).load.dropped.get(), 1514);
        assert_eq!(meter.close(at(100), queue((0, 0), 1, (0, 0))).load.elapsed.as_ps(), 0);
    }
}
