//! Overhead of buffer sizing at a device. The reference is the same queue with a fixed limit.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::thread::JoinHandle;
use std::time::{Duration as Span, Instant};

use levelflow_units::{Duration, Rate};

use super::kernel::{Path, SINK};
use super::packets::{foreign, thread_ns};
use super::{Case, Effort, Row, Sample, in_turn};
use levelflow_autobuf::ABS;
use levelflow_autobuf::control::Targets;
use levelflow_autobuf::daemon::Daemon;
use levelflow_host::Error;
use levelflow_host::pid_file::PidFile;
use levelflow_host::qdisc::Device;
use levelflow_host::stop::Stop;

/// Two queues. The first has no backlog. The second always has a backlog, because the arrival rate exceeds its rate.
const QUEUES: [(&str, &str); 2] = [
    ("buffer, pfifo", "handle 1: pfifo limit 1000"),
    ("buffer, tbf", "handle 2: tbf rate 1gbit burst 100kb limit 1000000"),
];
const RATE: f64 = 1e9;
/// Interval between decisions. It is the shortest interval that `levelflow-net abs` accepts.
const EVERY: Duration = Duration::from_ms(100);

pub(super) fn measure(effort: Effort) -> Result<Vec<Row>, Error> {
    let path = Path::build()?;
    let mut rows = Vec::new();
    for (part, queue) in QUEUES {
        path.router.tc(&format!("qdisc replace dev r1 root {queue}"))?;
        let case = |name: &str, sized: bool| -> Case<'_> {
            let path = &path;
            (name.to_owned(), Box::new(move || cost(path, sized, effort.span)))
        };
        let cases = vec![case("left alone", false), case("sized", true)];
        rows.extend(in_turn(part, "packet", effort, cases)?);
    }
    Ok(rows)
}

/// Measures the CPU time of the sender and of the daemon.
///
/// A packet crosses the whole path within the sender's system call.
fn cost(path: &Path, sized: bool, span: Span) -> Result<Sample, Error> {
    path.sender.run(move || send(span / 10))??; // fills caches and resolves the addresses of neighbours
    let algorithm = if sized { Some(size(path, span)?) } else { None };
    let before = path.router.run(sent)??;
    let began = Instant::now();
    let (mut ns, packets) = path.sender.run(move || send(span))??;
    let elapsed = began.elapsed();
    let after = path.router.run(sent)??;
    if let Some(algorithm) = algorithm {
        let own = algorithm
            .join()
            .map_err(|_| Error::failed("buffer: the daemon's thread panicked"))?;
        ns += own?;
    }
    Ok(Sample {
        ns: ns / packets,
        per_second: f64::from(after.wrapping_sub(before)) / elapsed.as_secs_f64(),
        program_ns: None,
    })
}

/// Returns the number of packets that have left the queue.
fn sent() -> Result<u32, Error> {
    let queue = Device::open("r1")?.queue();
    queue.map(|queue| queue.sent_packets).map_err(Error::failed)
}

/// Sends as fast as possible. Returns the CPU time, ns, and the number of packets.
fn send(span: Span) -> Result<(f64, f64), Error> {
    let failed = |e: std::io::Error| Error::failed(format!("buffer: {e}"));
    let socket = UdpSocket::bind("10.78.1.1:0").map_err(failed)?;
    socket.connect(SINK).map_err(failed)?;
    let data = foreign();
    let (start, began) = (thread_ns(), Instant::now());
    let mut packets = 0.0;
    while began.elapsed() < span {
        for _ in 0..100 {
            socket.send(&data).map_err(failed)?;
        }
        packets += 100.0;
    }
    Ok((thread_ns() - start, packets))
}

/// Sizes the queue in a thread, for the given time. Returns the thread. The result of the thread is its CPU time, ns.
///
/// The utilisation always exceeds the target, so each decision sets a smaller limit.
fn size(path: &Path, span: Span) -> Result<JoinHandle<Result<f64, Error>>, Error> {
    let targets = Targets {
        algorithm: "adt".into(),
        utilisation: Some(0.01),
        loss: None,
        delay: None,
        every: EVERY,
        sets: BTreeMap::from([("gain".to_owned(), 20.into())]),
        least: None,
        most: None,
        memory: None,
    };
    path.router.thread("abs", move || {
        let _claim = PidFile::new(ABS, "r1")?;
        let mut daemon = Daemon::new(Device::open("r1")?, &[], Rate::new(RATE), targets)?;
        daemon.arm()?;
        let length = Duration::from_secs_f64(span.as_secs_f64());
        let start = thread_ns();
        let (mut decisions, mut sets) = (0, 0);
        daemon.run(&Stop::new()?, length, |_, reading| {
            decisions += 1;
            sets += u32::from(reading.limit != reading.before);
        })?;
        let ns = thread_ns() - start;
        daemon.restore().1?;
        if sets == 0 || sets + 1 < decisions {
            return Err(Error::failed(format!(
                "only {sets} of {decisions} decisions set a limit, so the overhead of setting it was not measured"
            )));
        }
        Ok(ns)
    })
}
