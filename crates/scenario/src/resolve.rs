//! Resolution of a scenario: checks the structure that users write and creates the network that the simulator runs.

use std::borrow::Cow;
use std::collections::BTreeSet;

use levelflow_laws::{Any, AnySender, FlowInfo, Opening, Protocol, RouterLaw, SenderLaw};
use levelflow_path::Propagation;
use levelflow_random::Stream;
use levelflow_units::{Buffer, Duration, Time};

use crate::changes::{Change, Changes, read_changes};
use crate::choice::LawTables;
use crate::context::{link_place, router};
use crate::encapsulation::Encapsulation;
use crate::error::{Fallible, Place, Problem, ScenarioError};
use crate::flows::FlowReader;
use crate::format::{Flow, Link, Reverse, Routing, Scenario};
use crate::laws::{check_table, link_tables, read_router_params};
use crate::network::{FlowSpec, LinkSpec, LinkState, Network, Routes, check_delay, check_rate};
use crate::queues::read_queue;
use crate::routing::Topology;

/// Result for a valid scenario: the network, and the names of its nodes.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Network to simulate.
    pub network: Network<Any>,
    /// Nodes at the two ends of each link.
    pub ends: Vec<(String, String)>,
    /// Headers of packets.
    pub encapsulation: Encapsulation,
}

/// Clock tolerance of Ethernet: 100 parts per million (IEEE 802.3).
const CLOCK_TOLERANCE: f64 = 1e-4;
/// Limit on the length of a run's name, in bytes. It is 255 bytes of a file name, minus "-seed" and the digits of the
/// largest seed.
const LONGEST_NAME: usize = 230;
/// Unicode characters that change the direction of text.
const TEXT_DIRECTIONS: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}',
    '\u{2067}', '\u{2068}', '\u{2069}',
];
/// Limit on the duration of a run. The simulation clock overflows after 213 days. The difference leaves room for the
/// arrival times of packets in flight at the end.
const LONGEST_RUN: Duration = Duration::from_secs(100 * 24 * 3600);
/// Largest routing weight of a link, as in IS-IS (RFC 5305).
const MAX_WEIGHT: u32 = 16_777_215;
/// Limit on the number of rows for each flow and each link in the results.
const MOST_SAMPLES: u64 = 10_000_000;

/// Nodes at the two ends of each link.
type Ends = Vec<(String, String)>;

impl Scenario {
    /// Checks the scenario and computes paths, parameters and buffers.
    ///
    /// # Errors
    /// Returns an error if the scenario has mistakes. Flows are checked only if the run and all links are correct.
    pub fn resolve(&self) -> Fallible<Resolved> {
        // The run, the laws and the links are all checked, even if one of these checks fails. Flows refer to links and
        // are checked last.
        let (run, defaults, links) = (self.check_run(), self.read_laws(), self.read_links());
        let wrong = [
            run.err(),
            defaults.as_ref().err().cloned(),
            links.as_ref().err().cloned(),
        ];
        ScenarioError::collect(wrong.into_iter().flatten().map(Err::<(), _>))?;
        let (defaults, (mut links, ends)) = (defaults?, links?);
        let mut flows = self.read_flows(&links, &ends, &defaults)?;
        self.set_clocks(&mut links, &ends, &mut flows);
        self.place_routers(&mut links, &mut flows, &defaults)?;
        self.check_marks(&links, &flows)?;
        self.size_buffers(&mut links, &flows)?;
        let memories = self.read_memories(&links, &flows)?;
        let network = Network {
            duration: self.duration,
            sample: self.sample,
            seed: self.seed,
            memory_limit: self.memory_limit,
            event_limit: self.event_limit,
            links,
            flows,
            memories,
        };
        Ok(Resolved {
            network,
            ends,
            encapsulation: self.encapsulation(),
        })
    }

    /// Checks the name, the duration and the sampling interval of the run.
    fn check_run(&self) -> Fallible<()> {
        let results = [check_name(&Place::from("name"), &self.name), self.check_times()];
        ScenarioError::collect(results).map(drop)
    }

    fn check_times(&self) -> Fallible<()> {
        for (key, time) in [("duration", self.duration), ("sample", self.sample)] {
            if time == Duration::ZERO || time > LONGEST_RUN {
                let problem = Problem::range(time, format!("above 0 s to {LONGEST_RUN}"));
                return Err(Place::from(key).error(problem));
            }
        }
        if self.duration.as_ps() / self.sample.as_ps() > MOST_SAMPLES {
            let problem = format!(
                "{} is too short; allowed: at least 1/{MOST_SAMPLES} of the duration",
                self.sample
            );
            return Err(Place::from("sample").error(Problem::Value(problem)));
        }
        Ok(())
    }

