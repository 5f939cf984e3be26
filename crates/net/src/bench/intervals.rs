//! What it costs to end an interval, law by law.

use std::time::Instant;

use levelflow_protocols::{Arriving, PortInfo};
use levelflow_units::{Duration, Rate, Time};

use super::packets::{LAWS, SIZE, ours, thread_ns};
use super::{Case, Effort, Row, Sample, in_turn};
use crate::router::port::Port;
use crate::{Error, law};

/// Packets that come in an interval, so that there is something to account for.
const PACKETS: u32 = 10;

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let case = |law: &'static str| -> Case<'static> {
        let measure = move || {
            Ok(compare(
                spend(law, effort.packets, true)?,
                spend(law, effort.packets, false)?,
                effort,
            ))
        };
        (law.to_owned(), Box::new(measure))
    };
    in_turn("intervals", "interval", effort, LAWS.map(case).into())
}

/// The end of an interval is what remains without the packets.
fn compare(with: (f64, f64), without: (f64, f64), effort: Effort) -> Sample {
    let each = |with: f64, without: f64| ((with - without) / f64::from(effort.packets)).max(0.1);
    Sample {
        ns: each(with.0, without.0),
        per_second: 1e9 / each(with.1, without.1),
        program_ns: None,
    }
}

/// Processor time and time that passed, ns, of so many intervals or of their packets alone.
fn spend(law: &str, intervals: u32, close: bool) -> Result<(f64, f64), Error> {
    let params = law::params(law, &[])?;
    let info = PortInfo {
        id: 1,
        capacity: Rate::clamped(1e9),
    };
    let packet = ours(&params);
    let mut payload = packet.clone();
    let mut now = Time::ZERO;
    let mut port = Port::new(params, info, now);
    let arriving = Arriving::alone(SIZE);
    let (start, began) = (thread_ns(), Instant::now());
    for _ in 0..intervals {
        for _ in 0..PACKETS {
            payload[..64].copy_from_slice(&packet[..64]);
            port.arrive(&arriving, &mut payload);
            port.depart(SIZE, &mut payload);
        }
        now = now + Duration::from_ms(10);
        if close {
            port.close(now, SIZE, 1);
        }
    }
    std::hint::black_box(&port);
    Ok((thread_ns() - start, began.elapsed().as_nanos() as f64))
}
