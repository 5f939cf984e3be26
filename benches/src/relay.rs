//! CPU time of the relay per datagram: without a header, with the header of a law, and with a policed header.

use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use levelflow_units::{Buffer, Duration, Rate};

use super::packets::{foreign, laws, ours, thread_ns};
use super::{Case, Effort, Row, Sample, in_turn};
use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_router::direction::Bottleneck;
use levelflow_router::relay::{Config, Relay};
use levelflow_router::snapshot::Board;
use levelflow_scenario::settings;

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let case = |name: String, law: &'static str, ours: bool, police: bool| -> Case<'static> {
        (name, Box::new(move || cost(law, ours, police, effort.packets)))
    };
    let mut cases = vec![case("foreign packets".to_owned(), "jetmax", false, false)];
    cases.extend(laws().map(|law| case(law.to_owned(), law, true, false)));
    cases.extend(["jetmax", "level"].map(|law| case(format!("{law}, policed"), law, true, true)));
    in_turn("relay", "packet", effort, cases)
}

/// Measures the relay while a client sends as fast as possible. Datagrams lost in the relay's full socket buffer do not
/// count.
fn cost(law: &str, known: bool, police: bool, packets: u32) -> Result<Sample, Error> {
    let server = UdpSocket::bind("127.0.0.1:0").map_err(Error::failed)?;
    let params = settings::router_params(law, &[]).map_err(Error::input)?;
    let packet = if known { ours(law)? } else { foreign() };
    let forward = Bottleneck {
        params,
        capacity: Rate::clamped(100e9),
        buffer: Buffer::Packets(100_000),
    };
    let mut relay = Relay::bind(Config {
        listen: ([127, 0, 0, 1], 0).into(),
        to: server.local_addr().map_err(Error::failed)?,
        forward,
        backward: None,
        delay: Duration::ZERO,
        capacity: None,
        id: 1,
    })?;
    if police {
        relay = relay.policed();
    }
    let to = relay.address()?;
    let client = UdpSocket::bind("127.0.0.1:0").map_err(Error::failed)?;
    let (stop, board) = (Arc::new(Stop::new()?), Board::default());
    let (inside, shown) = (Arc::clone(&stop), board.clone());
    let work = thread::spawn(move || relay.run(&inside, &shown).map(|()| thread_ns()));
    let start = Instant::now();
    for _ in 0..packets {
        let _ = client.send_to(&packet, to); // a lost datagram is not counted
    }
    stop.now();
    let spent = work.join().map_err(|_| Error::failed("relay: panicked"))??;
    let seconds = start.elapsed().as_secs_f64();
    let count = board.read().counters.packets.max(1) as f64;
    Ok(Sample {
        ns: spent / count,
        per_second: count / seconds,
        program_ns: None,
    })
}
