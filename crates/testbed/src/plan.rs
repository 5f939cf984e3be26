//! From a resolved scenario to what the testbed builds: pure, so that it can be checked without privileges.
//!
//! Each node of the scenario is a network namespace that forwards packets. Flows begin and end in namespaces of their own,
//! hosts, so that a sender is never held back by the queue of its own machine. Two directions of a link between the same
//! nodes share a veth pair. The part of a flow's base round trip beyond its links is the delay of the pair of its receiver's host.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use levelflow_laws::aqm::AnyQueueParams;
use levelflow_laws::{Any, Protocol};
use levelflow_path::Propagation;
use levelflow_scenario::{FlowSpec, LinkSpec, LinkState, Resolved, RoundTrip};
use levelflow_units::{Buffer, Bytes, Duration, Rate};

use levelflow_host::{Error, law};

/// Flows and links get addresses by their number.
const MOST: usize = 60_000;
/// Namespaces, each with its devices.
const MOST_NAMESPACES: usize = 100;
/// Of a buffer without limit, bytes: memory has one.
const ROOM: u64 = 1 << 30;
/// What addresses are for.
const SENDERS: u8 = 1;
const RECEIVERS: u8 = 2;
const GATEWAYS: u8 = 64;
/// First half of IPv6 addresses: local ones.
const NETWORK: [u16; 2] = [0xfd00, 0x4c46];
/// Laws that the kernel's TCP runs by that name.
pub const KERNEL_LAWS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Where queues are, and the laws at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// In this program, between two packet sockets
    User,
    /// In the kernel: a token bucket (tbf) on the device of the sending node, and the router of `router --dev` before it
    Kernel,
}

/// What a scenario leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Where queues are.
    pub form: Form,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
}

/// What to build.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How.
    pub setup: Setup,
    /// Namespaces.
    pub namespaces: Vec<NamespacePlan>,
    /// What joins them.
    pub pairs: Vec<VethPair>,
    /// Traffic, one per flow entry.
    pub flows: Vec<FlowPlan>,
}

/// A network namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct NamespacePlan {
    /// Name of the node, or of the node with the host's number.
    pub name: String,
    /// Whether it forwards packets for others.
    pub forwards: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Where packets go.
    pub routes: Vec<Hop>,
}

/// Packets for that address leave by that device, for the neighbour behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Destination; `None` for all others.
    pub to: Option<IpAddr>,
    /// Number of the veth pair.
    pub pair: usize,
}

/// Two devices in two namespaces, and what lies between them.
#[derive(Debug, Clone, PartialEq)]
pub struct VethPair {
    /// Namespaces at the two ends.
    pub ends: [usize; 2],
    /// What happens to packets from the first end to the second, and back.
    pub directions: [DirectionPlan; 2],
}

/// One direction of a veth pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionPlan {
    /// Link of the scenario; none for an unused direction, and at hosts.
    pub link: Option<usize>,
    /// Line rate and buffer; none for a direction without queue.
    pub queue: Option<(Rate, Buffer)>,
    /// What happens to packets behind the queue.
    pub wire: Propagation,
    /// What it becomes during the run.
    pub changes: Vec<LinkState>,
}

/// A flow entry of the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// Namespaces of sender and receiver.
    pub ends: [usize; 2],
    /// Their addresses for this entry.
    pub addresses: [IpAddr; 2],
    /// Time from sender to receiver on an idle network, without that of sending the packet.
    pub forward: Duration,
    /// Base round trip.
    pub rtt: Duration,
}

impl FlowPlan {
    /// What Ethernet, IP and UDP add to a payload, bytes.
    #[must_use]
    pub fn around(&self) -> u64 {
        levelflow_host::udp::overhead(&(self.addresses[0], 0).into()) as u64
    }
}

impl DirectionPlan {
    fn of(index: usize, link: &LinkSpec<Any>) -> Self {
        let buffer = match link.buffer {
            Buffer::Unlimited => Buffer::Bytes(Bytes::new(ROOM)),
            limited => limited,
        };
        Self {
            link: Some(index),
            queue: Some((link.capacity, buffer)),
            wire: link.wire,
            changes: link.changes.clone(),
        }
    }

    /// Whether a worker emulates it: for delay, loss, or a queue outside the kernel.
    #[must_use]
    pub fn needs_worker(&self, form: Form) -> bool {
        self.wire != Propagation::default() || !self.changes.is_empty() || (self.queue.is_some() && form == Form::User)
    }
}

