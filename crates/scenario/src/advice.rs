//! Warnings about scenarios that are valid but probably unintended.

mod laws;

use levelflow_laws::{Any, Protocol, Signal};
use levelflow_path::WireLoss;
use levelflow_units::{Buffer, Duration, Rate, Time};

use crate::network::{FlowSpec, LinkSpec};
use crate::resolve::Resolved;
use crate::traffic::{Arrivals, Dist};

/// Offered load above which a link is overloaded. The additional 1e-9 allows for rounding.
const MAX_LOAD: f64 = 1.0 + 1e-9;

impl Resolved {
    /// Returns one line for each detail of the scenario that is valid but probably unintended.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        if self.network.flows.is_empty() {
            return vec!["flow: there is none, so nothing is sent; add a [[flow]]".to_owned()];
        }
        let flows = self.network.flows.iter().enumerate();
        let mut lines: Vec<String> = flows.flat_map(|(i, flow)| self.warnings_of(i, flow)).collect();
        lines.extend(self.unlimited());
        lines.extend(self.overload());
        lines.extend(self.long_intervals());
        lines.extend(self.unequal_hosts());
        lines
    }

    /// Returns a warning about the link with the largest offered load, if this load exceeds 100 %.
    fn overload(&self) -> Option<String> {
        let loads = self.network.offered_loads();
        let over = || {
            loads
                .iter()
                .zip(&self.network.links)
                .filter(|(offered, _)| offered.load > MAX_LOAD)
        };
        let (most, link) = over().max_by(|(a, _), (b, _)| a.load.total_cmp(&b.load))?;
        let name = &link.name;
        let offer = if most.load.is_finite() {
            format!("flow entries offer {} of link {name}", percent(most.load))
        } else {
            let rate = Rate::clamped(most.bps);
            format!("flow entries offer {rate} to link {name} while its capacity is zero")
        };
        let others = match over().count() - 1 {
            0 => String::new(),
            1 => ", and more than 100 % of another".to_owned(),
            n => format!(", and more than 100 % of {n} others"),
        };
        Some(format!(
            "{offer}{others}: the excess over 100 % is queued, dropped or left unfinished"
        ))
    }

    fn warnings_of(&self, i: usize, flow: &FlowSpec<Any>) -> Vec<String> {
        let place = format!("flow {} ({})", i + 1, flow.name);
        let mut lines = Vec::new();
        let end = self.network.duration;
        let first = match &flow.arrivals {
            Arrivals::Times(times) => times.iter().copied().fold(f64::INFINITY, f64::min),
            Arrivals::Transfers(all) => all.iter().map(|&(at, _)| at).fold(f64::INFINITY, f64::min),
            Arrivals::Once { .. } | Arrivals::Process { .. } => flow.start.min(),
        };
        if first >= end.as_secs_f64() {
            lines.push(format!(
                "{place}, start: it starts after the end of the run, {end}, and sends nothing"
            ));
        } else {
            for (key, at) in [("stop", flow.stop), ("last_arrival", flow.last_arrival)] {
                if at.is_some_and(|at| at > Time::ZERO + end) {
                    lines.push(format!("{place}, {key}: the run ends earlier, after {end}"));
                }
            }
        }
        let law = flow.params.law();
        let header = law.signalling.header_bytes() as u64;
        if flow.packet.get() < header {
            let size = flow.packet;
            lines.push(format!(
                "{place}, packet: {size} is less than the header of {law}, {header} B",
                law = law.name
            ));
        }
        lines
    }

    /// Returns a warning about an unlimited buffer at the bottleneck of a loss-based law. Without drops, the law never
    /// reduces its rate.
    fn unlimited(&self) -> Option<String> {
        let links = &self.network.links;
        let slowest = |flow: &FlowSpec<Any>| {
            let rate = |&l: &u32| links[l as usize].service_rate(links[l as usize].capacity).bps();
            flow.routes
                .first()
                .forward
                .iter()
                .copied()
                .min_by(|a, b| rate(a).total_cmp(&rate(b)))
        };
        // A transfer of at most two bandwidth-delay products causes no warning. It fits into the path and the queue
        // that slow start causes.
        let outgrows = |flow: &FlowSpec<Any>| {
            let room = slowest(flow).zip(self.round_trip(flow));
            let bytes = room.map(|(l, rtt)| {
                let link = &links[l as usize];
                link.service_rate(link.capacity).bytes_in(rtt)
            });
            flow.size
                .as_ref()
                .is_none_or(|size| bytes.is_some_and(|bytes| size.max() > 2.0 * bytes))
        };
        let fills = |flow: &&FlowSpec<Any>| flow.params.law().signal == Signal::Loss && outgrows(flow);
        let mut first: Vec<Option<&FlowSpec<Any>>> = vec![None; links.len()];
        for flow in self.network.flows.iter().filter(fills) {
            if let Some(l) = slowest(flow) {
                first[l as usize].get_or_insert(flow);
            }
        }
        let warning = |(flow, link): (Option<&FlowSpec<Any>>, &LinkSpec<Any>)| {
            let flow = flow?;
            let drops = link.algorithm.is_some()
                || link.wire.loss != WireLoss::NONE
                || !link.queue.discipline().params.is_empty();
            (link.buffer == Buffer::Unlimited && !drops).then(|| {
                let transfers = if flow.size.is_some() {
                    "with large transfers, "
                } else {
                    ""
                };
                format!(
                    "link {name}, buffer: it is unlimited, and {law} of flow {flow} fills it \
                     {transfers}because no packet is dropped; write e.g. buffer = \"1 BDP\"",
                    name = link.name,
                    law = flow.params.law().name,
                    flow = flow.name,
                )
            })
        };
        let mut found = first.into_iter().zip(links).filter_map(warning);
        let line = found.next()?;
        Some(format!("{line}{}", alike(found.count())))
    }

    /// Returns true if the run depends on its seed.
    #[must_use]
    pub fn is_random(&self) -> bool {
        let link = |link: &LinkSpec<Any>| {
            let mut wires = link.changes.iter().map(|state| &state.wire).chain([&link.wire]);
            wires.any(|wire| wire.loss != WireLoss::NONE || wire.jitter > Duration::ZERO)
                || !link.routers.is_empty()
                || link.queue.draws()
        };
        self.network.links.iter().any(link) || self.network.flows.iter().any(draws)
    }
}

