//! Conversion of the workers' samples to table rows, and of the workers' totals to the simulator's counters.

use levelflow_units::Buffer;
use std::collections::BTreeMap;

use levelflow_laws::Any;
use levelflow_results::{
    Backlog, ClassSummary, FlowRow, FlowSummary, LinkRow, LinkSummary, PacketCounts, Recorder, Summary, TestbedSummary,
    TransferRow,
};
use levelflow_scenario::{LinkSpec, Resolved};
use serde_json::{Value, json};

use super::meter::{Delivered, EntrySample, LinkSample, LinkTotal, Part, ReceivedTotal, Samples, SentTotal};

/// Collector of samples. A sample becomes table rows when all workers have reported it.
#[derive(Debug)]
pub struct Collector {
    samples: Samples,
    workers: usize,
    flows: usize,
    links: usize,
    /// Buffer of each link, packets. NaN for a link whose buffer is not limited in packets.
    buffers: Vec<f64>,
    /// Bytes that each flow entry delivered until the latest complete sample.
    delivered: Vec<u64>,
    /// Bytes that left each link's queue until the latest complete sample.
    carried: Vec<u64>,
    /// Bytes that each flow entry delivered in the second half of the run.
    later: Vec<u64>,
    /// Total duration of the samples in the second half, s.
    later_s: f64,
    next: u64,
    waiting: BTreeMap<u64, Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    parts: usize,
    sent: BTreeMap<usize, EntrySample>,
    delivered: BTreeMap<usize, Delivered>,
    links: BTreeMap<usize, LinkSample>,
    transfers: Vec<TransferRow>,
}

impl Collector {
    /// Creates a collector for this number of workers. Each worker reports every sample for its own links or flows.
    #[must_use]
    pub fn new(samples: Samples, workers: usize, resolved: &Resolved) -> Self {
        Self {
            samples,
            workers,
            flows: resolved.network.flows.len(),
            links: resolved.network.links.len(),
            buffers: resolved.network.links.iter().map(room).collect(),
            delivered: vec![0; resolved.network.flows.len()],
            carried: vec![0; resolved.network.links.len()],
            later: vec![0; resolved.network.flows.len()],
            later_s: 0.0,
            next: 1,
            waiting: BTreeMap::new(),
        }
    }

    /// Adds one worker's report of a sample. If this report completes rows, returns the time up to which rows are
    /// complete.
    pub fn add(&mut self, number: u64, part: Part, recorder: &mut Recorder) -> Option<f64> {
        let gathered = self.waiting.entry(number).or_default();
        gathered.parts += 1;
        match part {
            Part::Sent(entries, done) => {
                gathered.sent.extend(entries);
                gathered.transfers.extend(done);
            }
            Part::Delivered(entries) => gathered.delivered.extend(entries),
            Part::Links(links) => gathered.links.extend(links),
        }
        let mut until = None;
        while self.waiting.get(&self.next).is_some_and(|g| g.parts == self.workers) {
            let Some(gathered) = self.waiting.remove(&self.next) else {
                break;
            };
            until = Some(self.rows(&gathered, recorder));
            self.next += 1;
        }
        until
    }

    /// Returns the throughput of each flow entry until the latest complete sample, bit/s. Packets that arrive after
    /// this sample do not count.
    #[must_use]
    pub fn throughput_bps(&self) -> Vec<f64> {
        let seconds = self.samples.time(self.next - 1).as_secs_f64().max(f64::MIN_POSITIVE);
        self.delivered
            .iter()
            .map(|&bytes| bytes as f64 * 8.0 / seconds)
            .collect()
    }

    /// Returns the bytes that left each link's queue until the latest complete sample.
    #[must_use]
    pub fn carried(&self) -> &[u64] {
        &self.carried
    }

    /// Returns the delivery rate of each flow entry in the second half of the run, bit/s.
    #[must_use]
    pub fn later_bps(&self) -> Vec<f64> {
        let seconds = self.later_s.max(f64::MIN_POSITIVE);
        self.later.iter().map(|&bytes| bytes as f64 * 8.0 / seconds).collect()
    }

