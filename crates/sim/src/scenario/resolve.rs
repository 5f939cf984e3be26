//! From what users write to what the simulator takes.

use std::collections::BTreeSet;

use levelflow_protocols::{
    Any, AnyParams, AnyRouter, AnySender, FlowInfo, Opening, PortInfo, Protocol, RouterLaw, SenderLaw,
};
use levelflow_units::{Bytes, Duration, Packets, Rate, Time};

use super::buffers::{BufferChoice, Sized, by_rule, read_sized};
use super::error::ScenarioError;
use super::laws::{law_named, link_tables, read_params};
use super::quantity::{Base, BufferSize, Count, Size, Varying};
use super::queues::read_queue;
use super::routing::Topology;
use super::{Arrivals as ArrivalsText, Flow, LawChoice, LawTables, Link, QueueChoice, Reverse, Scenario};
use crate::network::{AckDelaySpec, Buffer, FlowSpec, LinkSpec, Network, RouteSpec, SessionSpec};
use crate::traffic::{Arrivals, Dist};

/// A scenario that has been checked: the network, and what is needed to describe it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What to simulate.
    pub network: Network<Any>,
    /// Nodes at the two ends of each link.
    pub ends: Vec<(String, String)>,
}

const LARGEST_PACKET: u64 = 65_535;
/// Leaves room on the clock, 213 days, for what is under way at the end.
const LONGEST_RUN: Duration = Duration::from_secs(100 * 24 * 3600);
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 3600);
/// All flows of an entry are known before the run starts.
const MOST_FLOWS: u64 = 10_000_000;
/// Objects of a page, all of which start at once, or pages of a session.
const MOST_OBJECTS: f64 = 1e5;
/// Rows per flow and link in the results.
const MOST_SAMPLES: u64 = 10_000_000;
/// A thousand picoseconds, the unit of the clock, between two arrivals.
const FASTEST_ARRIVALS: f64 = 1e9;

pub(super) type Fallible<T> = Result<T, ScenarioError>;
/// Nodes at the two ends of each link.
type Ends = Vec<(String, String)>;

impl Scenario {
    /// Checks the scenario and works out paths, parameters and buffers.
    ///
    /// # Errors
    /// What is wrong first, in one line.
    pub fn resolve(&self) -> Fallible<Resolved> {
        printable("name", &self.name)?;
        if self.name.is_empty() || self.name.contains(['/', '\\']) || self.name.starts_with('.') {
            let rule = "needs a name without slashes that does not begin with a dot: results go to a directory of it";
            return Err(ScenarioError::at("name", rule));
        }
        for (key, time) in [("duration", self.duration), ("sample", self.sample)] {
            if time == Duration::ZERO || time > LONGEST_RUN {
                let problem = format!("{time} is out of range; allowed: above 0 s to {LONGEST_RUN}");
                return Err(ScenarioError::at(key, problem));
            }
        }
        if self.duration.as_ps() / self.sample.as_ps() > MOST_SAMPLES {
            let problem = format!(
                "{} is too short; allowed: a {MOST_SAMPLES}th of the duration or more",
                self.sample
            );
            return Err(ScenarioError::at("sample", problem));
        }
        let defaults = self.read_laws()?;
        let (mut links, ends) = self.read_links()?;
        let mut flows = self.read_flows(&links, &ends, &defaults)?;
        self.place_routers(&mut links, &mut flows, &defaults)?;
        self.check_marks(&links, &flows)?;
        self.size_buffers(&mut links, &flows)?;
        let network = Network {
            duration: self.duration,
            sample: self.sample,
            seed: self.seed,
            links,
            flows,
        };
        Ok(Resolved { network, ends })
    }

    fn read_laws(&self) -> Fallible<LawTables> {
        for (name, table) in &self.law {
            read_params("law", name, &[table])?;
        }
        Ok(self.law.clone())
    }

