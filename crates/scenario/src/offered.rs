//! Offered load: bits that flow entries would send over each link if queues neither delayed nor dropped them.
//!
//! The load of an entry is the data of its transfers, or the rate of its application or constant-rate sender. The load
//! includes headers. It excludes ACKs and packets that open or close flows. Unlimited flows and responses to requests
//! are elastic and have no offered load. The load of a link is the sum over all paths that cross the link.

use levelflow_laws::{Any, AnySender, FlowInfo, SenderLaw, Signal};
use levelflow_units::Time;

use crate::application::ApplicationSpec;
use crate::network::{FlowSpec, LinkSpec, Network, Routes};
use crate::traffic::{Arrivals, Dist};

/// Offered load of a link in its busiest period. A period ends when any entry starts or stops offering load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Offered {
    /// Rate, b/s.
    pub bps: f64,
    /// Ratio `offered bits/served bits`, where `served bits` can be served by the link in this period. Infinite if the
    /// link can serve no bits.
    pub load: f64,
}

impl Network<Any> {
    /// Returns the offered load of each link.
    #[must_use]
    pub fn offered_loads(&self) -> Vec<Offered> {
        let mut offers = vec![Vec::new(); self.links.len()];
        for flow in &self.flows {
            let Some(own) = offer(flow, self.duration.as_secs_f64()).filter(Offer::is_some) else {
                continue;
            };
            for (path, share) in shares(&flow.routes, flow.known_flows(), &own) {
                for &link in &flow.routes.paths[path].forward {
                    let bits = share * own.bits;
                    offers[link as usize].push(Offer { bits, ..own });
                }
            }
        }
        let links = self.links.iter().zip(&offers);
        links.map(|(link, offers)| busiest(link, offers)).collect()
    }
}

/// Returns the offered load of a link in its busiest period; see [`Offered`].
fn busiest(link: &LinkSpec<Any>, offers: &[Offer]) -> Offered {
    let edges = offers.iter().flat_map(|offer| {
        let bps = offer.bits / (offer.until - offer.from);
        [(offer.from, bps), (offer.until, -bps)]
    });
    let mut edges: Vec<(f64, f64)> = edges.collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut bps, mut most) = (0.0, Offered::default());
    for pair in edges.windows(2) {
        let ((from, change), (until, _)) = (pair[0], pair[1]);
        bps += change;
        if until > from {
            let served = link.service_bits(until) - link.service_bits(from);
            let load = bps * (until - from) / served;
            if load > most.load {
                most = Offered { bps, load };
            }
        }
    }
    most
}

impl FlowSpec<Any> {
    /// Returns the number of flows if it is known before the run.
    fn known_flows(&self) -> Option<u64> {
        match &self.arrivals {
            Arrivals::Once { count } => Some(u64::from(*count)),
            Arrivals::Times(times) => Some(times.len() as u64),
            Arrivals::Transfers(all) => Some(all.len() as u64),
            Arrivals::Process { .. } => None,
        }
    }
}

/// Bits that an entry offers, and the period in which it offers them, s.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offer {
    bits: f64,
    from: f64,
    until: f64,
}

impl Offer {
    fn is_some(&self) -> bool {
        self.bits > 0.0 && self.until > self.from
    }
}

/// Offered load of one flow or of one session.
struct Demand {
    /// Data of a transfer, bits. `None` if the flow is unlimited.
    bits: Option<f64>,
    /// Mean rate of the application or of the constant-rate sender, b/s; the lower rate if the flow has both. `None` if
    /// the flow has neither.
    bps: Option<f64>,
}

impl Demand {
    /// Returns the bits that a flow offers in `seconds` of sending time.
    fn within(&self, seconds: f64) -> f64 {
        let paced = self.bps.map_or(f64::INFINITY, |bps| bps * seconds);
        self.bits.unwrap_or(f64::INFINITY).min(paced)
    }
}

/// Returns the load of one flow or of one session. Returns `None` if the flow is elastic.
fn demand(flow: &FlowSpec<Any>) -> Option<Demand> {
    let per_payload = flow.packet.get() as f64 / flow.framing().payload().get() as f64;
    let application = match &flow.application {
        None => None,
        Some(ApplicationSpec::OnOff { rate, periods }) => {
            Some(per_payload * rate.bps() * periods.as_deref().map_or(1.0, on_share))
        }
        Some(ApplicationSpec::Responses { .. }) => return None,
    };
    let constant = (flow.params.law().signal == Signal::Nothing)
        .then(|| AnySender::new(&flow.params, &FlowInfo::of(flow.packet)).rate().bps());
    let objects = flow.session.as_ref().map_or(1.0, |session| {
        session.pages.mean_rounded_up(1.0) * session.objects.mean_rounded_up(1.0)
    });
    let framing = flow.framing();
    let bits = flow
        .size
        .as_ref()
        .map(|size| 8.0 * size.mean_on_the_wire(flow.size_unit, &framing) * objects);
    let bps = application.into_iter().chain(constant).reduce(f64::min);
    (bits.is_some() || bps.is_some()).then_some(Demand { bits, bps })
}