    fn rows(&mut self, gathered: &Gathered, recorder: &mut Recorder) -> f64 {
        let time = self.samples.time(self.next);
        let seconds = time.since(self.samples.time(self.next - 1)).as_secs_f64();
        let (t, bps) = (time.as_secs_f64(), |bytes: u64| bytes as f64 * 8.0 / seconds);
        let later = self.samples.in_second_half(self.next);
        self.later_s += if later { seconds } else { 0.0 };
        for flow in 0..self.flows {
            let delivered = gathered.delivered.get(&flow).copied().unwrap_or_default();
            self.delivered[flow] += delivered.bytes;
            self.later[flow] += if later { delivered.bytes } else { 0 };
            let sent = gathered.sent.get(&flow).copied().unwrap_or_default();
            recorder.flow(&FlowRow {
                t,
                flow: flow as u32,
                active: sent.active,
                throughput_bps: bps(delivered.bytes),
                goodput_bps: delivered.new.map_or(f64::NAN, bps),
                sending_rate_bps: bps(sent.sent),
                law_rate_bps: sent.rate,
                window_packets: sent.window,
                proposal_bps: sent.proposal,
                rtt_s: sent.rtt_sum / f64::from(sent.rtt_count),
                lost: u32::try_from(sent.lost).unwrap_or(u32::MAX),
                bottleneck: sent.bottleneck.map_or(-1, |link| link as i32),
            });
        }
        for link in 0..self.links {
            let seen = gathered.links.get(&link).copied().unwrap_or_default();
            let arrival_bps = bps(seen.arrived);
            self.carried[link] += seen.sent;
            recorder.link(&LinkRow {
                t,
                link: link as u32,
                arrival_bps,
                peak_bps: if seen.peak_rate > 0.0 {
                    seen.peak_rate
                } else {
                    arrival_bps
                },
                throughput_bps: bps(seen.sent),
                backlog_bytes: seen.queue,
                backlog_packets: seen.packets,
                backlog_max_bytes: seen.most,
                delayed_packets: seen.delays.packets,
                queueing_delay_mean_s: seen.delays.mean_s,
                queueing_delay_max_s: seen.delays.max_s,
                buffer_packets: self.buffers[link],
                dropped: u32::try_from(seen.dropped).unwrap_or(u32::MAX),
                dropped_bytes: seen.dropped_bytes,
                marked: u32::try_from(seen.marked).unwrap_or(u32::MAX),
                peak_loss: seen.peak_loss,
                signal: seen.signal,
            });
        }
        for row in &gathered.transfers {
            recorder.transfer(row);
        }
        t
    }
}

/// Returns a link's buffer in packets. Returns NaN if the buffer is in bytes or unlimited.
fn room(link: &LinkSpec<Any>) -> f64 {
    match link.buffer {
        Buffer::Packets(packets) => packets as f64,
        Buffer::Bytes(_) | Buffer::Unlimited => f64::NAN,
    }
}

/// Totals of all workers.
#[derive(Debug, Default)]
pub struct Totals {
    /// Totals of senders, by flow entry.
    pub sent: BTreeMap<usize, SentTotal>,
    /// Totals of receivers, by flow entry.
    pub received: BTreeMap<usize, ReceivedTotal>,
    /// Totals of links, by link number.
    pub links: BTreeMap<usize, LinkTotal>,
}

impl Totals {
    /// Records transfers that ended after the final sample, and transfers that are unfinished at the end.
    pub fn record_end(&self, recorder: &mut Recorder) {
        let rows = self.sent.values().flat_map(|sent| &sent.transfers);
        rows.for_each(|row| recorder.transfer(row));
    }

    /// Returns the counters of the run. `lost` counts packets that neither arrived nor were dropped at a queue. They
    /// were lost on a wire or in the machine. Packets are counted until the network is empty.
    /// `carried` is the number of bytes that left each link's queue until `end_s`.
    #[must_use]
    pub fn counters(&self, resolved: &Resolved, end_s: f64, carried: &[u64]) -> Value {
        let network = &resolved.network;
        let mut flows = Vec::new();
        let (nobody, nothing) = (SentTotal::default(), ReceivedTotal::default());
        for (i, spec) in network.flows.iter().enumerate() {
            let sent = self.sent.get(&i).unwrap_or(&nobody);
            let received = self.received.get(&i).unwrap_or(&nothing);
            let missing = sent.packets.saturating_sub(received.packets);
            // If the flows of dropped packets are unknown, `min(missing packets, drops on the path)` count as dropped.
            let path = spec
                .routes
                .first()
                .forward
                .iter()
                .filter_map(|&l| self.links.get(&(l as usize)));
            let dropped: u64 = path.map(|l| *l.dropped_of.get(i).unwrap_or(&l.dropped)).sum();
            let dropped = dropped.min(missing);
            flows.push(FlowSummary {
                name: spec.name.clone(),
                sent_packets: sent.packets,
                sent_bytes: sent.bytes,
                delivered_packets: received.packets,
                delivered_bytes: received.delivered.bytes,
                goodput_bytes: received.delivered.new,
                dropped_packets: dropped,
                lost_packets: missing - dropped,
                in_flight: 0,
                acks: PacketCounts {
                    sent: received.acks,
                    delivered: sent.acks,
                    dropped: 0,
                    lost: received.acks.saturating_sub(sent.acks),
                },
                started: sent.started,
                finished: sent.finished,
                aborted: sent.aborted,
                rtt_s: sent.rtt.quantiles(1e-9),
                testbed: Some(TestbedSummary {
                    one_way_excess_s: received.excess.quantiles(1e-9),
                    refused_acks: sent.refused,
                }),
            });
        }
        let hops = self.links.values().map(|l| l.delivered).sum();
        let links = self.link_counters(resolved, end_s, carried);
        json!(Summary {
            simulated_s: end_s,
            packet_hops: hops,
            events: 0,
            flows,
            links,
        })
    }