    fn read_laws(&self) -> Fallible<LawTables> {
        for (name, table) in &self.law {
            check_table(&self.own_laws, self.profile, name, table)?;
        }
        Ok(self.law.clone())
    }

    fn read_links(&self) -> Fallible<(Vec<LinkSpec<Any>>, Ends)> {
        if self.link.is_empty() {
            let problem = Problem::Missing("at least one [[link]] is needed".into());
            return Err(Place::from("link").error(problem));
        }
        let mut names = BTreeSet::new();
        let mut read = |(i, link): (usize, &Link)| {
            let place = link_place(i, link);
            let conflict = |problem: &str| Err(place.error(Problem::Conflict(problem.into())));
            if link.reverse.is_some() && !link.duplex {
                return conflict("reverse needs duplex = true");
            }
            let (from, to) = (link.from.clone(), link.to.clone());
            let mut directions = vec![(read_link(&place, link, None)?, (from.clone(), to.clone()))];
            if link.duplex {
                let other = link.reverse.clone().unwrap_or_default();
                directions.push((read_link(&place, link, Some(&other))?, (to, from)));
            }
            if link.measured && directions.iter().all(|(spec, _)| spec.changes.is_empty()) {
                return conflict("measured needs changes");
            }
            let jitters = |spec: &LinkSpec<Any>| {
                let mut wires = spec.changes.iter().map(|state| state.wire).chain([spec.wire]);
                wires.any(|wire| wire.jitter > Duration::ZERO)
            };
            if link.reorder && !directions.iter().any(|(spec, _)| jitters(spec)) {
                return conflict("reorder needs jitter");
            }
            for (spec, _) in &directions {
                if !names.insert(spec.name.clone()) {
                    let hint = "give one of them a name of its own";
                    let problem = format!("two links are named {:?}; {hint}", spec.name);
                    return Err(place.error(Problem::Duplicate(problem)));
                }
            }
            Ok(directions)
        };
        let links = ScenarioError::collect(self.link.iter().enumerate().map(&mut read))?;
        Ok(links.into_iter().flatten().unzip())
    }

    fn read_flows(
        &self,
        links: &[LinkSpec<Any>],
        ends: &[(String, String)],
        defaults: &LawTables,
    ) -> Fallible<Vec<FlowSpec<Any>>> {
        let mut topology = Topology::new(links, ends, self.weights()?, self.routing == Routing::Ecmp);
        for (i, hop) in self.route.iter().enumerate() {
            topology.add_override(&Place::from(format!("route {}", i + 1)), &hop.at, &hop.to, &hop.via)?;
        }
        let places = self.flow.iter().enumerate();
        let places: Vec<_> = places.map(|(i, flow)| Place::entry("flow", i, &flow.name)).collect();
        let routes = self.read_routes(&places, links, &topology)?;
        let mut names = BTreeSet::new();
        let read = |((flow, place), routes): ((&Flow, &Place), Fallible<Routes>)| {
            printable(&place.key("name"), &flow.name)?;
            if flow.name.is_empty() || !names.insert(flow.name.clone()) {
                return Err(place.error(Problem::Duplicate("needs a name of its own".into())));
            }
            let reader = FlowReader {
                place,
                flow,
                links,
                routes,
                nodes: &|routes| topology.ends_of(routes),
                overhead: self.overhead,
                own_laws: &self.own_laws,
                profile: self.profile,
                encapsulation: self.encapsulation(),
            };
            reader.read(defaults)
        };
        ScenarioError::collect(self.flow.iter().zip(&places).zip(routes).map(read))
    }

    /// Returns the headers of packets.
    fn encapsulation(&self) -> Encapsulation {
        self.encapsulation.unwrap_or(self.profile.encapsulation())
    }

    /// Returns the routing weight of each direction of each link.
    fn weights(&self) -> Fallible<Vec<u64>> {
        let mut weights = Vec::new();
        for (i, link) in self.link.iter().enumerate() {
            let back = link
                .reverse
                .as_ref()
                .and_then(|reverse| reverse.weight)
                .unwrap_or(link.weight);
            for weight in std::iter::once(link.weight).chain(link.duplex.then_some(back)) {
                Problem::check(&weight, &(1..=MAX_WEIGHT))
                    .map_err(|problem| link_place(i, link).key("weight").error(problem))?;
                weights.push(u64::from(weight));
            }
        }
        Ok(weights)
    }

