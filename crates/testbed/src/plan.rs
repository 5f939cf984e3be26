//! Plan of a testbed, computed from a resolved scenario. The plan has no side effects, so tests need no privileges.
//!
//! Each node of the scenario is a network namespace that forwards packets. Flows begin and end in other namespaces, the
//! hosts. A flow is therefore never delayed by a queue in the machine of its sender. Links in opposite directions
//! between two nodes share a veth pair. A flow's base round-trip time may exceed the delay of its links. In this case,
//! the veth pair at the receiver's host adds the difference.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use levelflow_laws::aqm::AnyQueueParams;
use levelflow_laws::{Any, Protocol};
use levelflow_path::Propagation;
use levelflow_scenario::{FlowSpec, LinkSpec, LinkState, Resolved, RoundTrip};
use levelflow_units::{Buffer, Bytes, Duration, Rate};
use levelflow_wire::framing::Framing;
use levelflow_wire::shim::prefix_bytes;

use levelflow_host::Error;
use levelflow_scenario::settings;

/// Limit on the number of flows, and on the number of links. Addresses contain these numbers.
const MAX_ADDRESSES: usize = 60_000;
/// Limit on the number of namespaces.
const MOST_NAMESPACES: usize = 100;
/// Size used for an unlimited buffer, bytes, because memory is finite.
const UNLIMITED_BUFFER_BYTES: u64 = 1 << 30;
/// Purposes of addresses. The purpose is the second number of an address, as in 10.2.0.7.
const SENDERS: u8 = 1;
const RECEIVERS: u8 = 2;
const GATEWAYS: u8 = 64;
/// First 32 bits of the IPv6 addresses, in the unique local range.
const NETWORK: [u16; 2] = [0xfd00, 0x4c46];
/// Laws that the kernel's TCP implements under the same name.
pub const KERNEL_LAWS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Place where queues and laws run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Queues in this program, between two packet sockets
    User,
    /// Queues in the kernel: a token bucket (tbf) on the device of the sending node, with the router of `router --dev`
    Kernel,
}

/// Options of a testbed that are not in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Place where queues and laws run.
    pub form: Form,
    /// True to use IPv6 instead of IPv4.
    pub ipv6: bool,
}

/// Plan of a testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Options of the testbed.
    pub setup: Setup,
    /// Namespaces.
    pub namespaces: Vec<NamespacePlan>,
    /// Veth pairs between namespaces.
    pub pairs: Vec<VethPair>,
    /// Traffic, one plan per flow entry.
    pub flows: Vec<FlowPlan>,
}

/// Network namespace of a node or host.
#[derive(Debug, Clone, PartialEq)]
pub struct NamespacePlan {
    /// Name of the node. For a host, this is the node's name and a number.
    pub name: String,
    /// True if the namespace forwards packets.
    pub forwards: bool,
    /// Addresses of the namespace.
    pub addresses: Vec<IpAddr>,
    /// Routes of the namespace.
    pub routes: Vec<Hop>,
}

/// Route. Packets to the destination leave through a veth pair, and the next hop is the other end of this pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Destination address; `None` for the default route.
    pub to: Option<IpAddr>,
    /// Number of the veth pair.
    pub pair: usize,
}

/// Veth pair between two namespaces, with the plans of its directions.
#[derive(Debug, Clone, PartialEq)]
pub struct VethPair {
    /// Namespaces at the two ends.
    pub ends: [usize; 2],
    /// Direction from the first end to the second end, and the reverse direction.
    pub directions: [DirectionPlan; 2],
}

/// One direction of a veth pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionPlan {
    /// Link of the scenario. `None` for an unused direction, and for veth pairs of hosts.
    pub link: Option<usize>,
    /// Line rate and buffer; `None` for a direction without queue.
    pub queue: Option<(Rate, Buffer)>,
    /// Propagation delay, jitter and loss behind the queue.
    pub wire: Propagation,
    /// Scheduled states of the link.
    pub changes: Vec<LinkState>,
}

/// Plan of a flow entry: its namespaces, addresses and delays.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// Namespaces of the sender and the receiver.
    pub ends: [usize; 2],
    /// Addresses of the sender and the receiver.
    pub addresses: [IpAddr; 2],
    /// One-way delay from sender to receiver on an idle network, without transmission times.
    pub forward: Duration,
    /// Base round-trip time.
    pub rtt: Duration,
}

impl FlowPlan {
    /// Returns the size of the Ethernet, IP and UDP headers, bytes.
    #[must_use]
    pub fn around(&self) -> u64 {
        levelflow_host::udp::overhead(&(self.addresses[0], 0).into()) as u64
    }

    /// Returns the packet sizes of the flow `spec`. Real packets always have headers. Without encapsulation in the
    /// scenario, these headers count as payload.
    #[must_use]
    pub fn framing(&self, spec: &FlowSpec<Any>) -> Framing {
        let prefix = prefix_bytes(spec.params.law().signalling) as u64;
        Framing {
            headers: match spec.headers {
                Bytes::ZERO => Bytes::ZERO,
                _ => Bytes::new(self.around() + prefix),
            },
            ..spec.framing()
        }
    }
}

impl DirectionPlan {
    fn of(index: usize, link: &LinkSpec<Any>) -> Self {
        let buffer = match link.buffer {
            Buffer::Unlimited => Buffer::Bytes(Bytes::new(UNLIMITED_BUFFER_BYTES)),
            limited => limited,
        };
        Self {
            link: Some(index),
            queue: Some((link.capacity, buffer)),
            wire: link.wire,
            changes: link.changes.clone(),
        }
    }

    /// Returns true if a worker must emulate the direction. Reasons are a delay, losses, changes, or a queue outside
    /// the kernel.
    #[must_use]
    pub fn needs_worker(&self, form: Form) -> bool {
        self.wire != Propagation::default() || !self.changes.is_empty() || (self.queue.is_some() && form == Form::User)
    }
}

