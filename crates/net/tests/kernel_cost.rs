//! What a packet costs the kernel's router, by law; printed, not judged:
//! `cargo test --release -p levelflow-net --test kernel_cost -- --ignored --nocapture`, as root.

use std::net::UdpSocket;

use aya::programs::{SchedClassifier, TcAttachType};
use aya::sys::{Stats, enable_stats};
use levelflow_net::law;
use levelflow_net::router::kernel::Program;
use levelflow_net::testbed::Namespace;
use levelflow_protocols::shim::{LENGTH, Shim};
use levelflow_protocols::{AnyParams, AnySender, FlowInfo, Kind, Outgoing, PortInfo, SenderLaw};
use levelflow_units::{Bytes, Rate, Time};
use rustix::time::{ClockId, clock_gettime};

/// Packets per measurement, and pairs of measurements.
const PACKETS: u32 = 30_000;
const PAIRS: usize = 9;

fn packet(params: &AnyParams) -> Vec<u8> {
    let size = Bytes::new(1000);
    let mut sender = AnySender::new(params, &FlowInfo { packet_size: size });
    let outgoing = Outgoing {
        number: 0,
        size,
        kind: Kind::Data,
    };
    let info = params.law();
    let shim = Shim {
        kind: Kind::Data,
        marked: false,
        more: false,
        law: info.number,
        header: info.header_bytes as u8,
        flow: 1,
        number: 0,
        time: 0,
    };
    let mut packet = vec![0; 958];
    shim.encode(&mut packet);
    sender
        .on_send(params, Time::ZERO, &outgoing)
        .encode(&mut packet[LENGTH..]);
    packet
}

/// Processor time of this thread per packet that it sends, ns; it carries packets all the way to the receiver's socket.
fn send(socket: &UdpSocket, packet: &[u8]) -> f64 {
    let time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = time();
    for _ in 0..PACKETS {
        let _ = socket.send(packet);
    }
    (time() - start) / f64::from(PACKETS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(name: &str) {
    let params = law::params(name, &[]).unwrap();
    let info = PortInfo {
        id: 1,
        capacity: Rate::new(1e9).unwrap(),
    };
    let socket = UdpSocket::bind("10.78.0.1:0").unwrap();
    socket.connect("10.78.0.2:7700").unwrap();
    let packet = packet(&params);
    let (mut plain, mut ratios, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    let _stats = enable_stats(Stats::RunTime).unwrap();
    for _ in 0..PAIRS {
        let without = send(&socket, &packet);
        let program = Program::attach("lf0", &params, &info, None).unwrap();
        let with = send(&socket, &packet);
        let (_, loaded) = SchedClassifier::query_tcx("lf0", TcAttachType::Egress).unwrap();
        inside.push(loaded[0].run_time().as_nanos() as f64 / loaded[0].run_count() as f64);
        drop(program);
        plain.push(without);
        ratios.push(with / without);
    }
    println!(
        "{name:8} {:5.0} ns in the program; a packet through a veth pair takes {:.3} of the {:.0} ns without it",
        median(inside),
        median(ratios),
        median(plain)
    );
}

#[test]
#[ignore = "measures; needs root, a build with clang and a quiet machine"]
fn what_a_packet_costs() {
    let (here, there) = (
        Namespace::new("lf-k-here").unwrap(),
        Namespace::new("lf-k-there").unwrap(),
    );
    here.ip(&format!("link add lf0 type veth peer name lf1 netns {}", there.path()))
        .unwrap();
    here.ip("addr add 10.78.0.1/24 dev lf0\nlink set dev lf0 up").unwrap();
    there.ip("addr add 10.78.0.2/24 dev lf1\nlink set dev lf1 up").unwrap();
    let _sink = there.run(|| UdpSocket::bind("10.78.0.2:7700").unwrap()).unwrap();
    for name in ["jetmax", "emkc", "rcp", "maxnet", "xcp"] {
        here.run(move || measure(name)).unwrap();
    }
}