    /// Draws clock errors for senders and for the links on their paths, unless hosts are ideal. Sender clocks are fast
    /// or slow. Link clocks are only slow. With exact clocks, packets from an upstream link of equal rate would arrive
    /// just when a full queue has room. These packets would lock out all other packets.
    fn set_clocks(&self, links: &mut [LinkSpec<Any>], ends: &Ends, flows: &mut [FlowSpec<Any>]) {
        for flow in flows.iter_mut().filter(|flow| flow.overhead > Duration::ZERO) {
            let (sender, _) = &ends[flow.routes.first().forward[0] as usize];
            flow.slow = CLOCK_TOLERANCE * (2.0 * Stream::new(self.seed, "host clock", sender).unit() - 1.0);
            for &index in flow.routes.paths.iter().flat_map(|path| &path.forward) {
                let link = &mut links[index as usize];
                link.slow = CLOCK_TOLERANCE * Stream::new(self.seed, "clock", &link.name).unit();
            }
        }
    }

    /// Adds routers to links. A link has one router for each signalling that the flows across it use. A link with the
    /// law "none" has no routers.
    fn place_routers(
        &self,
        links: &mut [LinkSpec<Any>],
        flows: &mut [FlowSpec<Any>],
        defaults: &LawTables,
    ) -> Fallible<()> {
        let mut crossing = vec![BTreeSet::new(); links.len()];
        for flow in flows.iter().filter(|flow| flow.params.law().signalling.is_explicit()) {
            for &l in flow.routes.paths.iter().flat_map(|path| &path.forward) {
                crossing[l as usize].insert(flow.params.law().signalling.name);
            }
        }
        for ((spec, signallings), (i, link, choice)) in links.iter_mut().zip(crossing).zip(self.link_choices()) {
            let place = link_place(i, link);
            let Some(tables) = link_tables(&place, choice)? else {
                continue;
            };
            for name in signallings {
                let layers: Vec<_> = [defaults.get(name), tables.get(name)].into_iter().flatten().collect();
                spec.routers
                    .push(read_router_params(self.profile, &place.key("law"), name, &layers)?);
            }
        }
        for (i, flow) in flows.iter_mut().enumerate() {
            if !flow.params.law().signalling.is_explicit() {
                continue;
            }
            let signalling = flow.params.law().signalling.name;
            let runs = |l: &u32| {
                links[*l as usize]
                    .routers
                    .iter()
                    .any(|p| p.signalling().name == signalling)
            };
            let conflict = |problem| Err(Place::entry("flow", i, &flow.name).error(Problem::Conflict(problem)));
            for path in &mut flow.routes.paths {
                path.routers = path.forward.iter().copied().filter(runs).collect();
                match path.routers.len() {
                    0 => {
                        let problem = format!(
                            "no link on its path runs {signalling}; remove law = \"none\" from one of its links"
                        );
                        return conflict(problem);
                    }
                    256.. => return conflict("its path has more than 255 routers of its signalling".into()),
                    _ => {}
                }
            }
            if let Some(problem) = too_slow_to_measure(flow, links) {
                return conflict(problem);
            }
        }
        Ok(())
    }

