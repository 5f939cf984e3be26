//! What a packet costs the relay, with and without a law's header; printed, not judged:
//! `cargo test -p levelflow-net --test relay_cost -- --ignored --nocapture`.

use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;

use levelflow_net::law;
use levelflow_net::router::lane::Bottleneck;
use levelflow_net::router::queue::Buffer;
use levelflow_net::router::relay::{Config, Relay};
use levelflow_net::router::snapshot::Board;
use levelflow_net::router::stop::Stop;
use levelflow_protocols::shim::{LENGTH, Shim};
use levelflow_protocols::{AnySender, FlowInfo, Kind, Outgoing, SenderLaw};
use levelflow_units::{Bytes, Duration, Rate, Time};
use rustix::time::{ClockId, clock_gettime};

/// Packets per measurement.
const PACKETS: usize = 60_000;

/// Nanoseconds of processor time that the relay takes for a packet of 1000 B on the wire, and the packets per second of
/// processor time that this makes.
fn cost(law: &'static str, ours: bool) -> f64 {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let params = law::params(law, &[]).unwrap();
    let forward = Bottleneck {
        params: params.clone(),
        capacity: Rate::new(100e9).unwrap(),
        buffer: Buffer::Packets(100_000),
    };
    let relay = Relay::bind(Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        to: server.local_addr().unwrap(),
        forward,
        backward: None,
        delay: Duration::ZERO,
        id: 1,
    })
    .unwrap();
    let to = relay.address().unwrap();
    let (stop, board) = (Arc::new(Stop::new().unwrap()), Board::default());
    let (inside, shown) = (stop.clone(), board.clone());
    let work = thread::spawn(move || {
        relay.run(&inside, &shown).unwrap();
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    });
    let size = Bytes::new(1000);
    let mut sender = AnySender::new(&params, &FlowInfo { packet_size: size });
    let outgoing = Outgoing {
        number: 0,
        size,
        kind: Kind::Data,
    };
    let mut packet = vec![0; 958];
    if ours {
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
        shim.encode(&mut packet);
        sender
            .on_send(&params, Time::ZERO, &outgoing)
            .encode(&mut packet[LENGTH..]);
    }
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..PACKETS {
        client.send_to(&packet, to).unwrap();
    }
    stop.now();
    let spent = work.join().unwrap();
    spent / board.read().counters.packets as f64
}

#[test]
#[ignore = "measures; takes half a minute"]
fn cost_of_a_packet() {
    for law in ["jetmax", "emkc", "rcp", "maxnet", "xcp"] {
        let mut ratios: Vec<(f64, f64, f64)> = (0..7)
            .map(|_| {
                let (foreign, ours) = (cost(law, false), cost(law, true));
                (ours / foreign, foreign, ours)
            })
            .collect();
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, foreign, ours) = ratios[3];
        println!(
            "{law}: {foreign:.0} ns for a packet without header, {ours:.0} ns with ({:.0} kpps): {ratio:.2}",
            1e6 / ours
        );
    }
}
