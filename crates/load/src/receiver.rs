//! Loop of the receiver. One thread with one socket acknowledges and counts packets.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use hdrhistogram::Histogram;
use levelflow_laws::Kind;
use levelflow_units::{Bytes, Duration, Time};
use levelflow_wire::shim::Shim;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

use super::flow_table::{Arriving, Counts, FlowTable};
use levelflow_host::batch::{Batch, MAX_BATCH, MAX_BATCHES_PER_TURN};
use levelflow_host::clock::{Clock, ready, span, stamp};
use levelflow_host::stop::Stop;
use levelflow_host::udp::{overhead, udp};
use levelflow_host::{Error, sys};
use levelflow_transport::{LONGEST_ACK, Received};

/// Longest delay that histograms resolve, ns.
const LONGEST_DELAY: u64 = 60_000_000_000;
/// Time between checks for expired flows.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Percentiles of delays, s.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Delays {
    /// Shortest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

impl Delays {
    fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e9;
        (!histogram.is_empty()).then(|| Self {
            min: histogram.min() as f64 / 1e9,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e9,
        })
    }
}

/// Progress report of a receiver.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Time since the start.
    pub now: Time,
    /// Flows in the table.
    pub table: &'a FlowTable,
    /// Flows that ended since the previous report.
    pub ended: &'a [Arriving],
    /// Datagrams so far that belong to no flow.
    pub garbage: u64,
    /// Delays since the previous report.
    pub delays: Option<Delays>,
}

/// Summary of a receiver.
#[derive(Debug, Serialize)]
pub struct Total {
    /// Time from the first packet to the last, s.
    pub seconds: f64,
    /// Flows received.
    pub flows: u64,
    /// Packet counters, summed over flows.
    #[serde(flatten)]
    pub counts: Counts,
    /// Datagrams that belong to no flow.
    pub garbage: u64,
    /// One-way delays of all packets. If the clocks differ, each delay is the excess over the fastest packet.
    pub delays: Option<Delays>,
}

/// Receiver that acknowledges packets at an address.
#[derive(Debug)]
pub struct LoadReceiver {
    /// Local address.
    pub at: SocketAddr,
    /// Time after which the receiver ends.
    pub time: Option<Duration>,
    /// Number of ended flows after which the receiver ends.
    pub flows: Option<u64>,
    /// Time between two progress reports.
    pub every: Duration,
    /// True for real-time scheduling, ahead of all ordinary programs.
    pub realtime: bool,
}

struct ReceiveRun {
    clock: Clock,
    table: FlowTable,
    ended: Vec<Arriving>,
    over: u64,
    counts: Counts,
    garbage: u64,
    delays: Histogram<u64>,
    all_delays: Histogram<u64>,
    /// First and last arrival.
    span: Option<(Time, Time)>,
}

impl LoadReceiver {
    /// Opens the socket, then calls `ready` with its address.
    ///
    /// # Errors
    /// When the address is in use, or `ready` or `read` fails.
    pub fn run(
        &self,
        stop: &Stop,
        ready: impl FnOnce(SocketAddr),
        mut read: impl FnMut(&Progress) -> Result<(), Error>,
    ) -> Result<Total, Error> {
        let socket = udp(self.at)?;
        ready(socket.local_addr().map_err(Error::failed)?);
        sys::sharp_timers();
        if self.realtime {
            sys::realtime().map_err(|e| Error::failed(format!("--realtime: {e}; it needs CAP_SYS_NICE")))?;
        }
        let mut run = ReceiveRun::new()?;
        let mut batch = Batch::default();
        let (mut reading, mut sweep) = (Time::ZERO + self.every, Time::ZERO + SWEEP_INTERVAL);
        loop {
            let stopped = run.wait(&socket, stop, reading)?;
            run.take(&socket, &mut batch);
            let now = run.clock.now();
            if now >= sweep {
                let old = run.table.expire(now, false);
                run.forget(old);
                sweep = now + SWEEP_INTERVAL;
            }
            let time_is_up = self.time.is_some_and(|time| now >= Time::ZERO + time);
            let last = stopped || time_is_up || self.flows.is_some_and(|flows| run.over >= flows);
            if now >= reading || last {
                run.read(now, &mut read)?;
                reading = (reading + self.every).max(now);
            }
            if last {
                return run.total(&mut read);
            }
        }
    }
}

impl ReceiveRun {
    fn new() -> Result<Self, Error> {
        let histogram = || Histogram::new_with_bounds(1, LONGEST_DELAY, 3).map_err(Error::failed);
        Ok(Self {
            clock: Clock::start(),
            table: FlowTable::default(),
            ended: Vec::new(),
            over: 0,
            counts: Counts::default(),
            garbage: 0,
            delays: histogram()?,
            all_delays: histogram()?,
            span: None,
        })
    }