impl Plan {
    /// Directions with a queue, with the number of their pair and the end of the queue.
    pub fn queues(&self) -> impl Iterator<Item = (usize, usize, &DirectionPlan)> {
        let ends = (0..self.pairs.len()).flat_map(|pair| [(pair, 0), (pair, 1)]);
        let all = ends.map(|(pair, end)| (pair, end, &self.pairs[pair].directions[end]));
        all.filter(|(.., direction)| direction.queue.is_some())
    }
}

impl VethPair {
    /// Name of its devices in either namespace.
    #[must_use]
    pub fn device(number: usize) -> String {
        format!("c{number}")
    }

    /// Hardware address of one end.
    #[must_use]
    pub fn mac(number: usize, end: usize) -> [u8; 6] {
        let [high, low] = (number as u16).to_be_bytes();
        [0x02, 0x4c, 0x46, high, low, end as u8]
    }

    /// What the other end's neighbour is called; an address that nobody else has.
    #[must_use]
    pub fn gateway(ipv6: bool, number: usize, end: usize) -> IpAddr {
        address(ipv6, GATEWAYS + end as u8, number)
    }
}

/// The address for that purpose and of that number: 10.2.0.7, or fd00:4c46:2::7.
pub fn address(ipv6: bool, purpose: u8, number: usize) -> IpAddr {
    let number = number as u16;
    if ipv6 {
        return Ipv6Addr::new(NETWORK[0], NETWORK[1], purpose.into(), 0, 0, 0, 0, number).into();
    }
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, purpose, high, low).into()
}

/// The flow entry whose receiver has that address.
pub fn entry_at(to: IpAddr) -> Option<usize> {
    let number = match to {
        IpAddr::V4(to) => to.octets().last_chunk().map(|bytes| u16::from_be_bytes(*bytes))?,
        IpAddr::V6(to) => to.segments()[7],
    };
    let number = usize::from(number);
    (to == address(to.is_ipv6(), RECEIVERS, number)).then_some(number)
}

impl NamespacePlan {
    /// Lines for `ip -batch` once the namespace has its devices: addresses, neighbours and routes.
    #[must_use]
    pub fn commands(&self, number: usize, pairs: &[VethPair], ipv6: bool) -> Vec<String> {
        let mut lines: Vec<String> = vec!["link set lo up".into()];
        // Without a look for others that have it, which would hold up the routes from it.
        let (bits, at_once) = if ipv6 { (128, " nodad") } else { (32, "") };
        let addresses = self.addresses.iter();
        lines.extend(addresses.map(|a| format!("address add {a}/{bits} dev lo{at_once}")));
        let own = |pair: &VethPair| pair.ends.iter().position(|&place| place == number);
        for (i, end) in pairs.iter().enumerate().filter_map(|(i, c)| Some((i, own(c)?))) {
            let (device, far) = (VethPair::device(i), 1 - end);
            let mac = VethPair::mac(i, far).map(|byte| format!("{byte:02x}")).join(":");
            let gateway = VethPair::gateway(ipv6, i, far);
            lines.push(format!("link set {device} up"));
            lines.push(format!(
                "neighbour replace {gateway} lladdr {mac} dev {device} nud permanent"
            ));
        }
        for hop in &self.routes {
            let Some(end) = pairs.get(hop.pair).and_then(own) else {
                continue;
            };
            let to = hop.to.map_or("default".into(), |a| format!("{a}/{bits}"));
            let (gateway, device) = (VethPair::gateway(ipv6, hop.pair, 1 - end), VethPair::device(hop.pair));
            let source = self.addresses.first().filter(|_| !self.forwards);
            let source = source.map_or(String::new(), |a| format!(" src {a}"));
            lines.push(format!("route add {to} via {gateway} dev {device} onlink{source}"));
        }
        lines
    }
}

/// Plans the testbed of a scenario.
///
/// # Errors
/// When the scenario asks for what it cannot do; in one line.
pub fn plan(resolved: &Resolved, setup: Setup) -> Result<Plan, Error> {
    let network = &resolved.network;
    if network.links.len().max(network.flows.len()) > MOST {
        return Err(Error::input(format!(
            "a testbed has at most {MOST} links and flow entries"
        )));
    }
    for link in &network.links {
        check_link(link, setup.form)?;
    }
    let mut builder = Builder::new(resolved, setup);
    builder.add_pairs();
    for (i, flow) in network.flows.iter().enumerate() {
        check_flow(flow)?;
        builder.add_flow(i, flow)?;
    }
    let namespaces = builder.plan.namespaces.len();
    if namespaces > MOST_NAMESPACES {
        let problem = format!("needs {namespaces} network namespaces; allowed: {MOST_NAMESPACES}");
        return Err(Error::input(format!("the testbed {problem}")));
    }
    Ok(builder.plan)
}

