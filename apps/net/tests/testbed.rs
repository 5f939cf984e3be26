//! Tests of the command `levelflow-net testbed`: results, early ends and invalid input. Need root; skipped without it.

use levelflow_net_testing::needs_root;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use levelflow_laws::{LAWS, LawInfo, Signal};
use levelflow_scenario::Scenario;
use levelflow_sim::Sim;
use serde_json::Value;

/// Lock held during each test. Tests measure time, so only one test may run at a time.
static ALONE: Mutex<()> = Mutex::new(());

const SCENARIO: &str = r#"
name = "two"
duration = "6 s"
[[link]]
from = "R1"
to = "R2"
capacity = "20 Mb/s"
delay = "5 ms"
buffer = "100 kB"
duplex = true
[[flow]]
name = "x1"
law = "jetmax"
from = "R1"
to = "R2"
[[flow]]
name = "x2"
law = "jetmax"
from = "R1"
to = "R2"
rtt = "40 ms"
"#;

fn testbed(dir: &Path, more: &[&str]) -> Command {
    fs::write(dir.join("two.toml"), SCENARIO).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command
        .current_dir(dir)
        .args(["testbed", "two.toml", "--out", "net"])
        .args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// Returns the number of a process's threads that are in another network namespace.
fn namespaces_of(process: u32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    tasks
        .filter_map(|task| fs::read_link(task.path().join("ns/net")).ok())
        .filter(|ns| *ns != own)
        .count()
}

fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(10), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn jetmax_on_a_real_path_shares_fairly_and_drops_nothing() {
    needs_root!("jetmax_on_a_real_path_shares_fairly_and_drops_nothing");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    // A stall of the machine causes a queue. With gamma = 0.9, the spare capacity drains it.
    let spare = ["--set", "law.jetmax.gamma=0.9", "--json"];
    let output = testbed(dir.path(), &spare).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counters: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counters, json(&dir.path().join("net/counters.json")));
    let bottleneck = &counters["links"][0];
    assert_eq!(
        (&bottleneck["dropped_packets"], &bottleneck["lost_packets"]),
        (&0.into(), &0.into())
    );
    assert!(
        bottleneck["queueing_delay_s"]["p99"].as_f64().unwrap() < 0.008,
        "{bottleneck}"
    );
    for (flow, base) in counters["flows"].as_array().unwrap().iter().zip([0.01, 0.04]) {
        assert_eq!(flow["sent_packets"], flow["delivered_packets"], "{flow}");
        let rtt = flow["rtt_s"]["p50"].as_f64().unwrap();
        assert!((base..base + 0.005).contains(&rtt), "{flow}");
        // The reverse path is idle, so the round-trip time and the forward delay have the same excess.
        let excess = flow["one_way_excess_s"]["p50"].as_f64().unwrap();
        assert!((excess - (rtt - base)).abs() < 1e-3, "{flow}");
        // Both flows start at once, and send slowly until they receive their fair rates.
        let rate = flow["delivered_bytes"].as_f64().unwrap() * 8.0 / 6.0;
        assert!((7e6..10.5e6).contains(&rate), "{rate}");
    }
    let manifest = json(&dir.path().join("net/manifest.json"));
    assert_eq!(manifest["status"], "complete");
    assert_eq!(manifest["network"]["form"], "user");
}

/// Each law with routers runs on a separate path. Without its router, a flow would keep its initial rate. This is at
/// most a third of its rate with a router.
#[test]
fn flows_of_every_law_of_routers_get_what_they_get_in_the_simulator() {
    needs_root!("flows_of_every_law_of_routers_get_what_they_get_in_the_simulator");
    get_what_they_get_in_the_simulator(|law| law.signalling.is_explicit());
}

#[test]
fn flows_of_every_law_of_hosts_get_what_they_get_in_the_simulator() {
    needs_root!("flows_of_every_law_of_hosts_get_what_they_get_in_the_simulator");
    get_what_they_get_in_the_simulator(|law| {
        !law.signalling.is_explicit() && !["reno", "cubic", "bbr"].contains(&law.name)
    });
}

