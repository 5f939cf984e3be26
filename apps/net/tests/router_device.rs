//! Tests of `levelflow-net router --dev` between two namespaces. Need root and a build with clang; skipped otherwise.

use levelflow_laws::LAWS;
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_net_testing::flows::{acks, flow};
use levelflow_net_testing::{COMPILED, privileged, skip};
use levelflow_scenario::settings;
use levelflow_testbed::Namespace;
use serde_json::Value;

/// Namespaces of the senders and of the receiver, with a veth pair between them.
struct Pair {
    here: Namespace,
    there: Namespace,
    router: Option<Child>,
}

impl Pair {
    fn new() -> Option<Self> {
        if !privileged("a router at a device") {
            return None;
        }
        if !COMPILED {
            skip(
                "a router at a device",
                "clang",
                "this build has no kernel router; install clang",
            );
            return None;
        }
        let (here, there) = (
            Namespace::new("lf-r-here").unwrap(),
            Namespace::new("lf-r-there").unwrap(),
        );
        here.ip(&format!("link add lf0 type veth peer name lf1 netns {}", there.path()))
            .unwrap();
        here.ip("addr add 10.9.7.1/24 dev lf0\nlink set lf0 up").unwrap();
        there.ip("addr add 10.9.7.2/24 dev lf1\nlink set lf1 up").unwrap();
        Some(Self {
            here,
            there,
            router: None,
        })
    }

