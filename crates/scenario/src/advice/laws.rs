//! Warnings about laws: long control intervals compared with round-trip times, and different host properties for
//! different laws.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use levelflow_laws::{Any, AnySender, FlowInfo, Protocol, RouterLaw, SenderLaw};
use levelflow_units::{Bytes, Duration};

use super::alike;
use crate::context::{propagation, router};
use crate::network::FlowSpec;
use crate::resolve::Resolved;

/// Largest ratio of control interval to longest round-trip time that causes no warning. A flow needs several intervals
/// to reach its rate.
const LONG_INTERVAL_ROUND_TRIPS: f64 = 5.0;
/// Minimum number of packets per control interval on a saturated link. Measured rates are then accurate to a few
/// percent.
const MIN_PACKETS_PER_INTERVAL: u64 = 100;
/// Packet size with which `MIN_PACKETS_PER_INTERVAL` is converted to a time, in bytes.
const TYPICAL_PACKET: u64 = 1000;

/// Property of hosts: its name, the key that sets it, and a function that returns its value for a flow.
type Property<'a> = (&'a str, &'a str, &'a dyn Fn(&FlowSpec<Any>) -> String);

impl Resolved {
    /// Returns warnings about routers whose control intervals are long compared with round-trip times. Each signalling
    /// has at most one warning, which names the link with the largest ratio.
    pub(super) fn long_intervals(&self) -> Vec<String> {
        let mut worst: BTreeMap<&str, (f64, usize, String)> = BTreeMap::new();
        let longest = self.longest_round_trips();
        for (l, link) in self.network.links.iter().enumerate() {
            for params in &link.routers {
                let signalling = params.signalling();
                let Some(&longest) = longest.get(&(l as u32, signalling.name)) else {
                    continue;
                };
                if !signalling.params.iter().any(|row| row.name == "interval") {
                    continue; // the interval of this router depends on the round-trip times
                }
                let interval = router(link.capacity, params).interval(params);
                let packets = link
                    .capacity
                    .time_to_send(Bytes::new(MIN_PACKETS_PER_INTERVAL * TYPICAL_PACKET));
                let fits = longest.max(packets.unwrap_or(Duration::MAX));
                let ratio = interval.as_secs_f64() / fits.as_secs_f64();
                if ratio <= LONG_INTERVAL_ROUND_TRIPS {
                    continue;
                }
                let times = interval.as_secs_f64() / longest.as_secs_f64();
                let line = format!(
                    "link {}: the interval of {law}, {interval}, is {times:.0} times the longest round trip of its \
                     flows, {longest}, so rates adapt late; write law.{law}.interval = \"{}\"",
                    link.name,
                    rounded(fits),
                    law = signalling.name,
                );
                let (known, count, said) = worst.entry(signalling.name).or_default();
                *count += 1;
                if ratio > *known {
                    (*known, *said) = (ratio, line);
                }
            }
        }
        let line = |(_, count, said): (f64, usize, String)| format!("{said}{}", alike(count - 1));
        worst.into_values().map(line).collect()
    }

    /// Returns, for each link and each signalling, the longest base round-trip time of the flows whose data crosses the
    /// link.
    fn longest_round_trips(&self) -> HashMap<(u32, &str), Duration> {
        let mut longest = HashMap::new();
        for flow in &self.network.flows {
            let Some(rtt) = self.round_trip(flow).filter(|rtt| *rtt > Duration::ZERO) else {
                continue;
            };
            for &link in flow.routes.paths.iter().flat_map(|path| &path.forward) {
                let known = longest.entry((link, flow.params.law().signalling.name)).or_default();
                *known = rtt.max(*known);
            }
        }
        longest
    }

    /// Returns the mean base round-trip time of an entry's flows.
    pub(super) fn round_trip(&self, flow: &FlowSpec<Any>) -> Option<Duration> {
        let drawn = flow.rtt.as_ref().and_then(|rtt| Duration::from_secs_f64(rtt.mean()));
        let paths = flow.routes.at_first();
        drawn.or_else(|| paths.filter_map(|path| propagation(path, &self.network.links)).max())
    }

    /// Returns a warning for each host property that has different values for different laws of a run.
    pub(super) fn unequal_hosts(&self) -> Vec<String> {
        let flows = &self.network.flows;
        let alike = |flow: &&FlowSpec<Any>| flow.params.law().params.iter().any(|row| row.name == "initial_window");
        let window = |flow: &FlowSpec<Any>| {
            let sender = AnySender::new(&flow.params, &FlowInfo::of(flow.packet));
            format!("{} packets", sender.window())
        };
        let acks = |flow: &FlowSpec<Any>| match Any::transport(&flow.params).ack_every {
            1 => "an ACK for each packet".to_owned(),
            n => format!("an ACK for {n} packets"),
        };
        let timer = |flow: &FlowSpec<Any>| {
            let transport = Any::transport(&flow.params);
            let least = format!("SRTT + {} or more", transport.min_timeout);
            match transport.timeout_floor {
                Duration::ZERO => least,
                floor => format!("{least}, at least {floor}"),
            }
        };
        let properties: [Property; 3] = [
            ("their first window", "initial_window", &window),
            ("their ACKs", "delayed_ack", &acks),
            ("their retransmission timeout", "min_timeout or timeout_floor", &timer),
        ];
        let line = |(what, key, of): Property| {
            let mut values: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
            for flow in flows.iter().filter(alike) {
                values.entry(of(flow)).or_default().insert(flow.params.law().name);
            }
            let each = values.iter().map(|(value, laws)| {
                let laws: Vec<&str> = laws.iter().copied().collect();
                format!("{value} for {}", laws.join(", "))
            });
            let each: Vec<String> = each.collect();
            let advice = format!("to change this, set {key} of each law");
            (each.len() > 1).then(|| format!("flows differ in {what}: {}; {advice}", each.join(", ")))
        };
        properties.into_iter().filter_map(line).collect()
    }
}

/// Rounds a time up to two significant digits.
fn rounded(time: Duration) -> Duration {
    let seconds = time.as_secs_f64();
    let unit = 10_f64.powf(seconds.log10().floor() - 1.0);
    Duration::from_secs_f64((seconds / unit - 1e-9).ceil() * unit).unwrap_or(time)
}
