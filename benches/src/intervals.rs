//! CPU time to end a control interval, for each law.

use std::time::Instant;

use levelflow_laws::Arriving;
use levelflow_units::{Duration, Time};

use super::packets::{SIZE, laws, ours, port, thread_ns};
use super::{Case, Effort, Row, Sample, in_turn};
use levelflow_host::Error;
use levelflow_router::{Backlog, Port};
use levelflow_scenario::settings;

/// Packets that arrive in each interval.
const PACKETS: usize = 10;
/// Number of ports whose intervals end between two clock readings. A clock reading takes longer than ending one
/// interval.
const PORTS: usize = 1024;

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let case = |law: &'static str| -> Case<'static> { (law.to_owned(), Box::new(move || cost(law, effort.packets))) };
    in_turn("intervals", "interval", effort, laws().map(case).collect())
}

fn cost(law: &str, intervals: u32) -> Result<Sample, Error> {
    let params = settings::router_params(law, &[]).map_err(Error::input)?;
    let packet = ours(law)?;
    let mut payload = packet.clone();
    let arriving = Arriving::alone(SIZE);
    let waiting = Backlog {
        bytes: SIZE,
        packets: 1,
        in_service: SIZE,
    };
    let mut now = Time::ZERO;
    let mut ports: Vec<Port> = (0..PORTS).map(|_| Port::new(params.clone(), port(), now)).collect();
    let batches = (intervals as usize / PORTS).max(1);
    let (mut spent, mut seconds) = (0.0, 0.0);
    for _ in 0..batches {
        for port in &mut ports {
            for _ in 0..PACKETS {
                payload[..64].copy_from_slice(&packet[..64]); // resets the header, which the router has changed
                port.arrive(&arriving, 0, &mut payload);
                port.depart(SIZE, &mut payload);
            }
        }
        now += Duration::from_ms(10);
        let (start, began) = (thread_ns(), Instant::now());
        for port in &mut ports {
            port.close(now, waiting);
        }
        seconds += began.elapsed().as_secs_f64();
        spent += thread_ns() - start;
    }
    std::hint::black_box(&ports);
    let count = (batches * PORTS) as f64;
    Ok(Sample {
        ns: spent / count,
        per_second: count / seconds,
        program_ns: None,
    })
}
