//! Puts the parts of samples together as rows of tables, and totals as the simulator's counters.

use levelflow_units::Buffer;
use std::collections::BTreeMap;

use levelflow_laws::Any;
use levelflow_results::{Books, CompletionRow, FlowRow, FlowSummary, LinkRow, LinkSummary, Recorder, Summary};
use levelflow_scenario::{LinkSpec, Resolved};
use serde_json::{Value, json};

use super::meter::{EntrySample, LinkSample, LinkTotal, Part, ReceivedTotal, Samples, SentTotal};

/// Samples that are complete turn into rows, in order.
#[derive(Debug)]
pub struct Collector {
    samples: Samples,
    workers: usize,
    flows: usize,
    links: usize,
    /// Room of each link, packets; NaN where it is not limited in packets.
    buffers: Vec<f64>,
    /// Bytes that each flow entry delivered in the second half.
    later: Vec<u64>,
    /// How much of it is over, s.
    later_s: f64,
    next: u64,
    waiting: BTreeMap<u64, Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    parts: usize,
    sent: BTreeMap<usize, EntrySample>,
    delivered: BTreeMap<usize, u64>,
    links: BTreeMap<usize, LinkSample>,
    completions: Vec<CompletionRow>,
}

impl Collector {
    /// For so many workers, each of which tells a part of every sample.
    #[must_use]
    pub fn new(samples: Samples, workers: usize, resolved: &Resolved) -> Self {
        Self {
            samples,
            workers,
            flows: resolved.network.flows.len(),
            links: resolved.network.links.len(),
            buffers: resolved.network.links.iter().map(room).collect(),
            later: vec![0; resolved.network.flows.len()],
            later_s: 0.0,
            next: 1,
            waiting: BTreeMap::new(),
        }
    }

    /// Takes a part; gives the time up to which rows are now there, if there are new ones.
    pub fn add(&mut self, number: u64, part: Part, recorder: &mut Recorder) -> Option<f64> {
        let gathered = self.waiting.entry(number).or_default();
        gathered.parts += 1;
        match part {
            Part::Sent(entries, done) => {
                gathered.sent.extend(entries);
                gathered.completions.extend(done);
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

    /// Rates at which each flow entry delivered in the second half, bit/s.
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
            let delivered = gathered.delivered.get(&flow).copied().unwrap_or(0);
            self.later[flow] += if later { delivered } else { 0 };
            let sent = gathered.sent.get(&flow).copied().unwrap_or_default();
            recorder.flow(&FlowRow {
                t,
                flow: flow as u32,
                active: sent.active,
                rate_bps: sent.rate,
                window_packets: sent.window,
                proposal_bps: sent.proposal,
                sent_bps: bps(sent.sent),
                delivered_bps: bps(delivered),
                rtt_s: sent.rtt_sum / f64::from(sent.rtt_count),
                lost: u32::try_from(sent.lost).unwrap_or(u32::MAX),
                bottleneck: sent.bottleneck.map_or(-1, |link| link as i32),
            });
        }
        for link in 0..self.links {
            let seen = gathered.links.get(&link).copied().unwrap_or_default();
            let arrival_bps = bps(seen.arrived);
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
                queue_bytes: seen.queue,
                queue_packets: seen.packets,
                queue_max_bytes: seen.most,
                buffer_packets: self.buffers[link],
                dropped: u32::try_from(seen.dropped).unwrap_or(u32::MAX),
                dropped_bytes: seen.dropped_bytes,
                marked: u32::try_from(seen.marked).unwrap_or(u32::MAX),
                peak_loss: seen.peak_loss,
                signal: seen.signal,
            });
        }
        for row in &gathered.completions {
            recorder.completion(row);
        }
        t
    }
}

/// Packets that fit a link's buffer; NaN if it is in bytes or has no limit.
fn room(link: &LinkSpec<Any>) -> f64 {
    match link.buffer {
        Buffer::Packets(packets) => packets as f64,
        Buffer::Bytes(_) | Buffer::Unlimited => f64::NAN,
    }
}

/// What all workers counted.
#[derive(Debug, Default)]
pub struct Totals {
    /// By flow entry.
    pub sent: BTreeMap<usize, SentTotal>,
    /// By flow entry.
    pub received: BTreeMap<usize, ReceivedTotal>,
    /// By link.
    pub links: BTreeMap<usize, LinkTotal>,
}

impl Totals {
    /// As the simulator's counters, and what else is known of each flow entry. What did not come and was not dropped at a
    /// queue was lost on a wire, or elsewhere in the machine.
    #[must_use]
    pub fn counters(&self, resolved: &Resolved, end_s: f64) -> Value {
        let network = &resolved.network;
        let (mut flows, mut more) = (Vec::new(), Vec::new());
        let (nobody, nothing) = (SentTotal::default(), ReceivedTotal::default());
        for (i, spec) in network.flows.iter().enumerate() {
            let sent = self.sent.get(&i).unwrap_or(&nobody);
            let received = self.received.get(&i).unwrap_or(&nothing);
            let missing = sent.packets.saturating_sub(received.packets);
            // Where it is not known whose packets a queue dropped, what is missing was dropped, as far as it goes.
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
                delivered_bytes: received.bytes,
                dropped_packets: dropped,
                lost_packets: missing - dropped,
                in_flight: 0,
                acks: Books {
                    sent: received.acks,
                    delivered: sent.acks,
                    dropped: 0,
                    lost: received.acks.saturating_sub(sent.acks),
                },
                started: sent.started,
                finished: sent.finished,
                rtt_s: sent.rtt.quantiles(1e-9),
            });
            more.push(json!({ "wait_s": received.waits.quantiles(1e-9), "refused_acks": sent.refused }));
        }
        let hops = self.links.values().map(|l| l.delivered).sum();
        let links = self.link_counters(resolved, end_s);
        let mut counters = json!(Summary {
            simulated_s: end_s,
            packet_hops: hops,
            events: 0,
            flows,
            links,
        });
        for (flow, more) in counters["flows"].as_array_mut().into_iter().flatten().zip(more) {
            if let (Some(flow), Value::Object(more)) = (flow.as_object_mut(), more) {
                flow.extend(more);
            }
        }
        counters
    }

    fn link_counters(&self, resolved: &Resolved, end_s: f64) -> Vec<LinkSummary> {
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
                utilisation: seen.sent_bytes as f64 * 8.0 / spec.offered_bits(end_s).max(f64::MIN_POSITIVE),
                queue_bytes: seen.queue.quantiles(1.0),
                wait_s: seen.waits.as_ref().and_then(|waits| waits.quantiles(1e-9)),
            }
        });
        links.collect()
    }
}