fn check_link(link: &LinkSpec<Any>, form: Form) -> Result<(), Error> {
    let refuse = |problem: &str| Err(Error::input(format!("link {}: {problem}", link.name)));
    let law = link
        .routers
        .first()
        .filter(|law| form == Form::Kernel && law.law().routers.kernel.is_none());
    if !matches!(link.queue, AnyQueueParams::DropTail(())) && form == Form::Kernel {
        return refuse("the kernel's token buckets are drop-tail; other queues need --form user");
    }
    if !link.changes.is_empty() && form == Form::Kernel {
        return refuse("the kernel's token bucket keeps its rate; links that change need --form user");
    }
    if link.measured && !link.changes.is_empty() {
        return refuse("routers of the testbed are notified of changes; measured needs the simulator");
    }
    if link.algorithm.is_some() {
        return refuse("buffers in the testbed keep their size");
    }
    if link.routers.len() > 1 {
        return refuse("the testbed runs one law at a link; flows of several laws cross this one");
    }
    if let Some(law) = law {
        let name = law.law().name;
        let allowed = law::names(|law| law.routers.kernel.is_some());
        return refuse(&format!(
            "{name} has no kernel form; allowed: {allowed}, or --form user"
        ));
    }
    if link.capacity.bps() < 1e4 {
        return refuse("slower than the 10 kb/s that the testbed allows");
    }
    Ok(())
}

fn check_flow(flow: &FlowSpec<Any>) -> Result<(), Error> {
    let refuse = |problem: String| Err(Error::input(format!("flow {}: {problem}", flow.name)));
    let of_the_kernel = KERNEL_LAWS.contains(&flow.params.law().name);
    for (asked, what) in [
        (!flow.routes.is_single(), "flows of an entry on different paths"),
        (flow.session.is_some(), "sessions"),
        (
            flow.application.is_some() && of_the_kernel,
            "applications over the kernel's TCP",
        ),
        (flow.ack_delay.is_some(), "ack_delay"),
        (
            Any::transport(&flow.params).ecn && of_the_kernel,
            "marks (ecn) for the kernel's TCP",
        ),
        (
            flow.size.is_some() && !Any::transport(&flow.params).acknowledged,
            "transfers without ACKs: their senders cannot tell when they have arrived",
        ),
    ] {
        if asked {
            return refuse(format!("the testbed has no {what}"));
        }
    }
    if flow.rtt.as_ref().is_some_and(|rtt| rtt.constant().is_none()) {
        return refuse("rtt differs from flow to flow; the testbed needs one value".into());
    }
    if !(100..=1514).contains(&flow.packet.get()) {
        return refuse(format!(
            "packets of {}; the testbed allows 100 B to 1514 B, Ethernet included",
            flow.packet
        ));
    }
    Ok(())
}

/// Names of the laws that flows may have.
#[must_use]
pub fn laws() -> String {
    let own = law::names(|law| !KERNEL_LAWS.contains(&law.name));
    format!("{own}, and of the kernel {}", KERNEL_LAWS.join(", "))
}

struct Builder<'a> {
    resolved: &'a Resolved,
    plan: Plan,
    nodes: HashMap<&'a str, usize>,
    /// Pair and end at which each link begins.
    begins: Vec<(usize, usize)>,
    /// Hosts by node, and delays to and from them.
    hosts: BTreeMap<(usize, Duration, Duration), (usize, usize)>,
}

impl<'a> Builder<'a> {
    fn new(resolved: &'a Resolved, setup: Setup) -> Self {
        Self {
            resolved,
            plan: Plan {
                setup,
                namespaces: Vec::new(),
                pairs: Vec::new(),
                flows: Vec::new(),
            },
            nodes: HashMap::new(),
            begins: Vec::new(),
            hosts: BTreeMap::new(),
        }
    }

    fn place(&mut self, name: String, forwards: bool) -> usize {
        let place = NamespacePlan {
            name,
            forwards,
            addresses: Vec::new(),
            routes: Vec::new(),
        };
        self.plan.namespaces.push(place);
        self.plan.namespaces.len() - 1
    }