/// Returns the end of a warning, with the number of other links that have the same warning.
fn alike(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (same for 1 other link)".to_owned(),
        n => format!(" (same for {n} other links)"),
    }
}

/// Formats a fraction as a percentage. The text has enough decimals to differ from 100 %.
fn percent(share: f64) -> String {
    let decimals = (0..9).find(|&decimals| format!("{:.decimals$}", 100.0 * share).parse() != Ok(100.0));
    format!("{:.*} %", decimals.unwrap_or(9), 100.0 * share)
}

fn draws(flow: &FlowSpec<Any>) -> bool {
    let varies = |dist: &Dist| dist.constant().is_none();
    let given = |dist: &Option<Dist>| dist.as_ref().is_some_and(varies);
    let arrivals = match &flow.arrivals {
        Arrivals::Process { interval, .. } => varies(interval),
        Arrivals::Once { .. } | Arrivals::Times(_) | Arrivals::Transfers(_) => false,
    };
    let session = flow.session.as_ref();
    let session = session.is_some_and(|s| varies(&s.pages) || varies(&s.objects) || varies(&s.think));
    let delay = flow
        .ack_delay
        .as_ref()
        .is_some_and(|d| varies(&d.every) || varies(&d.hold) || (0.0 < d.withheld && d.withheld < 1.0));
    let values = varies(&flow.start) || given(&flow.rtt) || given(&flow.lifetime) || given(&flow.size);
    let law = Any::transport(&flow.params).draws;
    arrivals || session || delay || values || law || flow.overhead > Duration::ZERO
}
