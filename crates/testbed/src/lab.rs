//! Construction of a planned testbed: namespaces, devices, addresses and routes. The kernel removes all of these when
//! the process ends.

use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration as Span;

use levelflow_laws::{Any, PortInfo, Transport};
use levelflow_scenario::LinkSpec;
use levelflow_units::headers::UDP;
use levelflow_units::{Bytes, Duration};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};

use super::links::{Direction, Link as Worker};
use super::netns::Namespace;
use super::plan::{DirectionPlan, FlowPlan, Form, Plan, Setup, VethPair};
use super::token_buckets::TokenBucket;
use super::veth::{End, veth};
use levelflow_host::Error;
use levelflow_host::privileges::Rights;
use levelflow_host::qdisc;
use levelflow_host::udp::{enable_marks, udp};
use levelflow_link::Device;
use levelflow_router::device::gone;
use levelflow_router::kernel::Program;

const MTU: u32 = 1500;
/// Port of the receivers.
const PORT: u16 = 9000;
/// Limit on TCP connections that wait to be accepted.
const FLOWS_THAT_WAIT: i32 = 1024;
/// Kernel parameters that enable forwarding of IPv4 and IPv6.
const FORWARD: [&str; 2] = ["ipv4/ip_forward", "ipv6/conf/all/forwarding"];
/// Typical bound on timer latency in the kernel. The burst of a token bucket is the data sent in this time.
const TIMER_LATENESS: Duration = Duration::from_us(100);
/// Smallest burst of a token bucket, bytes: two packets.
const LEAST_BURST: u64 = 2 * 1514;

/// Running network of a testbed.
#[derive(Debug)]
pub struct Lab {
    namespaces: Vec<Namespace>,
    /// Namespace of the emulated links. It contains the far end of each device, with a packet socket.
    wires: Namespace,
    pairs: Vec<Option<[String; 2]>>,
}

impl Lab {
    /// Builds the network.
    ///
    /// # Errors
    /// When this process lacks the permission, or `ip` fails.
    pub fn build(plan: &Plan) -> Result<Self, Error> {
        let Setup { form, ipv6 } = plan.setup;
        let wires = namespace("wires", false)?;
        let namespaces = plan
            .namespaces
            .iter()
            .map(|p| namespace(&p.name, ipv6))
            .collect::<Result<Vec<_>, _>>()?;
        let mut pairs = Vec::new();
        for (i, pair) in plan.pairs.iter().enumerate() {
            pairs.push(lay(i, pair, form, &namespaces, &wires)?);
        }
        if form == Form::Kernel {
            for (pair, end, direction) in plan.queues() {
                add_token_bucket(&namespaces[plan.pairs[pair].ends[end]], pair, direction)?;
            }
        }
        for (i, (place, namespace)) in plan.namespaces.iter().zip(&namespaces).enumerate() {
            if place.forwards {
                namespace.sysctl(if ipv6 { FORWARD[1] } else { FORWARD[0] }, "1")?;
            }
            namespace.ip(&format!("{}\n", place.commands(i, &plan.pairs, ipv6).join("\n")))?;
        }
        Ok(Self {
            namespaces,
            wires,
            pairs,
        })
    }

    /// Drops the rights of the threads in the namespaces. Nothing can be opened there afterwards.
    ///
    /// # Errors
    /// When the kernel rejects this.
    pub fn drop_rights(&self) -> Result<(), Error> {
        let mut all = self.namespaces.iter().chain([&self.wires]);
        all.try_for_each(|namespace| namespace.run(|| Rights::default().keep_only())?)
    }

    /// Returns workers for the veth pairs that emulate links. Other pairs need no worker.
    ///
    /// # Errors
    /// When packet sockets are unavailable.
    pub fn workers(&self, plan: &Plan, links: &[LinkSpec<Any>], seed: u64) -> Result<Vec<Worker>, Error> {
        let laid = self.pairs.iter().zip(&plan.pairs);
        let worked = laid.filter_map(|(devices, pair)| Some((devices.as_ref()?, pair)));
        let open = |(devices, pair): (&[String; 2], &VethPair)| {
            let names = devices.clone();
            let [first, second] = self.wires.run(move || names.map(|name| Device::open(&name)))?;
            let direction = |end: usize| {
                let direction = &pair.directions[end];
                let spec = direction.link.map(|l| &links[l]);
                Direction::new(direction, spec, plan.setup.form, plan.flows.len(), seed)
            };
            Ok(Worker {
                ends: [first?, second?],
                directions: [direction(0), direction(1)],
            })
        };
        worked.map(open).collect()
    }

    /// Returns the queues in the kernel, and their routers.
    ///
    /// # Errors
    /// When this build has no kernel router, or the kernel rejects it.
    pub fn token_buckets(&self, plan: &Plan, links: &[LinkSpec<Any>]) -> Result<Vec<TokenBucket>, Error> {
        let open = |(pair, end, direction): (usize, usize, &DirectionPlan)| {
            let link = direction.link?;
            let capacity = links[link].capacity;
            let law = links[link].routers.first().cloned();
            let info = PortInfo {
                id: link as u32 + 1,
                capacity,
            };
            let device = VethPair::device(pair);
            let inside = self.namespaces[plan.pairs[pair].ends[end]].run(move || {
                let program = law.map(|params| Ok((Program::attach(&device, &params, &info, None)?, params, info)));
                let mut device = qdisc::Device::open(&device)?;
                Ok(TokenBucket {
                    link,
                    law: program.transpose()?,
                    queue: device.queue().map_err(|e| gone(&device, &e))?,
                    device,
                })
            });
            Some(inside.and_then(|bucket| bucket))
        };
        plan.queues().filter_map(open).collect()
    }

