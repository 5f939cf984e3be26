//! Tests of `levelflow-net probe` on emulated lines of known capacity, delay and buffer.

use levelflow_net_testing::hosts::address;
use levelflow_net_testing::link::Running;
use levelflow_net_testing::program::{Guard, net};
use levelflow_net_testing::{needs_full, needs_root};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use levelflow_link::control::Setting;
use levelflow_link::{Device, Link};
use levelflow_path::Settings;
use levelflow_scenario::{Scenario, queue_of};
use levelflow_testbed::{End, Namespace, veth};
use serde_json::Value;

fn settings(list: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in list {
        Setting::read(name, value).unwrap().apply(&mut settings);
    }
    settings
}

/// Namespaces of the client ("home"), of the reflector ("net"), and of the line between them.
struct Line {
    home: Namespace,
    net: Namespace,
    _middle: Namespace,
    _running: Running,
}

impl Line {
    fn new(up: &[(&str, &str)], down: &[(&str, &str)]) -> Self {
        Self::of(|ports| Link::new(ports, [settings(up), settings(down)], 1))
    }

    /// A line of 10 Mb/s with this queue discipline in both directions.
    fn with_queue(queue: &str) -> Self {
        let queue = queue_of(queue).unwrap();
        let line = settings(&[("rate", "10 Mb/s"), ("delay", "10 ms"), ("buffer", "250 kB")]);
        Self::of(|ports| Link::new(ports, [line; 2], 1).with_queues(&queue, 1))
    }

    fn of(link: impl FnOnce([Device; 2]) -> Link) -> Self {
        let [home, net, middle] = ["home", "net", "middle"].map(|name| Namespace::new(name).unwrap());
        for (host, device, far, last) in [(&home, "h0", "wh", 1), (&net, "n0", "wn", 2)] {
            let end = End {
                namespace: host,
                device,
            };
            let far = End {
                namespace: &middle,
                device: far,
            };
            veth(end, far, 1500).unwrap();
            address(end, [10, 0, 0, last]);
        }
        let ports = middle
            .run(|| [Device::open("wh").unwrap(), Device::open("wn").unwrap()])
            .unwrap();
        let running = Running::start(link(ports));
        Self {
            home,
            net,
            _middle: middle,
            _running: running,
        }
    }
}

/// Starts a reflector; returns it with its address.
fn serve(spawn: impl FnOnce(Command) -> std::process::Child, at: &str, more: &[&str]) -> (Guard, String) {
    let mut child = spawn(net(&[&["probe", "--serve", at], more].concat()));
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (
        Guard(child),
        line.trim().strip_prefix("listening at ").unwrap().to_owned(),
    )
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn near(found: &Value, truth: f64, part: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / truth - 1.0).abs() <= part, "{found} is not {truth}");
}

#[test]
fn an_emulated_line_is_measured_as_it_is_and_written_as_a_scenario() {
    needs_root!("an_emulated_line_is_measured_as_it_is_and_written_as_a_scenario");
    let line = Line::new(
        &[("rate", "4 Mb/s"), ("delay", "10 ms"), ("buffer", "130 kB")],
        &[("rate", "12 Mb/s"), ("delay", "10 ms"), ("buffer", "60 kB")],
    );
    let (_far, at) = serve(|command| line.net.spawn(command).unwrap(), "10.0.0.2:0", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("line.toml");
    let mut command = net(&["probe", &at, "--json", "--scenario", file.to_str().unwrap()]);
    command.stderr(Stdio::inherit());
    let output = line.home.spawn(command).unwrap().wait_with_output().unwrap();
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    near(&found["up"]["capacity_bps"], 4e6, 0.02);
    near(&found["down"]["capacity_bps"], 12e6, 0.02);
    near(&found["up"]["buffer_bytes"], 130e3, 0.05);
    near(&found["down"]["buffer_bytes"], 60e3, 0.08);
    near(&found["idle"]["median"], 0.0204, 0.05);
    // The buffers add 260 ms up and 40 ms down.
    near(&found["up"]["added_s"], 0.26, 0.05);
    near(&found["down"]["added_s"], 0.04, 0.15);
    assert_eq!(
        (&found["up"]["queue"], &found["grade"]),
        (&"drop_tail".into(), &"D".into()).clone()
    );
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("your buffers add "), "{sentence}");
    let text = std::fs::read_to_string(&file).unwrap();
    let scenario = Scenario::from_value(&Scenario::parse(&text).unwrap()).unwrap();
    assert!(text.contains(sentence), "{text}");
    scenario.resolve().unwrap();
}

#[test]
fn tcp_loads_both_directions_and_queues_are_simulated_on_the_line() {
    needs_root!("tcp_loads_both_directions_and_queues_are_simulated_on_the_line");
    let line = Line::new(
        &[("rate", "4 Mb/s"), ("delay", "10 ms"), ("buffer", "60 kB")],
        &[("rate", "12 Mb/s"), ("delay", "10 ms"), ("buffer", "60 kB")],
    );
    let (_far, at) = serve(|command| line.net.spawn(command).unwrap(), "10.0.0.2:0", &[]);
    let options = ["probe", &at, "--json", "--time", "5 s", "--tcp=reno", "--what-if"];
    let output = line.home.spawn(net(&options)).unwrap().wait_with_output().unwrap();
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tcp = &found["tcp"];
    assert_eq!(tcp["congestion_control"], "reno");
    // Payload, and the ACKs of the other direction, leave at most 95 % of each capacity.
    for (way, capacity) in [(0, 4e6), (1, 12e6)] {
        let goodput = tcp["goodput_bps"][way].as_f64().unwrap() / capacity;
        assert!((0.6..0.95).contains(&goodput), "{tcp}");
    }
    // The full buffer upstream takes 120 ms, and the one downstream 40 ms. Round trips take 20 to 180 ms then.
    let number = |key: &str| tcp[key].as_f64().unwrap();
    assert!((60.0 / 0.19..60.0 / 0.02).contains(&number("foreign")), "{tcp}");
    assert!(number("own") <= number("foreign"), "{tcp}");
    assert!(
        (number("rpm") - f64::midpoint(number("own"), number("foreign"))).abs() < 1e-6,
        "{tcp}"
    );
    let queues = found["what_if"].as_array().unwrap();
    let call = |row: usize| queues[row]["call_p50_s"].as_f64().unwrap();
    assert_eq!(queues[1]["queue"], "fq_codel");
    assert!(call(0) > 0.06 && call(1) < 0.03, "{queues:?}");
}