fn get_what_they_get_in_the_simulator(which: impl Fn(&LawInfo) -> bool) {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let mut text = "name = 'laws'\nduration = '4 s'\n".to_owned();
    for law in LAWS.iter().filter(|law| which(law)) {
        let queue = if law.signal == Signal::Mark {
            "dualpi2"
        } else {
            "drop_tail"
        };
        let law = law.name;
        let ends = format!("from = '{law}-1'\nto = '{law}-2'\n");
        text += &format!("[[link]]\n{ends}capacity = '5 Mb/s'\ndelay = '5 ms'\nduplex = true\nqueue = '{queue}'\n");
        text += &format!("[[flow]]\n{ends}name = '{law}'\nlaw = '{law}'\n");
    }
    fs::write(dir.path().join("laws.toml"), &text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.current_dir(dir.path());
    let output = command
        .args(["testbed", "laws.toml", "--out", "net", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counters: Value = serde_json::from_slice(&output.stdout).unwrap();

    let scenario = Scenario::from_value(&Scenario::parse(&text).unwrap()).unwrap();
    let mut sim = Sim::new(scenario.resolve().unwrap().network);
    while !sim.advance(scenario.end(), 1_000_000).unwrap() {}
    let simulated = sim.summary().unwrap().flows;
    let measured = counters["flows"].as_array().unwrap();
    assert_eq!(measured.len(), simulated.len());
    for (flow, simulated) in measured.iter().zip(simulated) {
        let bytes = flow["delivered_bytes"].as_u64().unwrap();
        assert!(
            2 * bytes > simulated.delivered_bytes,
            "{bytes}, not {}: {flow}",
            simulated.delivered_bytes
        );
    }
}

/// The queue separates Prague's packets, which carry ECT(1), from other packets and marks them. The receiver returns
/// the marks to the sender.
#[test]
fn dualpi2_keeps_the_queue_of_prague_short_and_marks_instead_of_dropping() {
    needs_root!("dualpi2_keeps_the_queue_of_prague_short_and_marks_instead_of_dropping");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let queue = [
        "name=l4s",
        "link.1.queue=dualpi2",
        "flow.x1.law=prague",
        "flow.x2.law=prague",
    ];
    let changes = queue.map(|change| ["--set", change]).concat();
    let output = testbed(dir.path(), &[&changes[..], &["--json"]].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counters: Value = serde_json::from_slice(&output.stdout).unwrap();
    let link = &counters["links"][0];
    let number = |key: &str| link[key].as_f64().unwrap();
    assert!(number("utilisation") > 0.8, "{link}");
    assert!(
        number("marked_packets") > 100.0 && number("dropped_packets") == 0.0,
        "{link}"
    );
    assert!(link["queueing_delay_s"]["p50"].as_f64().unwrap() < 0.003, "{link}");
}

#[test]
fn a_stopped_testbed_completes_its_files() {
    needs_root!("a_stopped_testbed_completes_its_files");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let child = testbed(dir.path(), &["--set", "duration=60 s"]).spawn().unwrap();
    wait_for("a first part", || dir.path().join("net/manifest.json").exists());
    assert!(dir.path().join("net/flows.parquet/part-00000.parquet").is_file());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(line(&output).contains("stopped at"));
    assert_eq!(json(&dir.path().join("net/manifest.json"))["status"], "partial");
    assert!(dir.path().join("net/flows.parquet").is_file());
    assert!(dir.path().join("net/counters.json").is_file());
}

#[test]
fn killed_it_leaves_parts_and_no_namespace() {
    needs_root!("killed_it_leaves_parts_and_no_namespace");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let mut child = testbed(dir.path(), &["--set", "duration=60 s"]).spawn().unwrap();
    wait_for("a first part", || dir.path().join("net/manifest.json").exists());
    assert!(dir.path().join("net/flows.parquet/part-00000.parquet").is_file());
    assert!(namespaces_of(child.id()) >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(namespaces_of(child.id()), 0);
    assert_eq!(json(&dir.path().join("net/manifest.json"))["status"], "partial");
}

#[test]
fn kernel_tcp_fills_the_same_path() {
    needs_root!("kernel_tcp_fills_the_same_path");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let changes = ["--set", "flow.x1.law=cubic", "--set", "flow.x2.law=reno", "--json"];
    let output = testbed(dir.path(), &changes).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counters: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        counters["links"][0]["utilisation"].as_f64().unwrap() > 0.85,
        "{counters}"
    );
    assert!(counters["flows"][0]["rtt_s"]["p50"].as_f64().unwrap() > 0.01);
}

#[test]
fn each_law_has_a_row_and_a_result_of_its_own() {
    needs_root!("each_law_has_a_row_and_a_result_of_its_own");
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    // A stall of the machine causes a queue. With gamma = 0.9, the spare capacity drains it.
    let changes = ["duration=4 s", "law.jetmax.gamma=0.9"].map(|change| ["--set", change]);
    let more = [
        &["--each-law", "jetmax,cubic,cubic+codel", "--json"][..],
        &changes.concat(),
    ]
    .concat();
    let output = testbed(dir.path(), &more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (row, law) in rows.as_array().unwrap().iter().zip(["jetmax", "cubic", "cubic+codel"]) {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!(row["law"], law);
        assert!(
            number("throughput_bps") > 12e6 && number("throughput_bps") < 22e6,
            "{row}"
        );
        assert!(number("jain") >= 0.5 && number("jain") <= 1.0, "{row}");
        let flow = &json(&dir.path().join("net").join(law).join("manifest.json"))["scenario"]["flows"][1];
        assert_eq!(flow["law"], law.split('+').next().unwrap(), "{flow}");
    }
    let delay = |row: usize| rows[row]["queueing_delay_s"]["p50"].as_f64().unwrap();
    assert!(
        delay(1) > 2.0 * delay(0),
        "cubic fills the buffer, jetmax does not: {rows}"
    );
    assert!(delay(2) < delay(1) / 2.0, "codel shortens the queue of cubic: {rows}");
}

#[test]
fn impossible_scenarios_get_one_line_and_leave_no_files() {
    let dir = tempfile::tempdir().unwrap();
    for (change, part) in [
        ("flow.x9.law=rcp", "no entry 'x9'; did you mean 'x2'?"),
        ("link.1.capacity=fast", "capacity"),
    ] {
        let output = testbed(dir.path(), &["--set", change]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(line(&output).contains(part), "{}", line(&output));
    }
    let marks = ["link.1.queue=dualpi2", "law.cubic.ecn=true"].map(|change| ["--set", change]);
    let each = [&["--each-law", "jetmax,cubic"], &marks.concat()[..]].concat();
    let later = testbed(dir.path(), &each).output().unwrap();
    assert_eq!(later.status.code(), Some(2));
    assert!(line(&later).contains("marks (ecn)"), "{}", line(&later));
    assert!(!dir.path().join("net").exists());
}