    /// One veth pair for two links that lead back and forth between two nodes.
    fn add_pairs(&mut self) {
        let resolved = self.resolved;
        for (i, (link, (from, to))) in resolved.network.links.iter().zip(&resolved.ends).enumerate() {
            let mut node = |name: &'a str| {
                if let Some(&place) = self.nodes.get(name) {
                    place
                } else {
                    let place = self.place(name.to_owned(), true);
                    self.nodes.insert(name, place);
                    place
                }
            };
            let ends = [node(from), node(to)];
            let direction = DirectionPlan::of(i, link);
            let fits = |c: &VethPair| c.ends == [ends[1], ends[0]] && c.directions[1].link.is_none();
            let begins = if let Some(pair) = self.plan.pairs.iter().position(fits) {
                self.plan.pairs[pair].directions[1] = direction;
                (pair, 1)
            } else {
                let directions = [direction, DirectionPlan::default()];
                self.plan.pairs.push(VethPair { ends, directions });
                (self.plan.pairs.len() - 1, 0)
            };
            self.begins.push(begins);
        }
    }

    fn add_flow(&mut self, number: usize, flow: &FlowSpec<Any>) -> Result<(), Error> {
        let on_links = flow.routes.first().delays(&self.resolved.network.links);
        let constant = flow.rtt.as_ref().and_then(levelflow_scenario::Dist::constant);
        let rtt = RoundTrip::new(constant.and_then(Duration::from_secs_f64), on_links);
        let (first, last) = (self.node(flow, true), self.node(flow, false));
        let (from, from_pair) = self.host(first, Duration::ZERO, Duration::ZERO);
        let (to, to_pair) = self.host(last, rtt.forward, rtt.reverse);
        let addresses = [SENDERS, RECEIVERS].map(|purpose| address(self.plan.setup.ipv6, purpose, number));
        self.plan.namespaces[from].addresses.push(addresses[0]);
        self.plan.namespaces[to].addresses.push(addresses[1]);
        self.route(flow, addresses[1], &flow.routes.first().forward, to_pair)?;
        self.route(flow, addresses[0], &flow.routes.first().reverse, from_pair)?;
        self.plan.flows.push(FlowPlan {
            ends: [from, to],
            addresses,
            forward: on_links[0] + rtt.forward,
            rtt: rtt.total,
        });
        Ok(())
    }

    /// Node at which a flow enters or leaves the network.
    fn node(&self, flow: &FlowSpec<Any>, start: bool) -> usize {
        let link = if start {
            flow.routes.first().forward.first()
        } else {
            flow.routes.first().reverse.first()
        };
        let (pair, end) = self.begins[link.map_or(0, |&l| l as usize)];
        self.plan.pairs[pair].ends[end]
    }

    /// Adds a host attached to `node` by a veth pair with these delays; returns its namespace and pair.
    fn host(&mut self, node: usize, there: Duration, back: Duration) -> (usize, usize) {
        if let Some(&known) = self.hosts.get(&(node, there, back)) {
            return known;
        }
        let name = format!("{}.{}", self.plan.namespaces[node].name, self.hosts.len() + 1);
        let place = self.place(name, false);
        let directions = [there, back].map(|delay| DirectionPlan {
            wire: Propagation {
                delay,
                ..Propagation::default()
            },
            ..DirectionPlan::default()
        });
        self.plan.pairs.push(VethPair {
            ends: [node, place],
            directions,
        });
        let pair = self.plan.pairs.len() - 1;
        self.plan.namespaces[place].routes.push(Hop { to: None, pair });
        self.hosts.insert((node, there, back), (place, pair));
        (place, pair)
    }

    /// Leads packets for an address along a path, then to its host.
    fn route(&mut self, flow: &FlowSpec<Any>, to: IpAddr, path: &[u32], last: usize) -> Result<(), Error> {
        let steps = path.iter().map(|&link| self.begins[link as usize]).collect::<Vec<_>>();
        for (pair, end) in steps.into_iter().chain([(last, 0)]) {
            let node = self.plan.pairs[pair].ends[end];
            let routes = &mut self.plan.namespaces[node].routes;
            if routes.iter().any(|hop| hop.to == Some(to)) {
                let (flow, node) = (&flow.name, &self.plan.namespaces[node].name);
                return Err(Error::input(format!(
                    "flow {flow}: its path crosses {node} twice; the testbed allows once"
                )));
            }
            routes.push(Hop { to: Some(to), pair });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
