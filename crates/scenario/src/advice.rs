//! What a scenario says that is allowed and hardly meant.

use levelflow_laws::{Any, Signal};
use levelflow_path::Loss;
use levelflow_units::{Buffer, Duration, Time};

use crate::network::{FlowSpec, LinkSpec};
use crate::resolve::Resolved;
use crate::traffic::{Arrivals, Dist};

/// Queue disciplines that draw a random number for each packet.
const RANDOM_QUEUES: [&str; 3] = ["red", "rem", "pi"];

impl Resolved {
    /// One line for each thing that is allowed and hardly meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let flows = self.network.flows.iter().enumerate();
        let mut lines: Vec<String> = flows.flat_map(|(i, flow)| self.warnings_of(i, flow)).collect();
        lines.extend(self.unlimited());
        lines
    }

    fn warnings_of(&self, i: usize, flow: &FlowSpec<Any>) -> Vec<String> {
        let place = format!("flow {} ({})", i + 1, flow.name);
        let mut lines = Vec::new();
        let end = self.network.duration;
        let first = match &flow.arrivals {
            Arrivals::Times(times) => times.iter().copied().fold(f64::INFINITY, f64::min),
            Arrivals::Once { .. } | Arrivals::Process { .. } => flow.start.min(),
        };
        if first >= end.as_secs_f64() {
            lines.push(format!(
                "{place}, start: it starts after the end of the run, {end}, and sends nothing"
            ));
        } else if flow.stop.is_some_and(|stop| stop > Time::ZERO + end) {
            lines.push(format!("{place}, stop: the run ends before, after {end}"));
        }
        let law = flow.params.law();
        let header = law.header_bytes() as u64;
        if flow.packet.get() < header {
            let size = flow.packet;
            lines.push(format!(
                "{place}, packet: {size} is less than the header of {law}, {header} B",
                law = law.name
            ));
        }
        lines
    }

    /// Links without a limit of their buffers at which a law that listens to losses would wait for them in vain.
    fn unlimited(&self) -> Vec<String> {
        let links = &self.network.links;
        let slowest = |flow: &FlowSpec<Any>| {
            let capacity = |&l: &u32| links[l as usize].capacity.bps();
            flow.routes
                .first()
                .forward
                .iter()
                .copied()
                .min_by(|a, b| capacity(a).total_cmp(&capacity(b)))
        };
        let fills = |flow: &&FlowSpec<Any>| flow.params.law().signal == Signal::Loss && flow.size.is_none();
        let mut first: Vec<Option<&FlowSpec<Any>>> = vec![None; links.len()];
        for flow in self.network.flows.iter().filter(fills) {
            if let Some(l) = slowest(flow) {
                first[l as usize].get_or_insert(flow);
            }
        }
        let warning = |(flow, link): (Option<&FlowSpec<Any>>, &LinkSpec<Any>)| {
            let flow = flow?;
            let drops =
                link.algorithm.is_some() || link.wire.loss != Loss::NONE || !link.queue.discipline().params.is_empty();
            (link.buffer == Buffer::Unlimited && !drops).then(|| {
                format!(
                    "link {name}, buffer: it is unlimited, and {law} of flow {flow} fills it until packets are dropped; \
                     write e.g. buffer = \"1 BDP\"",
                    name = link.name,
                    law = flow.params.law().name,
                    flow = flow.name,
                )
            })
        };
        first.into_iter().zip(links).filter_map(warning).collect()
    }

    /// Whether anything in the run depends on its seed.
    #[must_use]
    pub fn is_random(&self) -> bool {
        let link = |link: &LinkSpec<Any>| {
            let mut wires = link.changes.iter().map(|state| &state.wire).chain([&link.wire]);
            wires.any(|wire| wire.loss != Loss::NONE || wire.jitter > Duration::ZERO)
                || !link.routers.is_empty()
                || RANDOM_QUEUES.contains(&link.queue.discipline().name)
        };
        self.network.links.iter().any(link) || self.network.flows.iter().any(draws)
    }
}

fn draws(flow: &FlowSpec<Any>) -> bool {
    let varies = |dist: &Dist| dist.constant().is_none();
    let given = |dist: &Option<Dist>| dist.as_ref().is_some_and(varies);
    let arrivals = match &flow.arrivals {
        Arrivals::Process { interval, .. } => varies(interval),
        Arrivals::Once { .. } | Arrivals::Times(_) => false,
    };
    let session = flow.session.as_ref();
    let session = session.is_some_and(|s| varies(&s.pages) || varies(&s.objects) || varies(&s.think));
    let delay = flow
        .ack_delay
        .as_ref()
        .is_some_and(|d| varies(&d.every) || varies(&d.hold));
    let values = varies(&flow.start) || given(&flow.rtt) || given(&flow.lifetime) || given(&flow.size);
    arrivals || session || delay || values || flow.overhead > Duration::ZERO
}