/// Returns the fraction of time in which an on-off application sends: `mean(on)/(mean(on) + mean(off))`.
fn on_share([on, off]: &[Dist; 2]) -> f64 {
    on.mean() / (on.mean() + off.mean())
}

/// Returns the load that an entry offers in a run. `end` is the duration of the run, s.
fn offer(flow: &FlowSpec<Any>, end: f64) -> Option<Offer> {
    let demand = demand(flow)?;
    let until = flow.stop.map_or(end, Time::as_secs_f64).min(end);
    let arrive_until = flow.last_arrival.map_or(until, |last| last.as_secs_f64().min(until));
    let start = flow.start.mean();
    let life = flow.lifetime.as_ref().map_or(f64::INFINITY, Dist::mean);
    let sends_from = |at: f64| demand.within(life.min(until - at));
    let starts = |at: f64| at < until && flow.last_arrival.is_none_or(|last| at <= last.as_secs_f64());
    // If start times are known, the load is the mean from the start of the run to the stop time.
    let known = |bits| Offer { bits, from: 0.0, until };
    let offer = match &flow.arrivals {
        Arrivals::Times(times) => known(times.iter().filter(|&&at| starts(at)).map(|&at| sends_from(at)).sum()),
        Arrivals::Transfers(all) => {
            let wire = |size| 8.0 * Dist::Constant(size).mean_on_the_wire(flow.size_unit, &flow.framing());
            known(
                all.iter()
                    .filter(|&&(at, _)| starts(at))
                    .map(|&(_, size)| wire(size))
                    .sum(),
            )
        }
        Arrivals::Once { count } if demand.bits.is_some() => Offer {
            bits: if start < until {
                f64::from(*count) * sends_from(start)
            } else {
                0.0
            },
            from: 0.0,
            until,
        },
        Arrivals::Once { count } => Offer {
            bits: f64::from(*count) * sends_from(start),
            from: start,
            until: until.min(start + life),
        },
        Arrivals::Process {
            at_start,
            interval,
            batch,
            limit,
        } => {
            let often = f64::from(*batch) / interval.mean();
            let most = limit.map_or(f64::INFINITY, |limit| limit as f64 * f64::from(*batch));
            let last = arrive_until.min(start + most / often);
            // A run that is shorter than the time between arrivals has one arrival.
            let first = if *at_start && start < until {
                f64::from(*batch)
            } else {
                0.0
            };
            Offer {
                bits: (often * (last - start)).max(first) * demand.within(mean_stay(start, last, until, life)),
                from: start,
                until: if demand.bits.is_some() { last } else { until },
            }
        }
    };
    (offer.bits > 0.0 && offer.from < offer.until).then_some(offer)
}

/// Returns the mean sending time of flows, s. The flows arrive evenly from `first` to `last` and send for `life`
/// seconds. They stop at `until`.
fn mean_stay(first: f64, last: f64, until: f64, life: f64) -> f64 {
    if last <= first {
        return 0.0;
    }
    let cut_from = (until - life).clamp(first, last);
    let (whole, cut) = (cut_from - first, last - cut_from);
    let whole = if whole > 0.0 { whole * life } else { 0.0 };
    (whole + cut * (until - (cut_from + last) / 2.0)) / (last - first)
}

/// Returns the index of each path in use, and the fraction of the entry's load on this path.
fn shares(routes: &Routes, flows: Option<u64>, own: &Offer) -> Vec<(usize, f64)> {
    if routes.is_single() {
        return vec![(0, 1.0)];
    }
    let mut found = vec![0.0; routes.paths.len()];
    for (i, (from, plan)) in routes.plans.iter().enumerate() {
        let next = routes
            .plans
            .get(i + 1)
            .map_or(f64::INFINITY, |(at, _)| at.as_secs_f64());
        let holds = (next.min(own.until) - from.as_secs_f64().max(own.from)).max(0.0);
        let places = plan.len() as u64;
        for (place, &path) in (0..).zip(plan) {
            // Flow `n` takes the path at index `n` modulo the length of the plan.
            let taken = flows.map_or(1.0 / places as f64, |n| {
                n.saturating_sub(place).div_ceil(places) as f64 / n as f64
            });
            found[path as usize] += taken * holds / (own.until - own.from);
        }
    }
    found
        .into_iter()
        .enumerate()
        .filter(|(_, share)| *share > 0.0)
        .collect()
}

#[cfg(test)]
mod tests;
