//! Results of a run: samples at regular times, and counters. The counters must show that packets are conserved.

use levelflow_laws::{Bottleneck, Protocol, SenderLaw};

use super::{FlowEntry, Sim};
use crate::ackdelay::AckDelay;
use crate::counters::{EntryWindow, LinkEnd, Violation};
use crate::flow::Phase;
use crate::id::{EntryId, Id, IdVec, LinkId};
use levelflow_results::{FlowRow, LinkRow, LinkSummary, MemberRow, Summary};
use levelflow_scenario::{Arrivals, FlowSpec};

/// Largest number of flows in an entry for which each flow has its own result rows.
const LARGEST_GROUP: u32 = 1000;

/// Returns true if each flow of the entry has its own result rows. This holds for a small group of unlimited flows.
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
    /// Writes one row per flow entry and one row per link. The simulation may have several parts.
    pub(crate) fn record(parts: &mut [Self]) {
        Self::settle(parts);
        Self::release(parts);
        let now = parts[0].now;
        let t = now.as_secs_f64();
        let elapsed = (now - parts[0].last_sample).as_secs_f64();
        parts.iter_mut().for_each(|part| part.last_sample = now);
        Self::record_members(parts, t, elapsed);
        let bps = |bytes: u64| bytes as f64 * 8.0 / elapsed;
        let mut sums = IdVec::from(vec![(0.0, 0.0, 0.0, Bottleneck::Unknown); parts[0].entries.len()]);
        for part in &*parts {
            part.add_up(&mut sums);
        }
        for (i, &(rate, proposal, window_packets, bottleneck)) in sums.pairs() {
            let window = Self::entry_window(parts, i);
            let whole = &mut parts[0];
            let entry = &whole.entries[i];
            let path = &entry.spec.routes.paths[entry.path(entry.plan, 0).index()];
            let link = path.link_of(bottleneck).map_or(-1, |link| link as i32);
            let single = entry.spec.arrivals == Arrivals::Once { count: 1 };
            whole.recorder.flow(&FlowRow {
                t,
                flow: i.0,
                active: entry.active,
                throughput_bps: bps(window.delivered_bytes),
                goodput_bps: bps(window.delivered_bytes - window.overhead_bytes),
                sending_rate_bps: bps(window.sent_bytes),
                law_rate_bps: rate,
                window_packets,
                proposal_bps: proposal,
                rtt_s: window.rtt_sum / f64::from(window.rtt_count),
                lost: window.lost,
                bottleneck: if single { link } else { -1 },
            });
        }
        Self::record_links(parts, t, elapsed);
    }

    /// Updates all links and flows to the current time. Packets of hosts arrive at links, and complete flows become
    /// inactive.
    fn settle(parts: &mut [Self]) {
        for part in &mut *parts {
            part.links.ids().for_each(|link| part.admit_pending(link));
        }
        Self::close_flows(parts);
    }

    /// Adds the rates, proposals and windows of senders to the sums of their entries. Counts only senders in this part
    /// of the network.
    fn add_up(&self, sums: &mut IdVec<EntryId, (f64, f64, f64, Bottleneck)>) {
        for flow in self
            .flows
            .iter()
            .filter(|f| f.phase == Phase::Live && self.sends(f.entry))
        {
            let sum = &mut sums[flow.entry];
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
    }

    /// Removes and returns the counts of an entry since the latest sample, summed over all parts.
    fn entry_window(parts: &mut [Self], i: EntryId) -> EntryWindow {
        let mut sum = EntryWindow::default();
        for part in parts {
            sum.absorb(std::mem::take(&mut part.entries[i].window));
        }
        sum
    }

    fn record_members(parts: &mut [Self], t: f64, elapsed: f64) {
        for i in parts[0].flows.ids() {
            let entry = parts[0].flows[i].entry;
            let [sender, receiver] = parts[0].ends(entry);
            let delivered = std::mem::take(&mut parts[receiver].flows[i].delivered_bytes);
            let flow = &parts[sender].flows[i];
            if flow.phase == Phase::Live && lists_members(&parts[sender].entries[entry].spec) {
                let law = flow.sender.law();
                let row = MemberRow {
                    t,
                    flow: entry.0,
                    member: flow.member,
                    throughput_bps: delivered as f64 * 8.0 / elapsed,
                    law_rate_bps: if flow.is_sending() { law.rate().bps() } else { 0.0 },
                };
                parts[0].recorder.member(&row);
            }
        }
    }

    fn record_links(parts: &mut [Self], t: f64, elapsed: f64) {
        for i in parts[0].links.ids() {
            let home = parts[0].queue_of(i);
            let Self {
                links, packets, now, ..
            } = &mut parts[home];
            let link = &mut links[i];
            link.catch_up(*now, packets);
            let sample = link.sample();
            let window = &sample.window;
            let arrival_bps = sample.arrived_bytes as f64 * 8.0 / elapsed;
            let (peak_bps, peak_loss) = if link.ports.is_empty() {
                (arrival_bps, sample.loss())
            } else {
                (window.peak_rate, window.peak_loss)
            };
            let row = LinkRow {
                t,
                link: i.0,
                arrival_bps,
                peak_bps,
                throughput_bps: sample.sent_bytes as f64 * 8.0 / elapsed,
                buffer_packets: link.buffer_packets(),
                backlog_bytes: link.backlog(),
                backlog_packets: link.queue_packets() as u32,
                backlog_max_bytes: sample.backlog_max,
                delayed_packets: sample.delays.packets,
                queueing_delay_mean_s: sample.delays.mean_s,
                queueing_delay_max_s: sample.delays.max_s,
                dropped: window.dropped,
                dropped_bytes: window.dropped_bytes,
                marked: window.marked,
                peak_loss,
                signal: link.signal(),
            };
            parts[0].recorder.link(&row);
        }
    }

    /// Returns the counters up to now.
    ///
    /// # Errors
    /// Returns an error if a packet was counted twice or not at all. This is a bug in the simulator.
    pub fn summary(&mut self) -> Result<Summary, Violation> {
        Self::summarise(std::slice::from_mut(self))
    }

    /// Returns the counters up to now, for a simulation in several parts.
    pub(crate) fn summarise(parts: &mut [Self]) -> Result<Summary, Violation> {
        Self::settle(parts);
        let mut in_flight = IdVec::from(vec![[0u64; 2]; parts[0].entries.len()]);
        parts.iter().try_for_each(|part| part.find_packets(&mut in_flight))?;
        let mut flows = Vec::new();
        for (i, found) in in_flight.pairs() {
            let [home, _] = parts[0].ends(i);
            for other in (0..parts.len()).filter(|&other| other != home) {
                let counted = parts[other].entries[i].counters.taken();
                parts[home].entries[i].counters.absorb(&counted);
            }
            let FlowEntry { spec, counters, .. } = &parts[home].entries[i];
            balance(&spec.name, counters.data.outstanding(), found[0])?;
            balance(&spec.name, counters.acks.outstanding(), found[1])?;
            flows.push(counters.summary(&spec.name, found[0]));
        }
        let links = parts[0].links.ids().map(|i| Self::link_summary(parts, i));
        let links = links.collect::<Result<_, _>>()?;
        Ok(Summary {
            simulated_s: parts[0].now.as_secs_f64(),
            packet_hops: parts.iter().map(Self::packet_hops).sum(),
            events: parts.iter().map(Self::events).sum(),
            flows,
            links,
        })
    }

    /// Counts the data packets and the ACKs in flight of each entry.
    fn find_packets(&self, in_flight: &mut IdVec<EntryId, [u64; 2]>) -> Result<(), Violation> {
        let mut everywhere = 0;
        let on_links = self.links.iter().flat_map(|link| link.packets().chain(link.entering()));
        for id in on_links
            .chain(self.pipes.packets())
            .chain(self.ack_delays.iter().flat_map(AckDelay::packets))
        {
            let packet = &self.packets[id];
            in_flight[self.flows[packet.flow].entry][usize::from(packet.label.is_ack())] += 1;
            everywhere += 1;
        }
        everywhere += self.held_acks().count() as u64;
        balance("the packet store", self.packets.len() as u64, everywhere)
    }

    fn link_summary(parts: &mut [Self], i: LinkId) -> Result<LinkSummary, Violation> {
        let home = parts[0].queue_of(i);
        let mut found = 0;
        for k in 0..parts.len() {
            let (now, Self { links, packets, .. }) = (parts[k].now, &mut parts[k]);
            links[i].catch_up(now, packets);
            links[i].count_delays();
            found += links[i].packets().count() as u64;
            if k != home {
                let (delivered, lost) = parts[k].links[i].counters.arrivals_taken();
                let counters = &mut parts[home].links[i].counters;
                (counters.delivered, counters.lost) = (counters.delivered + delivered, counters.lost + lost);
            }
        }
        let Self {
            links,
            specs,
            entries,
            now,
            ..
        } = &parts[home];
        let (link, spec) = (&links[i], &specs[i]);
        let c = &link.counters;
        balance(&spec.name, c.arrived - c.dropped - c.delivered - c.lost, found)?;
        let sent = link.sent_bytes() as f64 * 8.0;
        let utilisation = sent / spec.service_bits(now.as_secs_f64()).max(f64::MIN_POSITIVE);
        let end = LinkEnd {
            in_flight: found,
            utilisation,
            backlog_max: link.largest_backlog(),
            classes: link.classes(|entry| &entries[EntryId::of(entry)].spec.name),
            waiting_packets: link.queue_packets() as u64,
            police: link.police_summary(),
        };
        Ok(c.summary(&spec.name, end))
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
