//! CPU time per forwarded packet, with and without the router in the kernel.

use std::net::UdpSocket;
use std::time::Instant;

use aya::programs::{SchedClassifier, TcAttachType};
use aya::sys::{Stats, enable_stats};
use nix::sys::socket::{setsockopt, sockopt};

use super::packets::{PAYLOAD, foreign, laws, ours, port, thread_ns};
use super::{Case, Effort, Row, Sample, in_turn};
use levelflow_host::Error;
use levelflow_host::clock::Clock;
use levelflow_host::qdisc::Device;
use levelflow_router::device::Attached;
use levelflow_router::kernel::Program;
use levelflow_scenario::settings;
use levelflow_testbed::Namespace;

/// Number of packets in a super-packet. A super-packet has at most 64 KB.
const TOGETHER: usize = 60;
pub(super) const SINK: &str = "10.78.2.2:7700";

/// Path from a sending host through a router to a receiving host. The receiving host never reads its socket.
///
/// A packet crosses the whole path within the system call that sends it.
pub(super) struct Path {
    pub(super) sender: Namespace,
    pub(super) router: Namespace,
    _receiver: Namespace,
    _sink: UdpSocket,
}

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let path = Path::build()?;
    let mut rows = path.packets(effort, false)?;
    rows.extend(path.packets(effort, true)?);
    rows.extend(path.intervals(effort)?);
    Ok(rows)
}

impl Path {
    pub(super) fn build() -> Result<Self, Error> {
        let sender = Namespace::new("lf-bench-a")?;
        let router = Namespace::new("lf-bench-r")?;
        let receiver = Namespace::new("lf-bench-b")?;
        sender.ip(&format!("link add a0 type veth peer name r0 netns {}", router.path()))?;
        router.ip(&format!("link add r1 type veth peer name b0 netns {}", receiver.path()))?;
        sender.ip("addr add 10.78.1.1/24 dev a0\nlink set dev a0 up")?;
        router
            .ip("addr add 10.78.1.2/24 dev r0\nlink set dev r0 up\naddr add 10.78.2.1/24 dev r1\nlink set dev r1 up")?;
        receiver.ip("addr add 10.78.2.2/24 dev b0\nlink set dev b0 up\nroute add default via 10.78.2.1")?;
        sender.ip("route add default via 10.78.1.2")?;
        router.forward()?;
        let sink = receiver.run(|| UdpSocket::bind(SINK))?.map_err(Error::failed)?;
        // The receiver drops super-packets without splitting them, so its CPU time does not depend on their segments.
        setsockopt(&sink, sockopt::UdpGroSegment, &true).map_err(Error::failed)?;
        Ok(Self {
            sender,
            router,
            _receiver: receiver,
            _sink: sink,
        })
    }

    fn packets(&self, effort: Effort, together: bool) -> Result<Vec<Row>, Error> {
        // A single packet takes much longer than a packet in a super-packet, so fewer single packets are sent.
        let count = if together { effort.packets } else { effort.packets / 3 };
        let case = |name: &str, law: Option<&'static str>, known: bool| -> Case<'_> {
            let measure = move || self.cost(law, known, count, together);
            (name.to_owned(), Box::new(measure))
        };
        let mut cases = vec![
            case("no router", None, false),
            case("foreign packets", Some("jetmax"), false),
        ];
        cases.extend(laws().map(|law| case(law, Some(law), true)));
        let part = if together { "kernel, super-packets" } else { "kernel" };
        in_turn(part, "packet", effort, cases)
    }

    /// Measures the end of an interval. It consists of reading the program's counters and the device's queue, running
    /// the law, and updating the program.
    fn intervals(&self, effort: Effort) -> Result<Vec<Row>, Error> {
        let case = |law: &'static str| -> Case<'_> {
            let measure = move || self.router.run(move || intervals(law, effort.packets / 10))?;
            (law.to_owned(), Box::new(measure))
        };
        in_turn("kernel, intervals", "interval", effort, laws().map(case).collect())
    }

    fn cost(&self, law: Option<&str>, known: bool, packets: u32, together: bool) -> Result<Sample, Error> {
        let name = law.unwrap_or("jetmax");
        let params = settings::router_params(name, &[]).map_err(Error::input)?;
        let packet = if known { ours(name)? } else { foreign() };
        let program = match law {
            None => None,
            Some(_) => Some(
                self.router
                    .run(move || Program::attach("r1", &params, &port(), None))??,
            ),
        };
        self.send(packet.clone(), packets / 10, together)?; // fills caches and resolves the addresses of neighbours
        let mut sample = self.send(packet.clone(), packets, together)?;
        if program.is_some() {
            // A separate run measures the program, because the kernel's time statistics slow each call of the program.
            let _stats = enable_stats(Stats::RunTime).map_err(|e| Error::failed(format!("kernel: {e}")))?;
            self.send(packet, packets, together)?;
            sample.program_ns = self
                .router
                .run(inside)?
                .map(|ns| if together { ns / TOGETHER as f64 } else { ns });
        }
        drop(program);
        Ok(sample)
    }

    fn send(&self, packet: Vec<u8>, packets: u32, together: bool) -> Result<Sample, Error> {
        self.sender.run(move || send(&packet, packets, together))?
    }
}

fn send(packet: &[u8], packets: u32, together: bool) -> Result<Sample, Error> {
    let failed = |e: std::io::Error| Error::failed(format!("kernel: {e}"));
    let socket = UdpSocket::bind("10.78.1.1:0").map_err(failed)?;
    socket.connect(SINK).map_err(failed)?;
    let (data, calls) = if together {
        let segment = PAYLOAD as i32;
        setsockopt(&socket, sockopt::UdpGsoSegment, &segment).map_err(Error::failed)?;
        (packet.repeat(TOGETHER), packets as usize / TOGETHER)
    } else {
        (packet.to_vec(), packets as usize)
    };
    let calls = calls.max(1);
    let (start, began) = (thread_ns(), Instant::now());
    for _ in 0..calls {
        socket.send(&data).map_err(failed)?;
    }
    let count = (calls * (data.len() / PAYLOAD)) as f64;
    Ok(Sample {
        ns: (thread_ns() - start) / count,
        per_second: count / began.elapsed().as_secs_f64(),
        program_ns: None,
    })
}

fn intervals(law: &str, intervals: u32) -> Result<Sample, Error> {
    let params = settings::router_params(law, &[]).map_err(Error::input)?;
    let program = Program::attach("r1", &params, &port(), None)?;
    let mut router = Attached::new(Device::open("r1")?, program, params, port(), Clock::start())?;
    let (start, began) = (thread_ns(), Instant::now());
    for _ in 0..intervals {
        router.close()?;
    }
    let count = f64::from(intervals);
    Ok(Sample {
        ns: (thread_ns() - start) / count,
        per_second: count / began.elapsed().as_secs_f64(),
        program_ns: None,
    })
}

/// Returns the time per call of the program on the device `r1` of this namespace, ns. The kernel measures this time.
fn inside() -> Option<f64> {
    let (_, loaded) = SchedClassifier::query_tcx("r1", TcAttachType::Egress).ok()?;
    let program = loaded.first()?;
    let calls = program.run_count();
    (calls > 0).then(|| program.run_time().as_nanos() as f64 / calls as f64)
}