    fn command(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
        command
            .arg("router")
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a `router` command until it ends; returns the exit status, standard output and standard error.
    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = self
            .here
            .spawn(Self::command(args))
            .unwrap()
            .wait_with_output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn status(&self) -> Value {
        let (_, out, _) = self.run(&["status", "--json"]);
        let all: Value = serde_json::from_str(&out).unwrap();
        let here = self.here.run(levelflow_host::pid_file::namespace).unwrap();
        let mut found = all
            .as_array()
            .unwrap()
            .iter()
            .filter(|s| s["namespace"] == here && s["place"] == "lf0");
        found.next().cloned().unwrap_or_default()
    }

    fn start(&mut self, args: &[&str]) {
        let all: Vec<&str> = ["--dev", "lf0", "--every", "100 ms", "--json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        self.router = Some(self.here.spawn(Self::command(&all)).unwrap());
        let begun = Instant::now();
        while self.status()["reading"]["law"].as_str().is_none_or(str::is_empty) {
            if begun.elapsed() > Span::from_secs(10) {
                let mut child = self.router.take().unwrap();
                let _ = child.kill();
                panic!("the router does not start: {:?}", child.wait_with_output());
            }
            sleep(Span::from_millis(20));
        }
    }

    /// Stops the router; returns its last reading.
    fn end(&mut self) -> Value {
        let (code, _, complaint) = self.run(&["detach", "--dev", "lf0"]);
        assert_eq!(code, Some(0), "{complaint}");
        let output = self.router.take().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_str(String::from_utf8(output.stdout).unwrap().lines().last().unwrap()).unwrap()
    }

    /// Installs a token bucket with this rate at the root of the device.
    fn shape(&self, rate: &str) {
        let mut tc = Command::new("tc");
        tc.args(format!("qdisc replace dev lf0 root tbf rate {rate} burst 16kb latency 50ms").split(' '));
        assert!(self.here.spawn(tc).unwrap().wait().unwrap().success());
    }

    /// Returns the number of Levelflow programs on the device.
    fn programs(&self) -> usize {
        let attached = || levelflow_router::kernel::attached("lf0").unwrap();
        usize::from(self.here.run(attached).unwrap())
    }
}

#[test]
fn the_router_follows_the_rate_of_its_token_bucket() {
    let Some(mut pair) = Pair::new() else { return };
    pair.shape("20mbit");
    pair.start(&["--law", "level"]);
    assert_eq!(pair.status()["reading"]["capacity"], 2e7);
    pair.shape("12mbit");
    let begun = Instant::now();
    while pair.status()["reading"]["capacity"] != 1.2e7 {
        assert!(begun.elapsed() < Span::from_secs(10), "{}", pair.status());
        sleep(Span::from_millis(20));
    }
    pair.end();
}

#[test]
fn jetmax_shares_a_device_fairly_and_drops_nothing() {
    let Some(mut pair) = Pair::new() else { return };
    pair.here
        .tc("qdisc add dev lf0 root tbf rate 12mbit burst 3000 limit 60000")
        .unwrap();
    let sets: Vec<String> = ["gamma=0.95", "interval=30 ms", "initial_rate=500 kb/s"]
        .map(str::to_owned)
        .into();
    let args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    pair.start(&args);
    let params = settings::params("jetmax", &sets).unwrap();
    let start = Instant::now();
    let (begin, end) = (start + Span::from_millis(2500), start + Span::from_millis(4500));
    let server = pair.there.run(|| UdpSocket::bind("10.9.7.2:0").unwrap()).unwrap();
    let to = server.local_addr().unwrap();
    let receiver = pair
        .there
        .thread("receiver", move || acks(&server, begin, end))
        .unwrap();
    let senders = [11, 22, 33].map(|number| {
        let params = params.clone();
        pair.here
            .thread("sender", move || flow(params, number, to, end))
            .unwrap()
    });
    let refused: u64 = senders
        .into_iter()
        .map(|s| s.join().unwrap().counters().refused.total())
        .sum();
    let bytes = receiver.join().unwrap();
    let rates = [11, 22, 33].map(|flow| bytes.get(&flow).copied().unwrap_or(0) as f64 * 8.0 / 2.0);
    let last = pair.end();
    assert!(
        rates.iter().all(|rate| (rate / 3.8e6 - 1.0).abs() < 0.05),
        "{rates:?} b/s, not 3.8 Mb/s; {last}"
    );
    assert_eq!(
        (last["dropped"].as_u64(), last["refused"].as_u64(), refused),
        (Some(0), Some(0), 0),
        "{last}"
    );
    assert_eq!(last["capacity"], 12e6);
    assert!(last["stamped"].as_u64() > Some(3000), "{last}");
}

#[test]
fn a_device_has_one_router_which_is_seen_and_detached() {
    let Some(mut pair) = Pair::new() else { return };
    let (code, _, complaint) = pair.run(&["--dev", "lf0"]);
    assert!(
        code == Some(2) && complaint.contains("--capacity") && complaint.lines().count() == 1,
        "{complaint}"
    );
    let (code, _, complaint) = pair.run(&["--dev", "lf9", "--capacity", "1 Mb/s"]);
    assert!(
        code == Some(2) && complaint.contains("lf9") && complaint.lines().count() == 1,
        "{complaint}"
    );
    let (code, _, complaint) = pair.run(&["--dev", "lf0", "--capacity", "1 Mb/s", "--law", "kelly"]);
    assert!(
        code == Some(2) && complaint.contains("jetmax") && complaint.lines().count() == 1,
        "{complaint}"
    );
    for law in LAWS
        .iter()
        .filter(|law| law.signalling.routers.kernel.is_some())
        .map(|law| law.name)
    {
        pair.start(&["--capacity", "10 Mb/s", "--law", law]);
        assert_eq!(pair.programs(), 1);
        let (code, _, complaint) = pair.run(&["--dev", "lf0", "--capacity", "1 Mb/s"]);
        assert!(code == Some(1) && complaint.contains("already"), "{complaint}");
        let last = pair.end();
        assert!(last["intervals"].as_u64() > Some(0), "{law}: {last}");
        assert_eq!(pair.programs(), 0);
        assert!(pair.status().is_null());
    }
    assert_eq!(pair.run(&["detach", "--dev", "lf0"]).0, Some(1));
}

#[test]
fn a_killed_router_leaves_nothing_that_stops_the_next() {
    let Some(mut pair) = Pair::new() else { return };
    pair.start(&["--capacity", "10 Mb/s"]);
    let mut child = pair.router.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(pair.status().is_null());
    pair.start(&["--capacity", "10 Mb/s", "--law", "rcp"]);
    assert_eq!(pair.end()["law"], "rcp");
}

#[test]
fn a_device_that_goes_down_may_come_back_and_one_that_is_gone_ends_the_router() {
    let Some(mut pair) = Pair::new() else { return };
    pair.start(&["--capacity", "10 Mb/s"]);
    pair.here.ip("link set lf0 down").unwrap();
    sleep(Span::from_millis(1200));
    assert!(!pair.status().is_null(), "it waits for the device");
    pair.here.ip("link set lf0 up").unwrap();
    sleep(Span::from_millis(1200));
    pair.here.ip("link del lf0").unwrap();
    let output = pair.router.take().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = said.lines().collect();
    assert!(
        lines.len() == 3 && lines[0].contains("down") && lines[1].contains("up") && lines[2].contains("gone"),
        "{said}"
    );
}