    fn read_links(&self) -> Fallible<(Vec<LinkSpec<Any>>, Ends)> {
        if self.link.is_empty() {
            return Err(ScenarioError::at("link", "at least one [[link]] is needed"));
        }
        let (mut links, mut ends) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        for (i, link) in self.link.iter().enumerate() {
            let place = link_place(i, link);
            let mut add = |spec: LinkSpec<Any>, from: &str, to: &str| {
                if !names.insert(spec.name.clone()) {
                    let hint = "give one of them a name of its own";
                    return Err(ScenarioError::at(
                        &place,
                        format!("two links are named {:?}; {hint}", spec.name),
                    ));
                }
                links.push(spec);
                ends.push((from.to_owned(), to.to_owned()));
                Ok(())
            };
            add(read_link(&place, link, None)?, &link.from, &link.to)?;
            match (&link.reverse, link.duplex) {
                (Some(_), false) => return Err(ScenarioError::at(place, "reverse needs duplex = true")),
                (reverse, true) => {
                    let other = reverse.clone().unwrap_or_default();
                    add(read_link(&place, link, Some(&other))?, &link.to, &link.from)?;
                }
                (None, false) => {}
            }
        }
        Ok((links, ends))
    }

    fn read_flows(
        &self,
        links: &[LinkSpec<Any>],
        ends: &[(String, String)],
        defaults: &LawTables,
    ) -> Fallible<Vec<FlowSpec<Any>>> {
        let mut topology = Topology::new(links, ends);
        for (i, hop) in self.route.iter().enumerate() {
            topology.add_override(&format!("route {}", i + 1), &hop.at, &hop.to, &hop.via)?;
        }
        let mut names = BTreeSet::new();
        let mut flows = Vec::new();
        for (i, flow) in self.flow.iter().enumerate() {
            let place = format!("flow {} ({})", i + 1, flow.name);
            printable(&format!("{place}, name"), &flow.name)?;
            if flow.name.is_empty() || !names.insert(&flow.name) {
                return Err(ScenarioError::at(place, "needs a name of its own"));
            }
            let reader = FlowReader {
                place: &place,
                flow,
                links,
                topology: &topology,
            };
            flows.push(reader.read(defaults)?);
        }
        Ok(flows)
    }

    /// What each direction of each link says of laws, with the link's place in the scenario.
    pub(super) fn link_choices(&self) -> impl Iterator<Item = (usize, &Link, Option<&LawChoice>)> {
        self.link.iter().enumerate().flat_map(|(i, link)| {
            let own = (i, link, link.law.as_ref());
            let reverse = link.reverse.as_ref().and_then(|r| r.law.as_ref()).or(link.law.as_ref());
            std::iter::once(own).chain(link.duplex.then_some((i, link, reverse)))
        })
    }

    /// What each direction of each link says of its queue.
    pub(super) fn queue_choices(&self) -> impl Iterator<Item = Option<&QueueChoice>> {
        self.link.iter().flat_map(|link| {
            let reverse = link.reverse.as_ref().and_then(|r| r.queue.as_ref());
            let reverse = link.duplex.then_some(reverse.or(link.queue.as_ref()));
            std::iter::once(link.queue.as_ref()).chain(reverse)
        })
    }

    /// What each direction of each link says of its buffer.
    pub(super) fn buffer_choices(&self) -> impl Iterator<Item = &BufferChoice> {
        self.link.iter().flat_map(|link| {
            let reverse = link.reverse.as_ref().and_then(|r| r.buffer.as_ref());
            let reverse = link.duplex.then_some(reverse.unwrap_or(&link.buffer));
            std::iter::once(&link.buffer).chain(reverse)
        })
    }

    /// Each link runs the laws whose data crosses it, unless it says "none".
    fn place_routers(
        &self,
        links: &mut [LinkSpec<Any>],
        flows: &mut [FlowSpec<Any>],
        defaults: &LawTables,
    ) -> Fallible<()> {
        for (index, (i, link, choice)) in self.link_choices().enumerate() {
            let place = link_place(i, link);
            let tables = link_tables(&place, choice)?;
            let Some(tables) = tables else { continue };
            let index = index as u32;
            let crossing = flows
                .iter()
                .filter(|f| f.route.forward.contains(&index))
                .map(|f| f.params.law())
                .filter(|law| law.signal.is_explicit())
                .map(|law| law.name);
            for name in crossing.collect::<BTreeSet<_>>() {
                let layers: Vec<_> = [defaults.get(name), tables.get(name)].into_iter().flatten().collect();
                links[index as usize]
                    .routers
                    .push(read_params(&format!("{place}, law"), name, &layers)?);
            }
        }
        for (i, flow) in flows.iter_mut().enumerate() {
            if !flow.params.law().signal.is_explicit() {
                continue;
            }
            let law = flow.params.law().name;
            let runs = |l: &u32| links[*l as usize].routers.iter().any(|p| p.law().name == law);
            flow.route.routers = flow.route.forward.iter().copied().filter(runs).collect();
            let place = format!("flow {} ({})", i + 1, flow.name);
            match flow.route.routers.len() {
                0 => {
                    let problem = format!("no link on its path runs {law}; take law = \"none\" from one of them");
                    return Err(ScenarioError::at(place, problem));
                }
                256.. => {
                    return Err(ScenarioError::at(
                        place,
                        "its path has more than 255 routers of its law",
                    ));
                }
                _ => {}
            }
            if let Some(problem) = too_slow_to_measure(flow, links) {
                return Err(ScenarioError::at(place, problem));
            }
        }
        Ok(())
    }

