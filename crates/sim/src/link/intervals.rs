//! Control intervals of the router laws, the queue discipline and the buffer-sizing algorithm of a link.

use levelflow_laws::{PortView, Protocol, RouterLaw};
use levelflow_path::Scheduler;
use levelflow_units::{Buffer, Bytes, Duration, Time};

use super::{LawPort, Link};

impl<P: Protocol> Link<P> {
    /// Ends the control interval of the router at one port. Call [`catch_up`](Self::catch_up) first.
    pub fn close_interval(&mut self, port: usize, elapsed: Duration) {
        let (packets, in_service) = (self.queue_packets() as u32, self.in_service());
        let measured = self.changing.as_mut().and_then(|changing| changing.measured(port));
        let LawPort { law, params, dropped } = &mut self.ports[port];
        if let Some(capacity) = measured {
            law.on_capacity(params, capacity);
        }
        let dropped = std::mem::take(dropped);
        let view = PortView {
            queue: Bytes::new(self.backlog),
            packets,
            in_service,
            dropped: Bytes::new(dropped),
        };
        law.on_interval(params, elapsed, &view);
        if port == 0 {
            let before = std::mem::replace(&mut self.arrived_before, self.counters.arrived_bytes);
            let arrived = self.counters.arrived_bytes - before;
            self.window.interval(arrived, dropped, elapsed);
        }
    }

    /// Returns the control interval of the queue discipline, if it has one.
    pub fn queue_interval(&self) -> Option<Duration> {
        match &self.aqm {
            Some(aqm) => aqm.params.interval(),
            None => self.scheduler().and_then(Scheduler::interval),
        }
    }

    /// Ends the control interval of the queue discipline. Call [`catch_up`](Self::catch_up) first.
    pub fn close_queue_interval(&mut self, now: Time) {
        let (packets, in_service) = (self.queue_packets() as u32, self.in_service());
        self.with_scheduler(|scheduler| scheduler.handle_interval(now));
        let Some(aqm) = &mut self.aqm else { return };
        let view = PortView {
            queue: Bytes::new(self.backlog),
            packets,
            in_service,
            dropped: Bytes::new(std::mem::take(&mut aqm.dropped)),
        };
        let elapsed = now - std::mem::replace(&mut aqm.since, now);
        aqm.law.on_interval(&aqm.params, elapsed, &view);
    }

    /// Returns the control interval of the buffer-sizing algorithm, if the link has one.
    pub fn sizing_interval(&self) -> Option<Duration> {
        self.sizing.as_ref().map(|sizing| sizing.law.interval())
    }

    /// Ends the control interval of the buffer-sizing algorithm. The algorithm then [requests](Self::wanted_packets) a
    /// buffer size. Call [`catch_up`](Self::catch_up) first.
    pub fn size_buffer(&mut self, now: Time) {
        let packets = self.queue_packets() as u32;
        let left = self.work_left(now);
        if let Some(sizing) = &mut self.sizing {
            sizing.close(now, &self.counters, (self.backlog, packets), left);
        }
    }

    /// Returns the time to transmit the backlog, s.
    pub(super) fn work_left(&self, now: Time) -> f64 {
        (self.free_at.max(now) - now).as_secs_f64()
    }

    /// Returns the buffer size that the buffer-sizing algorithm requests, in packets. `None` without an algorithm.
    pub fn wanted_packets(&self) -> Option<f64> {
        self.sizing.as_ref().map(|sizing| sizing.law.packets())
    }

    /// Sets the buffer to `packets`. This is at most the size that the buffer-sizing algorithm requests. Packets that
    /// no longer fit stay in the queue.
    pub fn grant(&mut self, packets: f64) {
        let Some(sizing) = &mut self.sizing else { return };
        self.buffer = Buffer::Packets(packets as u64);
        if packets < sizing.law.packets() * (1.0 - 1e-9) {
            sizing.law.on_grant(packets);
        }
    }

    /// Returns the buffer size, packets. NaN if the buffer is limited in bytes or unlimited.
    pub fn buffer_packets(&self) -> f64 {
        match self.buffer {
            Buffer::Packets(packets) => packets as f64,
            Buffer::Bytes(_) | Buffer::Unlimited => f64::NAN,
        }
    }

    /// Returns the feedback of the first router law, or else the signal of the queue discipline. NaN without either.
    pub fn signal(&self) -> f64 {
        match (self.ports.first(), &self.aqm) {
            (Some(port), _) => port.law.signal(),
            (None, Some(aqm)) => aqm.law.signal(),
            (None, None) => self.scheduler().map_or(f64::NAN, Scheduler::signal),
        }
    }
}
