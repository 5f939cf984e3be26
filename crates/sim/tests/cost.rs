//! Instructions per packet-hop: the instructions of a run divided by the number of links that packets cross.
//! Instruction counts, unlike times, are the same in each run.

use std::process::Command;

use levelflow_scenario::Scenario;
use levelflow_sim::{Threads, start};
use levelflow_units::Time;
use serde_json::{Value, json};

/// Expected instructions per packet-hop, for ten flows over one bottleneck of 100 Mb/s in a test build of `COMPILER`.
/// Three of the laws have their own engines. Update a number after an engine has improved, or if there is a reason for
/// more instructions.
const EXPECTED: [(&str, f64); 4] = [
    ("jetmax", 1344.0),
    ("rcp", 1342.0),
    ("newreno", 1366.0),
    ("xcp", 1346.0),
];
const COMPILER: &str = "rustc 1.95.";
const TOLERANCE: f64 = 0.04;
/// Durations of two runs, s. The difference between the runs excludes the instructions at start and end.
const SECONDS: [f64; 2] = [0.5, 1.5];
/// Environment variable with a law and seconds. If it is set, the test simulates instead of counting.
const WORK: &str = "LEVELFLOW_COST";

fn dumbbell(law: &str, seconds: f64) -> Value {
    let mut links = vec![
        json!({"from": "R0", "to": "R1", "capacity": "100 Mb/s", "delay": "15 ms", "buffer": "1 BDP", "duplex": true}),
    ];
    let mut flows = Vec::new();
    for i in 0..10 {
        let (source, sink) = (format!("s{i}"), format!("d{i}"));
        for (from, to) in [(source.as_str(), "R0"), ("R1", sink.as_str())] {
            links.push(
                json!({"from": from, "to": to, "capacity": "1 Gb/s", "delay": "5 ms", "duplex": true, "law": "none"}),
            );
        }
        let start = format!("{} us", 10_000 + 10_000 * i);
        flows.push(json!({"name": format!("x{i}"), "law": law, "from": source, "to": sink, "start": start}));
    }
    json!({"name": law, "profile": "paper", "duration": format!("{seconds} s"), "link": links, "flow": flows})
}

fn simulate(work: &str) {
    let (law, seconds) = work.split_once(' ').unwrap();
    let scenario = Scenario::from_value(&dumbbell(law, seconds.parse().unwrap())).unwrap();
    let mut run = start(scenario.resolve().unwrap().network, Threads::Exactly(1));
    assert!(run.advance(Time::from_ps(u64::MAX), u64::MAX).unwrap());
    println!("hops {}", run.packet_hops());
}

/// Returns the packet-hops of a run and the instructions of its process. This process runs the same test program.
fn counted(law: &str, seconds: f64) -> (f64, f64) {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["cost::", "--nocapture", "--test-threads=1"])
        .env(WORK, format!("{law} {seconds}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let after = |word: &str| text.split(word).nth(1)?.split_whitespace().next()?.parse::<f64>().ok();
    let found = after("hops ").zip(after("Collected :"));
    found.unwrap_or_else(|| panic!("{text}"))
}

fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_packet_hop_takes_as_many_instructions_as_before() {
    if let Ok(work) = std::env::var(WORK) {
        return simulate(&work);
    }
    let usual = cfg!(all(target_arch = "x86_64", debug_assertions)) && std::env::var_os("RUSTFLAGS").is_none();
    if !usual {
        return eprintln!("SKIPPED: the numbers are those of the usual build of tests");
    }
    if version("valgrind").is_none() {
        let required = std::env::var("LEVELFLOW_REQUIRE").unwrap_or_default();
        assert!(
            !required.contains("valgrind"),
            "LEVELFLOW_REQUIRE contains valgrind, which is not installed"
        );
        return eprintln!("SKIPPED: valgrind is not installed");
    }
    if !version("rustc").is_some_and(|version| version.starts_with(COMPILER)) {
        return eprintln!("SKIPPED: the numbers are those of {COMPILER}x");
    }
    let costs = EXPECTED.map(|(law, expected)| {
        let [short, long] = SECONDS.map(|seconds| counted(law, seconds));
        (law, expected, (long.1 - short.1) / (long.0 - short.0))
    });
    let within = |&(_, expected, cost): &(&str, f64, f64)| (cost / expected - 1.0).abs() <= TOLERANCE;
    assert!(costs.iter().all(within), "law, expected, counted: {costs:.1?}");
}