    /// Checks that each sender that reacts to ECN marks has a queue on its path that marks packets.
    fn check_marks(&self, links: &[LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<()> {
        for (i, (flow, spec)) in self.flow.iter().zip(flows).enumerate() {
            let marks = |&l: &u32| links[l as usize].queue.ecn();
            if Any::transport(&spec.params).ecn && !spec.routes.paths.iter().any(|path| path.forward.iter().any(marks))
            {
                let law = spec.params.law().name;
                let problem = format!(
                    "{law} reacts to marks, but no queue on its path marks packets; give a link on it a queue such as \
                     queue = {{ red = {{ ecn = true }} }}"
                );
                return Err(Place::entry("flow", i, &flow.name).error(Problem::Conflict(problem)));
            }
        }
        Ok(())
    }
}

/// Checks a name that becomes the name of a directory or a file.
///
/// # Errors
/// Returns an error if the name is empty or too long, begins with a dot or a drive letter of Windows, or contains a
/// slash, a control character or a character that reverses the direction of text.
pub fn check_name(place: &Place, name: &str) -> Fallible<()> {
    printable(place, name)?;
    let names_drive = name.as_bytes().get(1) == Some(&b':') && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let problem = if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        "needs a name without slashes that does not begin with a dot, as it names the directory of results".to_owned()
    } else if names_drive {
        "begins like a drive of Windows; needs another second character, as it names the directory of results"
            .to_owned()
    } else if name.len() > LONGEST_NAME {
        let length = name.len();
        format!("has {length} bytes; allowed: up to {LONGEST_NAME}, as it names the directory of results")
    } else if name.contains(TEXT_DIRECTIONS) {
        "contains a character that changes the direction of text, so it would be displayed falsely".to_owned()
    } else {
        return Ok(());
    };
    Err(place.error(Problem::Value(problem)))
}

fn printable(place: &Place, name: &str) -> Fallible<()> {
    if name.contains(char::is_control) {
        let problem = format!("{name:?} contains a control character; allowed: letters, digits, signs and spaces");
        return Err(place.error(Problem::Value(problem)));
    }
    Ok(())
}

/// Returns the changes of one direction of a link. A reverse direction without its own changes uses the changes of the
/// link. Quantities that the reverse direction sets itself do not change.
fn own_changes<'a>(link: &'a Link, reverse: Option<&'a Reverse>) -> Cow<'a, Changes> {
    let Some(reverse) = reverse else {
        return Cow::Borrowed(&link.changes);
    };
    match &reverse.changes {
        Some(own) => Cow::Borrowed(own),
        None => Cow::Owned(link.changes.without(&Change {
            capacity: reverse.capacity,
            delay: reverse.delay,
            jitter: reverse.jitter,
            loss: reverse.loss,
            ..Change::nothing(Duration::ZERO)
        })),
    }
}

fn read_link(place: &Place, link: &Link, reverse: Option<&Reverse>) -> Fallible<LinkSpec<Any>> {
    let none = Reverse::default();
    let own = reverse.unwrap_or(&none);
    let name = own.name.clone().unwrap_or_else(|| match (&link.name, reverse) {
        (Some(name), None) => name.clone(),
        (Some(name), Some(_)) => format!("{name}.reverse"),
        (None, None) => format!("{}->{}", link.from, link.to),
        (None, Some(_)) => format!("{}->{}", link.to, link.from),
    });
    for (key, name) in [("from", &link.from), ("to", &link.to), ("name", &name)] {
        printable(&place.key(key), name)?;
    }
    if link.from == link.to {
        return Err(place.error(Problem::Conflict("a link needs two different nodes".into())));
    }
    let capacity = own.capacity.unwrap_or(link.capacity);
    check_rate(capacity).map_err(|problem| place.key("capacity").error(problem))?;
    let wire = read_wire(place, link, own)?;
    let first = LinkState {
        at: Time::ZERO,
        capacity,
        wire,
    };
    let changes = read_changes(place, first, &own_changes(link, reverse))?;
    Ok(LinkSpec {
        changes,
        measured: link.measured,
        police: link.police,
        name,
        capacity,
        slow: 0.0,
        wire,
        buffer: Buffer::Unlimited,
        algorithm: None,
        queue: read_queue(place, own.queue.as_ref().or(link.queue.as_ref()))?,
        routers: Vec::new(),
    })
}

fn read_wire(place: &Place, link: &Link, own: &Reverse) -> Fallible<Propagation> {
    let delay = own.delay.unwrap_or(link.delay);
    let [jitter, slot] = [own.jitter.or(link.jitter), own.slot.or(link.slot)].map(Option::unwrap_or_default);
    for (key, time) in [("delay", delay), ("jitter", jitter), ("slot", slot)] {
        check_delay(time).map_err(|problem| place.key(key).error(problem))?;
    }
    let wrong = |problem| place.key("loss").error(problem);
    let loss = own.loss.unwrap_or(link.loss).read().map_err(wrong)?;
    if loss.mean() >= 1.0 {
        return Err(wrong(Problem::range(loss.mean(), "0 to less than 1")));
    }
    Ok(Propagation {
        delay,
        jitter,
        reorder: link.reorder,
        slot,
        loss,
    })
}

/// Returns an error message if the initial rate of a flow is too low for a router to measure. A packet returns the
/// result of the previous control interval. A flow that sends less than one packet per two intervals is therefore never
/// counted. An unlimited flow would then keep its initial rate forever.
fn too_slow_to_measure(flow: &FlowSpec<Any>, links: &[LinkSpec<Any>]) -> Option<String> {
    if flow.size.is_some() || Any::transport(&flow.params).opening == Opening::Handshake {
        return None;
    }
    let sender = AnySender::new(&flow.params, &FlowInfo::of(flow.packet));
    let gap = sender.rate().time_to_send(sender.packet_size(&flow.params))?;
    let signalling = flow.params.law().signalling.name;
    let on_path = flow.routes.first().routers.iter().map(|&l| &links[l as usize]);
    let mut routers = on_path.flat_map(|link| link.routers.iter().map(move |params| (link, params)));
    let (link, interval) = routers.find_map(|(link, params)| {
        let interval = router(link.capacity, params).interval(params);
        (params.signalling().name == signalling && interval + interval <= gap).then_some((link, interval))
    })?;
    Some(format!(
        "at its initial rate, {}, it sends a packet every {gap}, but the interval of the router of {} is only \
         {interval}, so it would never receive its share; raise initial_rate or interval",
        sender.rate(),
        link.name
    ))
}