#[test]
fn the_low_latency_queue_of_a_real_line_is_found() {
    needs_full!("the_low_latency_queue_of_a_real_line_is_found");
    needs_root!("the_low_latency_queue_of_a_real_line_is_found");
    let line = Line::with_queue("dualpi2");
    let (_far, at) = serve(|command| line.net.spawn(command).unwrap(), "10.0.0.2:0", &[]);
    let output = line
        .home
        .spawn(net(&["probe", &at, "--json", "--time", "5 s", "--l4s"]))
        .unwrap();
    let output = output.wait_with_output().unwrap();
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for way in ["up", "down"] {
        let way = &found["l4s"][way];
        for field in 0..4 {
            let arrived = way["arrived"][field].as_array().unwrap();
            let right = arrived[field].as_u64().unwrap();
            assert!(
                right > 0 && arrived.iter().map(|count| count.as_u64().unwrap()).sum::<u64>() == right,
                "{way}"
            );
        }
        assert_ne!(way["marking"]["kind"], "none", "{way}");
        let added = |key: &str| way[key].as_f64().unwrap();
        assert!(added("added_ect1_s") < added("added_not_ect_s"), "{way}");
    }
}

#[test]
fn a_far_end_on_ipv6_needs_no_privileges() {
    let (_far, at) = serve(
        |mut command| command.spawn().unwrap(),
        "[::1]:0",
        &["--max-rate", "3 Mb/s"],
    );
    let (code, said, complaint) = run(net(&["probe", &at, "--time", "4 s", "--what-if"]));
    assert_eq!(code, Some(0), "{complaint}");
    assert_eq!(said.matches("at least ").count(), 2, "{said}");
    assert!(said.contains("Grade A"), "{said}");
    assert!(said.contains("No simulation") && !said.contains("tc "), "{said}");
}

// The probe may write to its open file only, not to the folder.
#[test]
fn a_scenario_is_written_to_the_file_that_was_opened_first() {
    let (_far, at) = serve(
        |mut command| command.spawn().unwrap(),
        "127.0.0.1:0",
        &["--max-rate", "3 Mb/s"],
    );
    let folder = tempfile::tempdir().unwrap();
    let [file, moved] = ["line.toml", "moved.toml"].map(|name| folder.path().join(name));
    let options = ["probe", &at, "--time", "4 s", "--scenario", file.to_str().unwrap()];
    let mut near = net(&options).stdout(Stdio::null()).spawn().unwrap();
    while !file.exists() {
        assert_eq!(near.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::fs::rename(&file, &moved).unwrap();
    std::fs::write(&file, "mine").unwrap();
    assert!(near.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    Scenario::parse(&std::fs::read_to_string(moved).unwrap()).unwrap();
}

#[test]
fn unmeasurable_lines_are_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there.toml");
    std::fs::write(&there, "mine").unwrap();
    let empty = folder.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    let [there, empty] = [&there, &empty].map(|path| path.to_str().unwrap());
    for (options, code, what) in [
        (&["127.0.0.1:9"] as &[&str], 1, "no reply"),
        (&["127.0.0.1:9", "--scenario", empty], 1, "no reply"),
        (&["nowhere"], 2, "HOST:PORT"),
        (&[], 2, "required"),
        (&["127.0.0.1:9", "--serve", ":1"], 2, "cannot be used"),
        (&["127.0.0.1:9", "--time", "1 s"], 2, "4 s to"),
        (&["127.0.0.1:9", "--max-rate", "0 b/s"], 2, "above zero"),
        (&["--serve", ":1", "--l4s"], 2, "cannot be used"),
        (&["127.0.0.1:9", "--tcp", "--max-rate", "1 Mb/s"], 2, "cannot be used"),
        (&["127.0.0.1:9", "--scenario", there], 2, "already exists"),
        (
            &["127.0.0.1:9", "--scenario", "/no/such/line.toml"],
            2,
            "no such directory",
        ),
    ] {
        let (found, said, complaint) = run(net(&[&["probe"], options].concat()));
        assert_eq!((found, said.as_str()), (Some(code), ""), "{options:?}: {complaint}");
        assert!(
            complaint.contains(what) && complaint.lines().count() == 1,
            "{complaint}"
        );
    }
    assert_eq!(std::fs::read_to_string(there).unwrap(), "mine");
}

#[test]
fn ctrl_c_ends_both_ends_at_once() {
    let (mut far, at) = serve(|mut command| command.spawn().unwrap(), "127.0.0.1:0", &[]);
    let mut near = net(&["probe", &at]).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    for child in [&mut near, &mut far.0] {
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    }
    let output = near.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(far.0.wait().unwrap().code(), Some(0));
}