    /// Returns two sockets of a flow entry: the connected socket of the sender, and the socket of the receiver. Both
    /// are non-blocking.
    ///
    /// # Errors
    /// When sockets are unavailable.
    pub fn udp(&self, flow: &FlowPlan, transport: Transport) -> Result<[UdpSocket; 2], Error> {
        let [source, destination] = flow.addresses;
        let receiver = self.inside(flow.ends[1], "a UDP socket", move || udp((destination, PORT).into()))?;
        let sender = self.inside(flow.ends[0], "a UDP socket", move || {
            let socket = udp((source, 0).into())?;
            socket.connect((destination, PORT)).map_err(Error::failed)?;
            if transport.ecn {
                enable_marks(&socket, transport.scalable)?;
            }
            Ok::<_, Error>(socket)
        })?;
        Ok([sender, receiver])
    }

    /// Returns the listening socket for the TCP connections of a flow entry.
    ///
    /// # Errors
    /// When the socket is unavailable.
    pub fn listener(&self, flow: &FlowPlan) -> Result<TcpListener, Error> {
        let at = (flow.addresses[1], PORT);
        self.inside(flow.ends[1], "a TCP socket", move || {
            let at = SocketAddr::from(at);
            let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            socket.bind(&at.into())?;
            socket.listen(FLOWS_THAT_WAIT)?;
            socket.set_nonblocking(true)?;
            Ok::<_, io::Error>(TcpListener::from(socket))
        })
    }

    /// Returns an unconnected TCP socket for the sender of a flow entry. The socket uses the congestion control
    /// `algorithm`. Its full segments make packets of `packet` bytes.
    ///
    /// # Errors
    /// When the kernel lacks the algorithm.
    pub fn tcp(&self, flow: &FlowPlan, algorithm: &'static str, packet: u64) -> Result<Socket, Error> {
        let source = SocketAddr::from((flow.addresses[0], 0));
        let around = flow.around() - UDP as u64 + 20; // TCP header, without options
        self.inside(flow.ends[0], &format!("a TCP socket with {algorithm}"), move || {
            let socket = Socket::new(Domain::for_address(source), Type::STREAM, Some(Protocol::TCP))?;
            setsockopt(&socket, sockopt::TcpCongestion, &algorithm.into())?;
            socket.set_tcp_mss(packet.saturating_sub(around) as u32)?;
            socket.set_linger(Some(Span::ZERO))?;
            socket.bind(&source.into())?;
            socket.set_nonblocking(true)?;
            Ok::<_, io::Error>(socket)
        })
    }

    fn inside<T: Send + 'static, E: Display + Send + 'static>(
        &self,
        place: usize,
        what: &str,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, Error> {
        let namespace = &self.namespaces[place];
        let done = namespace.run(work)?;
        done.map_err(|e| Error::failed(format!("{}: cannot open {what}: {e}", namespace.name())))
    }
}

fn namespace(name: &str, ipv6: bool) -> Result<Namespace, Error> {
    let namespace = Namespace::new(name)?;
    let without = if ipv6 { "0" } else { "1" };
    for (key, value) in [
        ("ipv6/conf/all/disable_ipv6", without),
        ("ipv6/conf/default/disable_ipv6", without),
        // Devices need no addresses of their own. They would announce such addresses to their neighbours.
        ("ipv6/conf/default/addr_gen_mode", "1"),
        // The TCP metrics of a run must not influence the next run.
        ("ipv4/tcp_no_metrics_save", "1"),
    ] {
        if std::fs::exists(format!("/proc/sys/net/{key}")).unwrap_or(false) {
            namespace.sysctl(key, value)?;
        }
    }
    Ok(namespace)
}

/// Joins two namespaces by a veth pair. If a worker emulates the link, returns the worker's devices.
fn lay(
    number: usize,
    pair: &VethPair,
    form: Form,
    namespaces: &[Namespace],
    wires: &Namespace,
) -> Result<Option<[String; 2]>, Error> {
    let device = VethPair::device(number);
    let [first, second] = pair.ends.map(|place| End {
        namespace: &namespaces[place],
        device: &device,
    });
    let worked = pair.directions.iter().any(|direction| direction.needs_worker(form));
    let between = ["a", "b"].map(|side| format!("w{number}{side}"));
    if worked {
        veth(
            first,
            End {
                namespace: wires,
                device: &between[0],
            },
            MTU,
        )?;
        veth(
            second,
            End {
                namespace: wires,
                device: &between[1],
            },
            MTU,
        )?;
    } else {
        veth(first, second, MTU)?;
    }
    for (end, place) in [first, second].into_iter().enumerate() {
        let mac = VethPair::mac(number, end).map(|byte| format!("{byte:02x}")).join(":");
        place.namespace.ip(&format!("link set dev {device} address {mac}\n"))?;
    }
    Ok(worked.then_some(between))
}

/// Adds the kernel queue of a direction. The queue is a token bucket.
fn add_token_bucket(place: &Namespace, pair: usize, direction: &DirectionPlan) -> Result<(), Error> {
    let Some((rate, limit)) = direction.queue else {
        return Ok(());
    };
    let burst = Bytes::new((rate.bytes_in(TIMER_LATENESS) as u64).max(LEAST_BURST));
    let end = End {
        namespace: place,
        device: &VethPair::device(pair),
    };
    end.token_bucket(rate, burst, limit)
}
