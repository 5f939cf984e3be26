//! `levelflow-net abs` before the kernel's own traffic: it finds the buffer that meets its targets. Needs root; says so where it has none.

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration as Span, Instant};

use levelflow_net::testbed::{End, Namespace, veth};
use levelflow_protocols::PortInfo;
use levelflow_protocols::sizing::{AnySizer, Load};
use levelflow_sim::scenario::sizer_named;
use levelflow_units::{Bytes, Duration, Rate};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SERVER: &str = "10.0.2.2:9001";
const LINE: f64 = 10e6;
const PACKET: u32 = 1514;

/// Told to stop when the test ends, however it does, so that it leaves nothing behind.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// A sender, a wire, a router with a line of 10 Mb/s, and a receiver; packets wait in the router. Round trips take 40 ms.
struct Path4 {
    sender: Namespace,
    router: Namespace,
    receiver: Namespace,
    _wire: (Namespace, Guard),
}

impl Path4 {
    fn new(limit: u32) -> Self {
        let [sender, wire, router, receiver] =
            ["lf-d-a", "lf-d-w", "lf-d-r", "lf-d-b"].map(|name| Namespace::new(name).unwrap());
        let end = |namespace, device| End { namespace, device };
        veth(end(&sender, "a0"), end(&wire, "wa"), 1500).unwrap();
        veth(end(&wire, "wr"), end(&router, "r0"), 1500).unwrap();
        veth(end(&router, "r1"), end(&receiver, "b0"), 1500).unwrap();
        for (namespace, device, address) in [
            (&sender, "a0", [10, 0, 1, 1]),
            (&router, "r0", [10, 0, 1, 2]),
            (&router, "r1", [10, 0, 2, 1]),
            (&receiver, "b0", [10, 0, 2, 2]),
        ] {
            end(namespace, device).address(address.into(), 24).unwrap();
        }
        sender.ip("route add default via 10.0.1.2").unwrap();
        receiver.ip("route add default via 10.0.2.1").unwrap();
        router.forward().unwrap();
        let tbf = format!(
            "qdisc replace dev r1 root handle 1: tbf rate 10mbit burst 4kb limit {}",
            limit * PACKET
        );
        router.tc(&tbf).unwrap();
        let mut link = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
        link.args(["link", "wa", "wr", "--delay", "20 ms", "--realtime"]);
        link.stdin(Stdio::null()).stdout(Stdio::null());
        let link = Guard(wire.spawn(link).unwrap());
        let path = Self {
            sender,
            router,
            receiver,
            _wire: (wire, link),
        };
        path.serve();
        path
    }

    /// Takes whatever comes, as long as its namespace lives.
    fn serve(&self) {
        let server = self.receiver.run(|| TcpListener::bind(SERVER).unwrap()).unwrap();
        let _ = self.receiver.thread("server", move || {
            for flow in server.incoming() {
                let Ok(mut flow) = flow else { return };
                thread::spawn(move || {
                    let mut room = vec![0; 1 << 16];
                    while flow.read(&mut room).is_ok_and(|read| read > 0) {}
                });
            }
        });
    }

    /// A long flow, until told to stop.
    fn flow(&self, law: &'static str, stop: &Arc<AtomicBool>) {
        let stop = Arc::clone(stop);
        let thread = self.sender.thread("flow", move || {
            let Ok(mut flow) = TcpStream::connect(SERVER) else {
                return;
            };
            let socket = socket2::SockRef::from(&flow);
            socket.set_tcp_congestion(law.as_bytes()).unwrap();
            socket.set_linger(Some(Span::ZERO)).unwrap();
            flow.set_write_timeout(Some(Span::from_millis(100))).unwrap();
            while !stop.load(Relaxed) {
                let _ = flow.write(&[0; 1 << 16]);
            }
        });
        drop(thread.unwrap());
    }

    /// Short flows of 30 kB, five a second, and datagrams at 0.5 Mb/s.
    fn noise(&self, stop: &Arc<AtomicBool>) {
        let (short, datagrams) = (Arc::clone(stop), Arc::clone(stop));
        let transfers = move || {
            while !short.load(Relaxed) {
                if let Ok(mut flow) = TcpStream::connect(SERVER) {
                    let _ = flow.write_all(&[0; 30_000]);
                }
                sleep(Span::from_millis(200));
            }
        };
        let constant = move || {
            let socket = UdpSocket::bind("10.0.1.1:0").unwrap();
            while !datagrams.load(Relaxed) {
                let _ = socket.send_to(&[0; 1200], "10.0.2.2:9002");
                sleep(Span::from_millis(20));
            }
        };
        drop(self.sender.thread("short", transfers).unwrap());
        drop(self.sender.thread("udp", constant).unwrap());
    }

    /// Sizes the queue and writes every decision.
    fn size(&self, log: &Path, more: &[&str]) -> Guard {
        let mut abs = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
        abs.args(["abs", "--dev", "r1", "--every", "0.2 s", "--quiet", "--log"]);
        abs.arg(log).args(more).stdin(Stdio::null()).stdout(Stdio::null());
        Guard(self.router.spawn(abs).unwrap())
    }
}

fn decisions(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let whole = text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok());
    whole.collect()
}

/// Share of the line used, share lost, mean limit in packets, and mean wait in seconds, from some decision on.
fn later(decisions: &[Value], from: usize) -> [f64; 4] {
    let sum = |name: &str| decisions[from..].iter().map(|d| d[name].as_f64().unwrap()).sum::<f64>();
    let count = (decisions.len() - from) as f64;
    [
        sum("sent") * 8e9 / (LINE * sum("elapsed_ns")),
        sum("dropped") / (sum("admitted") + sum("dropped")),
        sum("limit") / count / f64::from(PACKET),
        sum("wait") / count,
    ]
}