    /// A sender that wants marks needs a queue that gives them.
    fn check_marks(&self, links: &[LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<()> {
        for (i, (flow, spec)) in self.flow.iter().zip(flows).enumerate() {
            let marks = |&l: &u32| links[l as usize].queue.ecn();
            if Any::transport(&spec.params).ecn && !spec.route.forward.iter().any(marks) {
                let law = spec.params.law().name;
                let problem = format!(
                    "{law} listens to marks, and no queue on its path marks packets; give a link on it a queue such as \
                     queue = {{ red = {{ ecn = true }} }}"
                );
                return Err(ScenarioError::at(format!("flow {} ({})", i + 1, flow.name), problem));
            }
        }
        Ok(())
    }

    /// Buffers in bandwidth-delay products need the flows' round trips.
    fn size_buffers(&self, links: &mut [LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<()> {
        let sizes = self.link.iter().enumerate().flat_map(|(i, link)| {
            let reverse = link
                .reverse
                .as_ref()
                .and_then(|r| r.buffer.as_ref())
                .unwrap_or(&link.buffer);
            std::iter::once((i, link, &link.buffer)).chain(link.duplex.then_some((i, link, reverse)))
        });
        let longest: Vec<Option<f64>> = flows.iter().map(|f| longest_rtt(f, links)).collect();
        for (index, (i, link, choice)) in sizes.enumerate() {
            let place = format!("{}, buffer", link_place(i, link));
            let crosses = |f: &FlowSpec<Any>| {
                f.route.forward.contains(&(index as u32)) || f.route.reverse.contains(&(index as u32))
            };
            let size = match choice {
                BufferChoice::Size(size) => *size,
                BufferChoice::Tables(tables) => match read_sized(&place, tables)? {
                    Sized::Sizer(params) => {
                        links[index].sizer = Some(params);
                        continue;
                    }
                    Sized::Rule(rule, values) => {
                        let crossing: Vec<_> = flows
                            .iter()
                            .zip(&longest)
                            .filter(|(f, _)| crosses(f))
                            .map(|(f, rtt)| (f, *rtt))
                            .collect();
                        let packets = by_rule(&place, rule, &values, &links[index], &crossing)?;
                        BufferSize::Fixed(Size::Packets(Packets::new(packets)))
                    }
                },
            };
            links[index].buffer = match size {
                BufferSize::Unlimited => Buffer::Unlimited,
                BufferSize::Fixed(Size::Bytes(b)) => Buffer::Bytes(b),
                BufferSize::Fixed(Size::Packets(n)) => Buffer::Packets(n.get()),
                BufferSize::Bdp(times) => {
                    let rtts = flows
                        .iter()
                        .zip(&longest)
                        .filter(|(f, _)| crosses(f))
                        .map(|(_, rtt)| *rtt);
                    let rtt = rtts
                        .collect::<Option<Vec<f64>>>()
                        .and_then(|r| r.into_iter().reduce(f64::max));
                    let problem = "BDP needs flows on the link whose round trips have a largest value";
                    let rtt = rtt.ok_or_else(|| ScenarioError::at(&place, problem))?;
                    Buffer::Bytes(Bytes::new(
                        (times * links[index].capacity.bps() * rtt / 8.0).ceil() as u64
                    ))
                }
            };
            let room = match links[index].buffer {
                Buffer::Unlimited => continue,
                Buffer::Bytes(b) => b,
                Buffer::Packets(n) => Bytes::new(n.saturating_mul(LARGEST_PACKET)),
            };
            let largest = flows.iter().filter_map(|f| largest_packet(f, index as u32)).max();
            if room == Bytes::ZERO || largest.is_some_and(|packet| room < packet) {
                let packet = largest.unwrap_or(Bytes::new(1));
                let problem = format!("must have room for at least one packet, here {packet}");
                return Err(ScenarioError::at(place, problem));
            }
        }
        Ok(())
    }
}

fn printable(place: &str, name: &str) -> Fallible<()> {
    if name.contains(char::is_control) {
        let problem = format!("{name:?} holds a control character; allowed: letters, digits, signs and spaces");
        return Err(ScenarioError::at(place, problem));
    }
    Ok(())
}

fn link_place(i: usize, link: &Link) -> String {
    match &link.name {
        Some(name) => format!("link {} ({name})", i + 1),
        None => format!("link {} ({}->{})", i + 1, link.from, link.to),
    }
}

fn read_link(place: &str, link: &Link, reverse: Option<&Reverse>) -> Fallible<LinkSpec<Any>> {
    let (name, capacity, delay, loss) = match reverse {
        None => (
            link.name
                .clone()
                .unwrap_or_else(|| format!("{}->{}", link.from, link.to)),
            None,
            None,
            None,
        ),
        Some(r) => {
            let default = match &link.name {
                Some(name) => format!("{name}.reverse"),
                None => format!("{}->{}", link.to, link.from),
            };
            (r.name.clone().unwrap_or(default), r.capacity, r.delay, r.loss)
        }
    };
    let (capacity, delay, loss) = (
        capacity.unwrap_or(link.capacity),
        delay.unwrap_or(link.delay),
        loss.unwrap_or(link.loss),
    );
    for (key, name) in [("from", &link.from), ("to", &link.to), ("name", &name)] {
        printable(&format!("{place}, {key}"), name)?;
    }
    if link.from == link.to {
        return Err(ScenarioError::at(place, "a link needs two different nodes"));
    }
    let (slowest, fastest) = (1.0, 1e15);
    if !(slowest..=fastest).contains(&capacity.bps()) {
        let problem = format!("{capacity} is out of range; allowed: 1 b/s to 1000 Tb/s");
        return Err(ScenarioError::at(format!("{place}, capacity"), problem));
    }
    if delay > LONGEST_DELAY {
        let problem = format!("{delay} is out of range; allowed: 0 s to {LONGEST_DELAY}");
        return Err(ScenarioError::at(format!("{place}, delay"), problem));
    }
    if !(0.0..1.0).contains(&loss) {
        let problem = format!("{loss} is out of range; allowed: 0 to less than 1");
        return Err(ScenarioError::at(format!("{place}, loss"), problem));
    }
    Ok(LinkSpec {
        name,
        capacity,
        delay,
        buffer: Buffer::Unlimited,
        sizer: None,
        queue: read_queue(place, reverse.and_then(|r| r.queue.as_ref()).or(link.queue.as_ref()))?,
        loss,
        routers: Vec::new(),
    })
}

/// A packet brings back what the interval before it showed. Without a packet in both, a flow hears nothing of itself; a
/// flow without end that always sends so seldom at first keeps its first rate for ever.
fn too_slow_to_measure(flow: &FlowSpec<Any>, links: &[LinkSpec<Any>]) -> Option<String> {
    if flow.size.is_some() || Any::transport(&flow.params).opening == Opening::Handshake {
        return None;
    }
    let sender = AnySender::new(
        &flow.params,
        &FlowInfo {
            packet_size: flow.packet,
        },
    );
    let gap = sender.rate().time_to_send(sender.packet_size(&flow.params))?;
    let law = flow.params.law().name;
    let on_path = flow.route.routers.iter().map(|&l| &links[l as usize]);
    let mut routers = on_path.flat_map(|link| link.routers.iter().map(move |params| (link, params)));
    let (link, interval) = routers.find_map(|(link, params)| {
        let interval = router(link, params).interval(params);
        (params.law().name == law && interval + interval <= gap).then_some((link, interval))
    })?;
    Some(format!(
        "at its first rate, {}, it sends a packet every {gap}, and the router of {} closes its interval every \
         {interval}: it would never hear of its share; raise initial_rate or interval",
        sender.rate(),
        link.name
    ))
}

fn router(link: &LinkSpec<Any>, params: &AnyParams) -> AnyRouter {
    let capacity = link.capacity;
    AnyRouter::new(params, &PortInfo { id: 1, capacity })
}

/// Largest packet of a flow on a link, if it uses it.
fn largest_packet(flow: &FlowSpec<Any>, link: u32) -> Option<Bytes> {
    let data = flow.route.forward.contains(&link).then_some(flow.packet);
    data.max(flow.route.reverse.contains(&link).then_some(flow.control))
}

/// Longest base round trip of a flow, if there is one.
fn longest_rtt(flow: &FlowSpec<Any>, links: &[LinkSpec<Any>]) -> Option<f64> {
    match &flow.rtt {
        None => propagation(&flow.route, links).map(|delay| delay.as_secs_f64()),
        Some(rtt) => Some(rtt.max()).filter(|rtt| rtt.is_finite()),
    }
}

/// Of the links there and back; `None` beyond what a duration holds.
fn propagation(route: &RouteSpec, links: &[LinkSpec<Any>]) -> Option<Duration> {
    let mut there_and_back = route.forward.iter().chain(&route.reverse);
    there_and_back.try_fold(Duration::ZERO, |sum, &l| sum.checked_add(links[l as usize].delay))
}

struct FlowReader<'a> {
    place: &'a str,
    flow: &'a Flow,
    links: &'a [LinkSpec<Any>],
    topology: &'a Topology<'a>,
}

impl FlowReader<'_> {
    fn error(&self, key: &str, problem: impl Into<String>) -> ScenarioError {
        ScenarioError::at(format!("{}, {key}", self.place), problem)
    }

    fn dist<T: Base>(&self, key: &str, value: Option<&Varying<T>>) -> Fallible<Option<Dist>> {
        let read = value.map(|v| v.dist(self.flow.packet)).transpose();
        read.map_err(|problem| self.error(key, problem))
    }

    fn read(&self, defaults: &LawTables) -> Fallible<FlowSpec<Any>> {
        let flow = self.flow;
        for (key, size) in [("packet", flow.packet), ("ack", flow.ack)] {
            if size == Bytes::ZERO || size.get() > LARGEST_PACKET {
                return Err(self.error(
                    key,
                    format!("{size} is out of range; allowed: 1 B to {LARGEST_PACKET} B"),
                ));
            }
        }
        let route = self.route()?;
        let size = self.dist("size", flow.size.as_ref())?;
        if size.as_ref().is_some_and(|s| s.constant() == Some(0.0)) {
            return Err(self.error("size", "must be above 0"));
        }
        let params = self.params(defaults)?;
        if flow.reliable == Some(false) && Any::transport(&params).tracks_losses {
            let problem = format!("{} sends lost data again in any case", params.law().name);
            return Err(self.error("reliable", problem));
        }
        let session = self.session(size.is_some())?;
        let arrivals = self.arrivals(&route, size.as_ref(), session.as_ref())?;
        let reliable = flow.reliable.unwrap_or(size.is_some());
        if reliable && size.is_none() {
            return Err(self.error(
                "reliable",
                "needs a size: only a finite transfer can be delivered in full",
            ));
        }
        Ok(FlowSpec {
            name: flow.name.clone(),
            params,
            rtt: self.rtt(&route)?,
            route,
            start: self.dist("start", flow.start.as_ref())?.unwrap_or(Dist::Constant(0.0)),
            stop: self.stop()?,
            lifetime: self.dist("lifetime", flow.lifetime.as_ref())?,
            size,
            size_unit: self.size_unit(),
            reliable,
            arrivals,
            session,
            packet: flow.packet,
            control: flow.ack,
            ack_delay: self.ack_delay()?,
        })
    }

    fn params(&self, defaults: &LawTables) -> Fallible<AnyParams> {
        let place = format!("{}, law", self.place);
        let (name, own) = match &self.flow.law {
            LawChoice::Name(name) => (name, None),
            LawChoice::Tables(tables) => match tables.first_key_value() {
                Some((name, table)) if tables.len() == 1 => (name, Some(table)),
                _ => return Err(ScenarioError::at(place, "a flow follows exactly one law")),
            },
        };
        law_named(&place, name)?;
        let layers: Vec<_> = [defaults.get(name), own].into_iter().flatten().collect();
        read_params(&place, name, &layers)
    }

    fn route(&self) -> Fallible<RouteSpec> {
        let Flow {
            from,
            to,
            path,
            reverse_path,
            ..
        } = self.flow;
        let end = |key: &str, given: &Option<String>, on_path: Option<&String>| match (given, on_path) {
            (Some(name), Some(node)) if name != node => {
                Err(self.error(key, format!("{name:?} is not the end of the path, {node:?}")))
            }
            (Some(name), _) | (None, Some(name)) => Ok(name.clone()),
            (None, None) => Err(self.error(key, "is missing; write from and to, or a path")),
        };
        let first = end("from", from, path.as_ref().and_then(|p| p.first()))?;
        let last = end("to", to, path.as_ref().and_then(|p| p.last()))?;
        let forward = match path {
            Some(nodes) => self.topology.along(&format!("{}, path", self.place), nodes)?,
            None => self.topology.shortest(self.place, &first, &last)?,
        };
        let place = format!("{}, reverse_path", self.place);
        let reverse = match reverse_path {
            Some(nodes) if nodes.first() != Some(&last) || nodes.last() != Some(&first) => {
                return Err(ScenarioError::at(
                    place,
                    format!("must lead from {last:?} back to {first:?}"),
                ));
            }
            Some(nodes) => self.topology.along(&place, nodes)?,
            None => self
                .topology
                .shortest(&format!("{}, way back", self.place), &last, &first)?,
        };
        let route = RouteSpec {
            forward,
            reverse,
            routers: Vec::new(),
        };
        if propagation(&route, self.links).is_none_or(|delay| delay > LONGEST_DELAY) {
            let problem = format!("propagation there and back takes longer than {LONGEST_DELAY}");
            return Err(ScenarioError::at(self.place, problem));
        }
        Ok(route)
    }

    fn rtt(&self, route: &RouteSpec) -> Fallible<Option<Dist>> {
        let Some(rtt) = self.dist("rtt", self.flow.rtt.as_ref())? else {
            return Ok(None);
        };
        let on_links = propagation(route, self.links).unwrap_or(Duration::MAX);
        if rtt.min() < on_links.as_secs_f64() * (1.0 - 1e-12) {
            let problem = format!("must be at least {on_links}, the propagation delay of its links there and back");
            return Err(self.error("rtt", problem));
        }
        Ok(Some(rtt))
    }

    fn stop(&self) -> Fallible<Option<Time>> {
        let Some(stop) = self.flow.stop else { return Ok(None) };
        let start = self.dist("start", self.flow.start.as_ref())?.map_or(0.0, |d| d.min());
        if stop.as_secs_f64() <= start {
            return Err(self.error("stop", "must be after start"));
        }
        Ok(Some(Time::ZERO + stop))
    }

    /// Sizes in packets are rounded up to packets, others to bytes.
    fn size_unit(&self) -> Bytes {
        let in_packets = |size: &Varying<Size>| size.any(|v| matches!(v, Size::Packets(_)));
        match &self.flow.size {
            Some(size) if in_packets(size) => self.flow.packet,
            _ => Bytes::new(1),
        }
    }

    fn session(&self, has_size: bool) -> Fallible<Option<SessionSpec>> {
        let Some(session) = &self.flow.session else {
            return Ok(None);
        };
        let Flow { lifetime, arrivals, .. } = self.flow;
        if !has_size || lifetime.is_some() || arrivals.is_none() {
            let rule = "needs size, the size of an object, and arrivals, and no lifetime";
            return Err(self.error("session", rule));
        }
        let wrong = |problem| self.error("session", problem);
        let count = |what: &str, value: &Varying<Count>| {
            let dist = value.dist(self.flow.packet).map_err(wrong)?;
            let largest = if dist.max().is_finite() {
                dist.max()
            } else {
                dist.mean_rounded_up(1.0)
            };
            if !(1.0..=MOST_OBJECTS).contains(&largest) {
                let problem = format!("{what} of {largest} are out of range; allowed: 1 to {MOST_OBJECTS}");
                return Err(self.error("session", problem));
            }
            Ok(dist)
        };
        Ok(Some(SessionSpec {
            pages: count("pages", &session.pages)?,
            objects: count("objects", &session.objects)?,
            think: session.think.dist(self.flow.packet).map_err(wrong)?,
        }))
    }

    /// Arrivals a second that fill a share of the slowest link of the path.
    fn arrivals_for(
        &self,
        load: f64,
        route: &RouteSpec,
        size: Option<&Dist>,
        session: Option<&SessionSpec>,
    ) -> Fallible<f64> {
        if !(load > 0.0 && load <= 10.0) {
            let problem = format!("load {load} is out of range; allowed: above 0 to 10");
            return Err(self.error("arrivals", problem));
        }
        let size = size.ok_or_else(|| self.error("arrivals", "load needs a size"))?;
        let objects = session.map_or(1.0, |s| s.pages.mean_rounded_up(1.0) * s.objects.mean_rounded_up(1.0));
        let capacities = route.forward.iter().map(|&l| self.links[l as usize].capacity.bps());
        Ok(load * capacities.fold(f64::INFINITY, f64::min)
            / (8.0 * size.mean_rounded_up(self.size_unit().get() as f64) * objects))
    }

    fn arrivals(&self, route: &RouteSpec, size: Option<&Dist>, session: Option<&SessionSpec>) -> Fallible<Arrivals> {
        let Flow {
            arrivals, count, limit, ..
        } = self.flow;
        if *limit == Some(0) {
            return Err(self.error("limit", "must be at least 1"));
        }
        if limit.is_some() && !matches!(arrivals, Some(a) if !matches!(a, ArrivalsText::Times(_))) {
            return Err(self.error("limit", "needs arrivals that go on"));
        }
        let Some(arrivals) = arrivals else {
            return match count.unwrap_or(1) {
                count @ 1..=MOST_FLOWS => Ok(Arrivals::Once { count: count as u32 }),
                count => {
                    let problem = format!("{count} is out of range; allowed: 1 to {MOST_FLOWS}");
                    Err(self.error("count", problem))
                }
            };
        };
        if count.is_some() {
            return Err(self.error(
                "count",
                "cannot go with arrivals; use batches for several flows at a time",
            ));
        }
        let process = |at_start, interval: Dist, batch: u64| {
            if interval.max() <= 0.0 {
                return Err(self.error("arrivals", "the interval must be above 0"));
            }
            if !(1..=MOST_FLOWS).contains(&batch) {
                let problem = format!("batch {batch} is out of range; allowed: 1 to {MOST_FLOWS}");
                return Err(self.error("arrivals", problem));
            }
            Ok(Arrivals::Process {
                at_start,
                interval,
                batch: batch as u32,
                limit: *limit,
            })
        };
        let interval = |value: &Varying<Duration>| {
            value
                .dist(self.flow.packet)
                .map_err(|problem| self.error("arrivals", problem))
        };
        let poisson = |rate: f64| {
            if rate > FASTEST_ARRIVALS {
                let problem = format!("{rate} /s is out of range; allowed: up to {FASTEST_ARRIVALS} /s");
                return Err(self.error("arrivals", problem));
            }
            process(false, Dist::Exponential { mean: 1.0 / rate }, 1)
        };
        match arrivals {
            ArrivalsText::Poisson(rate) => poisson(rate.per_second()),
            ArrivalsText::Load(load) => poisson(self.arrivals_for(*load, route, size, session)?),
            ArrivalsText::Interval(value) => process(true, interval(value)?, 1),
            ArrivalsText::Batches { batch, interval: value } => process(true, interval(value)?, *batch),
            ArrivalsText::Times(times) => Ok(Arrivals::Times(times.iter().map(|t| t.as_secs_f64()).collect())),
        }
    }

    fn ack_delay(&self) -> Fallible<Option<AckDelaySpec>> {
        let Some(delay) = &self.flow.ack_delay else {
            return Ok(None);
        };
        let dist = |problem| self.error("ack_delay", problem);
        Ok(Some(AckDelaySpec {
            every: delay.every.dist(self.flow.packet).map_err(dist)?,
            hold: delay.hold.dist(self.flow.packet).map_err(dist)?,
            spacing: delay.spacing,
        }))
    }
}

/// The largest load that a link's routers aim at: the smallest of their targets, or its capacity.
pub(super) fn target(link: &LinkSpec<Any>) -> Rate {
    let targets = link.routers.iter().map(|p| router(link, p).target());
    targets.fold(link.capacity, |least, t| if t < least { t } else { least })
}