    fn link_counters(&self, resolved: &Resolved, end_s: f64, carried: &[u64]) -> Vec<LinkSummary> {
        let idle = LinkTotal::default();
        let links = resolved.network.links.iter().enumerate().map(|(i, spec)| {
            let seen = self.links.get(&i).unwrap_or(&idle);
            let gone = seen.dropped + seen.delivered + seen.lost;
            LinkSummary {
                name: spec.name.clone(),
                arrived_packets: seen.arrived,
                arrived_bytes: seen.arrived_bytes,
                delivered_packets: seen.delivered,
                dropped_packets: seen.dropped,
                dropped_bytes: seen.dropped_bytes,
                marked_packets: seen.marked,
                lost_packets: seen.lost,
                in_flight: seen.arrived.saturating_sub(gone),
                utilisation: carried[i] as f64 * 8.0 / spec.service_bits(end_s).max(f64::MIN_POSITIVE),
                backlog_bytes: seen.backlog(),
                queueing_delay_s: seen.delays.quantiles(),
                classes: seen.classes(|entry| &resolved.network.flows[entry].name),
                waiting_packets: seen.waiting,
                police: None,
            }
        });
        links.collect()
    }
}

impl LinkTotal {
    fn backlog(&self) -> Backlog {
        Backlog {
            mean: self.backlog_sum as f64 / self.arrived.max(1) as f64,
            max: self.backlog_max,
        }
    }

    /// Returns the queueing delays of each service class that had at least one packet. `entry` maps the index of a flow
    /// entry to its name.
    fn classes<'a>(&self, entry: impl Fn(usize) -> &'a str) -> Vec<ClassSummary> {
        let (division, classes) = &self.classes;
        let classes = classes.iter().enumerate();
        let classes = classes.map(|(index, delays)| ClassSummary {
            name: division.name(index, &entry),
            queueing_delay_s: delays.quantiles(),
        });
        classes.filter(|class| class.queueing_delay_s.is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use levelflow_scenario::Scenario;
    use levelflow_units::{Duration, Time};

    use super::*;

    /// The queue sends 1.25 MB/s for two seconds, which is the full capacity of 10 Mb/s. Another 250 kB leave the queue
    /// after the end of the run.
    #[test]
    fn rates_and_utilisation_leave_out_what_arrives_after_the_end() {
        let raw = json!({
            "name": "n", "duration": "2 s",
            "link": [{ "from": "A", "to": "B", "capacity": "10 Mb/s", "delay": "1 ms", "duplex": true }],
            "flow": [{ "name": "x", "law": { "cbr": { "rate": "11 Mb/s" } }, "from": "A", "to": "B" }],
        });
        let resolved = Scenario::from_value(&raw).unwrap().resolve().unwrap();
        let samples = Samples::new(Duration::from_secs(1), Time::ZERO + Duration::from_secs(2));
        let mut collector = Collector::new(samples, 2, &resolved);
        let mut recorder = Recorder::default();
        let delivered = |bytes| Delivered {
            bytes,
            new: Some(bytes),
        };
        for number in 1..=2 {
            collector.add(number, Part::Delivered(vec![(0, delivered(1_250_000))]), &mut recorder);
            let link = LinkSample {
                sent: 1_250_000,
                ..LinkSample::default()
            };
            collector.add(number, Part::Links(vec![(0, link)]), &mut recorder);
        }
        let mut totals = Totals::default();
        let received = ReceivedTotal {
            packets: 2750,
            delivered: delivered(2_750_000),
            ..ReceivedTotal::default()
        };
        totals.received.insert(0, received);
        totals.links.insert(
            0,
            LinkTotal {
                sent_bytes: 2_750_000,
                ..LinkTotal::default()
            },
        );
        let counters = totals.counters(&resolved, 2.0, collector.carried());
        assert_eq!(collector.throughput_bps(), [10e6]);
        assert_eq!(counters["links"][0]["utilisation"], 1.0);
        assert_eq!(counters["flows"][0]["delivered_bytes"], 2_750_000);
    }
}