/// Runs until so many decisions have been made.
fn until(log: &Path, count: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let made = decisions(log);
        if made.len() >= count {
            return made;
        }
        assert!(begun.elapsed() < Span::from_secs(60), "{} decisions", made.len());
        sleep(Span::from_millis(50));
    }
}

/// What to do with a queue.
#[derive(Clone, Copy, PartialEq)]
enum Queue {
    /// Size it for a use of 95 %.
    Sized,
    /// Only measure it, in a dry run.
    Left,
}

/// Runs four flows of CUBIC over a queue of so many packets until that many decisions have been made.
fn traffic(
    queue: Queue,
    first: u32,
    noise: bool,
    count: usize,
    then: impl FnOnce(&Path4, &Arc<AtomicBool>, &Path),
) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (path, stop) = (Path4::new(first), Arc::new(AtomicBool::new(false)));
    (0..4).for_each(|_| path.flow("cubic", &stop));
    if noise {
        path.noise(&stop);
    }
    let mut words = vec!["--utilisation", "0.95", "--set", "rtt=40 ms", "--set", "gain=0.1"];
    words.extend((queue == Queue::Left).then_some("--dry-run"));
    let _sizer = path.size(&log, &words);
    let made = until(&log, count);
    then(&path, &stop, &log);
    stop.store(true, Relaxed);
    made
}

#[test]
fn several_times_too_small_it_grows_to_its_target_and_follows_the_load() {
    needs_root!("several_times_too_small_it_grows_to_its_target_and_follows_the_load");
    // The same traffic over the same path, at the same time, without anybody who sizes the queue.
    let left = thread::spawn(|| later(&traffic(Queue::Left, 2, true, 140, |_, _, _| {}), 40));
    let mut with_bbr = [0.0; 4];
    let made = traffic(Queue::Sized, 2, true, 140, |path, stop, log| {
        // Four more flows of BBR, which fill any buffer: less of it does.
        (0..4).for_each(|_| path.flow("bbr", stop));
        with_bbr = later(&until(log, 170), 155);
    });
    let (alone, left) = (later(&made, 40), left.join().unwrap());
    eprintln!("used, lost, packets, wait: {alone:?}, with BBR {with_bbr:?}, left alone {left:?}");
    assert!(
        alone[2] > 5.0 && alone[2] < 60.0,
        "it has grown, and not too far: {alone:?}"
    );
    assert!((alone[0] - 0.95).abs() < 0.05, "on target: {alone:?}");
    assert!(
        left[0] < alone[0] - 0.05,
        "without it, less is used: {left:?}, {alone:?}"
    );
    assert!(with_bbr[0] > 0.9, "{with_bbr:?}");
    assert!(with_bbr[2] < alone[2], "less than {alone:?}: {with_bbr:?}");
}

/// How long it takes to the target is said in docs/concepts/adaptive-buffers.md.
#[test]
fn ten_times_too_large_it_shrinks_towards_its_target() {
    needs_root!("ten_times_too_large_it_shrinks_towards_its_target");
    let run = |queue| later(&traffic(queue, 100, false, 170, |_, _, _| {}), 140);
    let left = thread::spawn(move || run(Queue::Left));
    let (large, left) = (run(Queue::Sized), left.join().unwrap());
    eprintln!("used, lost, packets, wait: {large:?}, left alone {left:?}");
    assert!(large[2] < 60.0, "it has shrunk: {large:?}");
    assert!(large[0] > 0.9, "on its way there: {large:?}");
    assert!(
        left[3] > 1.3 * large[3],
        "without it, packets wait longer: {left:?}, {large:?}"
    );
}

/// It is the simulator's sizer: the log, done again, gives the same limits.
#[test]
fn a_log_done_again_decides_the_same() {
    needs_root!("a_log_done_again_decides_the_same");
    let directory = tempfile::tempdir().unwrap();
    for sizer in ["abs_log", "abs"] {
        let log = directory.path().join(sizer);
        let path = Path4::new(20);
        let stop = Arc::new(AtomicBool::new(false));
        (0..2).for_each(|_| path.flow("cubic", &stop));
        let sizing = path.size(&log, &["--utilisation", "0.9", "--loss", "0.01", "--sizer", sizer]);
        let made = until(&log, 15);
        stop.store(true, Relaxed);
        drop(sizing);
        let text = fs::read_to_string(&log).unwrap();
        let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let queue = &head["queues"][0];
        let table = serde_json::from_value(queue["buffer"][sizer].clone()).unwrap();
        let capacity = Rate::new(queue["capacity"].as_f64().unwrap()).unwrap();
        let mut again = AnySizer::new(&sizer_named(sizer, &table).unwrap(), &PortInfo { id: 1, capacity });
        let number = |d: &Value, name: &str| d[name].as_u64().unwrap();
        for decision in &made {
            again.on_interval(&Load {
                elapsed: Duration::from_ns(number(decision, "elapsed_ns")),
                admitted: Bytes::new(number(decision, "admitted")),
                dropped: Bytes::new(number(decision, "dropped")),
                sent: Bytes::new(number(decision, "sent")),
                queue: Bytes::new(number(decision, "queue")),
                packets: number(decision, "packets") as u32,
            });
            let limit = again.packets().floor() as u64 * u64::from(PACKET);
            assert_eq!(number(decision, "limit"), limit, "{decision}");
        }
        assert!(made.iter().any(|d| d["limit"] != d["before"]), "it decided something");
    }
}
