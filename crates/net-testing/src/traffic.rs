//! Path with a bottleneck and kernel traffic. `abs` sizes the queue at the bottleneck.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration as Span, Instant};

use crate::guard::Guard;
use levelflow_testbed::{End, Namespace, veth};
use serde_json::Value;

const SERVER: &str = "10.0.2.2:9001";
const LINE: f64 = 10e6;
/// Size of a packet on the wire, bytes.
pub const PACKET: u32 = 1514;

/// Sender, wire, router and receiver in a row. The router queues packets in front of a line of 10 Mb/s. The round-trip
/// time is 40 ms.
pub struct Path4 {
    sender: Namespace,
    router: Namespace,
    receiver: Namespace,
    _wire: (Namespace, Guard),
}

impl Path4 {
    /// Creates the path. The queue at the bottleneck holds `limit` packets.
    #[must_use]
    pub fn new(limit: u32) -> Self {
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
            crate::hosts::address(end(namespace, device), address);
        }
        sender.ip("route add default via 10.0.1.2").unwrap();
        receiver.ip("route add default via 10.0.2.1").unwrap();
        router.forward().unwrap();
        let tbf = format!(
            "qdisc replace dev r1 root handle 1: tbf rate 10mbit burst 4kb limit {}",
            limit * PACKET
        );
        router.tc(&tbf).unwrap();
        let mut link = Command::new(crate::program::path());
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

    /// Receives data of all connections, as long as the receiver's namespace exists.
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

    /// Starts a long flow. The flow ends when `stop` is set.
    pub fn flow(&self, law: &'static str, stop: &Arc<AtomicBool>) {
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
                let _ = flow.write(&vec![0; 1 << 16]);
            }
        });
        drop(thread.unwrap());
    }

    /// Starts noise: five short flows of 30 kB per second, and datagrams at 0.5 Mb/s.
    pub fn noise(&self, stop: &Arc<AtomicBool>) {
        let (short, datagrams) = (Arc::clone(stop), Arc::clone(stop));
        let transfers = move || {
            while !short.load(Relaxed) {
                if let Ok(mut flow) = TcpStream::connect(SERVER) {
                    let _ = flow.write_all(&vec![0; 30_000]);
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

    /// Starts `abs` on the queue. `abs` writes every decision to `log`.
    #[must_use]
    pub fn size(&self, log: &Path, more: &[&str]) -> Guard {
        let mut abs = Command::new(crate::program::path());
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

/// Returns four means over the decisions from index `from` on: utilisation, loss rate, limit in packets, and queueing
/// delay in s.
#[must_use]
pub fn later(decisions: &[Value], from: usize) -> [f64; 4] {
    let sum = |name: &str| decisions[from..].iter().map(|d| d[name].as_f64().unwrap()).sum::<f64>();
    let count = (decisions.len() - from) as f64;
    [
        sum("sent") * 8e9 / (LINE * sum("elapsed_ns")),
        sum("dropped") / (sum("admitted") + sum("dropped")),
        sum("limit") / count / f64::from(PACKET),
        sum("wait") / count,
    ]
}

/// Waits until the log has this number of decisions. Returns the decisions.
#[must_use]
pub fn until(log: &Path, count: usize) -> Vec<Value> {
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