    fn wait(&self, socket: &UdpSocket, stop: &Stop, until: Time) -> Result<bool, Error> {
        let left = span(until.since(self.clock.now()).min(Duration::from_ms(100)));
        let mut watched = [
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        ];
        ready(&mut watched, left)?;
        Ok(!watched[1].revents().is_empty())
    }

    fn take(&mut self, socket: &UdpSocket, batch: &mut Batch) {
        let mut acks: Vec<([u8; LONGEST_ACK], usize, SocketAddr)> = Vec::with_capacity(MAX_BATCH);
        for _ in 0..MAX_BATCHES_PER_TURN {
            acks.clear();
            let taken = batch.receive(socket, |wire, origin| {
                let Some(from) = origin.from else { return };
                // The clock must be read after the packet has arrived. A reading from the start of this iteration could
                // be earlier than the packet's send time.
                let (now, stamp) = (self.clock.now(), stamp());
                if let Some((ack, length)) = self.packet(now, stamp, wire, from, origin.marked()) {
                    acks.push((ack, length, from));
                }
            });
            batch.send(
                socket,
                acks.iter().map(|(wire, length, to)| (&wire[..*length], Some(*to))),
            );
            // An error here is an ICMP error for an earlier ACK. It is ignored.
            if !matches!(taken, Ok(MAX_BATCH..)) {
                return;
            }
        }
    }

    /// Handles a datagram. Returns the ACK, if there is one. The ACK is never longer than the datagram.
    fn packet(
        &mut self,
        now: Time,
        stamp: u64,
        wire: &[u8],
        from: SocketAddr,
        marked: bool,
    ) -> Option<([u8; LONGEST_ACK], usize)> {
        let flow = Shim::decode(wire).ok();
        let flow =
            flow.and_then(|(shim, header, _)| Some((self.table.flow(now, from, &shim, header, stamp)?, shim, header)));
        let Some((flow, shim, header)) = flow else {
            self.garbage += u64::from(!closes(wire));
            return None;
        };
        let size = (wire.len() + overhead(&from)) as u64;
        let mut out = [0; LONGEST_ACK];
        let ack = flow.receiver.ack(
            now,
            Received {
                shim: &shim,
                header,
                size: Bytes::new(size),
                marked,
            },
            wire.len(),
            &mut out,
        );
        let Ok((order, length)) = ack else {
            self.garbage += 1;
            return None;
        };
        if let Some(delay) = flow.count(&shim, order, stamp, size) {
            flow.counts.marked += u64::from(marked);
            let delay = delay.clamp(1, LONGEST_DELAY);
            self.delays.saturating_record(delay);
            self.all_delays.saturating_record(delay);
        }
        let (first, _) = self.span.unwrap_or((now, now));
        self.span = Some((first, now));
        if shim.kind == Kind::Fin {
            let flow = self.table.close(now, from, shim.flow);
            self.forget(flow);
            return None;
        }
        (length <= wire.len() && !shim.unacknowledged).then_some((out, length))
    }

    fn forget(&mut self, flows: impl IntoIterator<Item = Arriving>) {
        for flow in flows {
            self.over += 1;
            let (sum, own) = (&mut self.counts, flow.counts);
            sum.packets += own.packets;
            sum.bytes += own.bytes;
            sum.lost += own.lost;
            sum.reordered += own.reordered;
            sum.duplicates += own.duplicates;
            sum.marked += own.marked;
            self.ended.push(flow);
        }
    }

    fn read(&mut self, now: Time, read: &mut impl FnMut(&Progress) -> Result<(), Error>) -> Result<(), Error> {
        let progress = Progress {
            now,
            table: &self.table,
            ended: &self.ended,
            garbage: self.garbage,
            delays: Delays::of(&self.delays),
        };
        read(&progress)?;
        self.delays.reset();
        self.ended.clear();
        Ok(())
    }

    fn total(mut self, read: &mut impl FnMut(&Progress) -> Result<(), Error>) -> Result<Total, Error> {
        let now = self.clock.now();
        let rest = self.table.expire(now, true);
        if !rest.is_empty() {
            self.forget(rest);
            self.read(now, read)?;
        }
        Ok(Total {
            seconds: self.span.map_or(0.0, |(first, last)| last.since(first).as_secs_f64()),
            flows: self.over,
            counts: self.counts,
            garbage: self.garbage,
            delays: Delays::of(&self.all_delays),
        })
    }
}

/// True if a datagram closes a flow. Senders send such a datagram twice.
fn closes(wire: &[u8]) -> bool {
    Shim::decode(wire).is_ok_and(|(shim, ..)| shim.kind == Kind::Fin)
}
