//! What a run tells: samples on a timer, and counters whose books must balance.

use levelflow_laws::{Bottleneck, Protocol, SenderLaw};

use super::Sim;
use crate::ackdelay::AckDelay;
use crate::counters::Violation;
use crate::flow::Phase;
use levelflow_results::{FlowRow, LinkRow, MemberRow, Summary};
use levelflow_scenario::{Arrivals, FlowSpec};

/// Flows of a group up to which each has rows of its own.
const LARGEST_GROUP: u32 = 1000;

/// Whether the entry is a group of unlimited flows that is small enough for a row each.
fn lists_members<P: Protocol>(spec: &FlowSpec<P>) -> bool {
    spec.size.is_none()
        && matches!(
            spec.arrivals,
            Arrivals::Once {
                count: 2..=LARGEST_GROUP
            }
        )
}

impl<P: Protocol> Sim<P> {
    /// Writes one row per flow entry and link.
    pub(super) fn record(&mut self) {
        (0..self.links.len()).for_each(|link| self.let_in(link as u32));
        let t = self.now.as_secs_f64();
        let elapsed = (self.now - self.last_sample).as_secs_f64();
        self.last_sample = self.now;
        self.record_members(t, elapsed);
        let mut sums = vec![(0.0, 0.0, 0.0, Bottleneck::Unknown); self.entries.len()];
        for flow in self.flows.iter().filter(|f| f.phase == Phase::Live) {
            let sum = &mut sums[flow.entry as usize];
            let law = flow.sender.law();
            if flow.is_sending() {
                sum.0 += law.rate().bps();
                sum.1 += law.proposal().bps();
            }
            if flow.has_window() {
                sum.2 += f64::from(law.window());
            }
            sum.3 = law.bottleneck();
        }
        for (i, (entry, (rate, proposal, window_packets, bottleneck))) in self.entries.iter_mut().zip(sums).enumerate()
        {
            let path = &entry.spec.routes.paths[entry.path(entry.plan, 0)];
            let link = path.link_of(bottleneck).map_or(-1, |link| link as i32);
            let single = entry.spec.arrivals == Arrivals::Once { count: 1 };
            let window = std::mem::take(&mut entry.window);
            self.recorder.flow(&FlowRow {
                t,
                flow: i as u32,
                active: entry.active,
                rate_bps: rate,
                window_packets,
                proposal_bps: proposal,
                sent_bps: window.sent_bytes as f64 * 8.0 / elapsed,
                delivered_bps: window.delivered_bytes as f64 * 8.0 / elapsed,
                rtt_s: window.rtt_sum / f64::from(window.rtt_count),
                lost: window.lost,
                bottleneck: if single { link } else { -1 },
            });
        }
        self.record_links(t, elapsed);
    }

    fn record_members(&mut self, t: f64, elapsed: f64) {
        for flow in &mut self.flows {
            let delivered = std::mem::take(&mut flow.delivered_bytes);
            let law = flow.sender.law();
            if flow.phase == Phase::Live && lists_members(&self.entries[flow.entry as usize].spec) {
                self.recorder.member(&MemberRow {
                    t,
                    flow: flow.entry,
                    member: flow.member,
                    rate_bps: if flow.is_sending() { law.rate().bps() } else { 0.0 },
                    delivered_bps: delivered as f64 * 8.0 / elapsed,
                });
            }
        }
    }

    fn record_links(&mut self, t: f64, elapsed: f64) {
        for (i, link) in self.links.iter_mut().enumerate() {
            link.catch_up(self.now, &mut self.packets);
            let window = std::mem::take(&mut link.window);
            let arrival_bps = window.arrived_bytes as f64 * 8.0 / elapsed;
            let (peak_bps, peak_loss) = if link.ports.is_empty() {
                (arrival_bps, window.loss())
            } else {
                (window.peak_rate, window.peak_loss)
            };
            self.recorder.link(&LinkRow {
                t,
                link: i as u32,
                arrival_bps,
                peak_bps,
                throughput_bps: window.sent_bytes as f64 * 8.0 / elapsed,
                buffer_packets: link.buffer_packets(),
                queue_bytes: link.queue_bytes(),
                queue_packets: link.queue_packets() as u32,
                queue_max_bytes: window.queue_max.max(link.queue_bytes()),
                dropped: window.dropped,
                dropped_bytes: window.dropped_bytes,
                marked: window.marked,
                peak_loss,
                signal: link.signal(),
            });
        }
    }

    /// Counters up to now.
    ///
    /// # Errors
    /// When a packet was counted twice or not at all: the simulator is wrong.
    pub fn summary(&mut self) -> Result<Summary, Violation> {
        (0..self.links.len()).for_each(|link| self.let_in(link as u32));
        let mut in_flight = vec![[0u64; 2]; self.entries.len()];
        let mut everywhere = 0;
        let on_links = self.links.iter().flat_map(|link| link.packets().chain(link.entering()));
        for id in on_links
            .chain(self.pipes.packets())
            .chain(self.ack_delays.iter().flat_map(AckDelay::packets))
        {
            let packet = &self.packets[id];
            in_flight[self.flows[packet.flow as usize].entry as usize][usize::from(packet.label.is_ack())] += 1;
            everywhere += 1;
        }
        everywhere += self.held_acks().count() as u64;
        balance("the packet store", self.packets.len() as u64, everywhere)?;
        let mut flows = Vec::new();
        for (entry, found) in self.entries.iter().zip(&in_flight) {
            balance(&entry.spec.name, entry.counters.data.outstanding(), found[0])?;
            balance(&entry.spec.name, entry.counters.acks.outstanding(), found[1])?;
            flows.push(entry.counters.summary(&entry.spec.name, found[0]));
        }
        let mut links = Vec::new();
        for (link, spec) in self.links.iter_mut().zip(&self.specs) {
            link.catch_up(self.now, &mut self.packets);
            let c = &link.counters;
            let found = link.packets().count() as u64;
            balance(&spec.name, c.arrived - c.dropped - c.delivered - c.lost, found)?;
            let sent = (c.arrived_bytes - c.dropped_bytes - link.queue_bytes()) as f64 * 8.0;
            let utilisation = sent / spec.offered_bits(self.now.as_secs_f64()).max(f64::MIN_POSITIVE);
            links.push(c.summary(&spec.name, found, utilisation, link.waits()));
        }
        Ok(Summary {
            simulated_s: self.now.as_secs_f64(),
            packet_hops: self.packet_hops(),
            events: self.processed,
            flows,
            links,
        })
    }
}

fn balance(whose: &str, expected: u64, found: u64) -> Result<(), Violation> {
    if expected == found {
        Ok(())
    } else {
        Err(Violation {
            whose: whose.to_owned(),
            expected,
            found,
        })
    }
}