impl Plan {
    /// Returns the directions that have a queue. Each is returned with the number of its veth pair, and with the end at
    /// which the queue is.
    pub fn queues(&self) -> impl Iterator<Item = (usize, usize, &DirectionPlan)> {
        let ends = (0..self.pairs.len()).flat_map(|pair| [(pair, 0), (pair, 1)]);
        let all = ends.map(|(pair, end)| (pair, end, &self.pairs[pair].directions[end]));
        all.filter(|(.., direction)| direction.queue.is_some())
    }
}

impl VethPair {
    /// Returns the name of a pair's devices. Both devices have the same name.
    #[must_use]
    pub fn device(number: usize) -> String {
        format!("c{number}")
    }

    /// Returns the hardware address of the device at one end of a pair.
    #[must_use]
    pub fn mac(number: usize, end: usize) -> [u8; 6] {
        let [high, low] = (number as u16).to_be_bytes();
        [0x02, 0x4c, 0x46, high, low, end as u8]
    }

    /// Returns the unique address of the namespace at `end` of a pair. The neighbour at the other end uses this
    /// address.
    #[must_use]
    pub fn gateway(ipv6: bool, number: usize, end: usize) -> IpAddr {
        address(ipv6, GATEWAYS + end as u8, number)
    }
}

/// Returns the address for a purpose and a number, such as 10.2.0.7 or fd00:4c46:2::7.
pub fn address(ipv6: bool, purpose: u8, number: usize) -> IpAddr {
    let number = number as u16;
    if ipv6 {
        return Ipv6Addr::new(NETWORK[0], NETWORK[1], purpose.into(), 0, 0, 0, 0, number).into();
    }
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, purpose, high, low).into()
}

/// Returns the flow entry whose receiver has this address.
pub fn entry_at(to: IpAddr) -> Option<usize> {
    let number = match to {
        IpAddr::V4(to) => to.octets().last_chunk().map(|bytes| u16::from_be_bytes(*bytes))?,
        IpAddr::V6(to) => to.segments()[7],
    };
    let number = usize::from(number);
    (to == address(to.is_ipv6(), RECEIVERS, number)).then_some(number)
}

impl NamespacePlan {
    /// Returns lines for `ip -batch` that add addresses, neighbours and routes. The devices must already exist.
    #[must_use]
    pub fn commands(&self, number: usize, pairs: &[VethPair], ipv6: bool) -> Vec<String> {
        let mut lines: Vec<String> = vec!["link set lo up".into()];
        // The option skips duplicate address detection, which would delay the use of an address.
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
/// Returns a one-line error if the testbed does not support the scenario.
pub fn plan(resolved: &Resolved, setup: Setup) -> Result<Plan, Error> {
    let network = &resolved.network;
    if network.links.len().max(network.flows.len()) > MAX_ADDRESSES {
        return Err(Error::input(format!(
            "a testbed has at most {MAX_ADDRESSES} links and flow entries"
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
    let router = link
        .routers
        .first()
        .filter(|router| form == Form::Kernel && router.signalling().routers.kernel.is_none());
    if !matches!(link.queue, AnyQueueParams::DropTail(())) && form == Form::Kernel {
        return refuse("the kernel's token buckets are drop-tail; other queues need --form user");
    }
    if !link.changes.is_empty() && form == Form::Kernel {
        return refuse("the kernel's token bucket has a constant rate; links that change need --form user");
    }
    if link.measured && !link.changes.is_empty() {
        return refuse("the testbed notifies routers of changes, so measured needs the simulator");
    }
    if link.police {
        return refuse("the testbed does not police headers; police needs the simulator");
    }
    if link.algorithm.is_some() {
        return refuse("the testbed cannot size buffers during a run; set a fixed buffer");
    }
    if link.routers.len() > 1 {
        return refuse("the testbed runs one router at a link; flows of several signallings cross this one");
    }
    if let Some(router) = router {
        let name = router.signalling().name;
        let allowed = settings::law_names(|law| law.signalling.routers.kernel.is_some());
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
        (flow.lie.is_some(), "lie"),
        (
            Any::transport(&flow.params).ecn && of_the_kernel,
            "marks (ecn) for the kernel's TCP",
        ),
        (
            flow.size.is_some() && !Any::transport(&flow.params).acknowledged,
            "transfers without ACKs: their senders do not detect delivery",
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

/// Returns the names of the laws that flows may have.
#[must_use]
pub fn laws() -> String {
    let own = settings::law_names(|law| !KERNEL_LAWS.contains(&law.name));
    format!("{own}, and of the kernel {}", KERNEL_LAWS.join(", "))
}

struct Builder<'a> {
    resolved: &'a Resolved,
    plan: Plan,
    nodes: HashMap<&'a str, usize>,
    /// Veth pair of each link, and the end of the pair at which the link begins.
    begins: Vec<(usize, usize)>,
    /// Namespace and veth pair of each host. The key consists of the node and the delays in both directions.
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

    /// Adds a veth pair for each link. A link and the reverse link between the same nodes share a pair.
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

    /// Returns the node at which a flow enters or leaves the network.
    fn node(&self, flow: &FlowSpec<Any>, start: bool) -> usize {
        let link = if start {
            flow.routes.first().forward.first()
        } else {
            flow.routes.first().reverse.first()
        };
        let (pair, end) = self.begins[link.map_or(0, |&l| l as usize)];
        self.plan.pairs[pair].ends[end]
    }

    /// Returns the namespace and the veth pair of a host at `node` with these delays. Adds the host if it is missing.
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

    /// Adds routes to an address along a path of links. The last route leads through the host's pair `last`.
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
