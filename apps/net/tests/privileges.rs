//! Tests of the rights that commands keep while they run. Each command runs as root. The tests of each command verify
//! that it still works with these rights.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_host::privileges::{CapabilitySet, KERNEL_ROUTER};
use levelflow_net_testing::{COMPILED, needs_root};
use levelflow_testbed::Namespace;
use rustix::process::{Pid, Signal, kill_process};

/// Rights of a thread, as in `/proc/PID/task/TID/status`.
#[derive(Debug, PartialEq, Eq)]
struct Rights {
    name: String,
    capabilities: u64,
    is_filtered: bool,
}

fn threads(pid: u32) -> Vec<Rights> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let rights = status.map(|status| {
        let value = |key: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.unwrap_or_default().trim().to_owned()
        };
        let sets = ["CapInh", "CapPrm", "CapEff", "CapAmb"].map(|key| u64::from_str_radix(&value(key), 16).unwrap());
        Rights {
            name: value("Name"),
            capabilities: sets.into_iter().fold(0, |all, set| all | set),
            is_filtered: value("NoNewPrivs") == "1" && value("Seccomp") == "2",
        }
    });
    rights.collect()
}

/// Waits until all threads of a process are filtered, and returns their rights.
fn filtered(child: &Child) -> Vec<Rights> {
    let begun = Instant::now();
    loop {
        let found = threads(child.id());
        if !found.is_empty() && found.iter().all(|thread| thread.is_filtered) {
            return found;
        }
        assert!(begun.elapsed() < Span::from_secs(20), "{found:?}");
        sleep(Span::from_millis(20));
    }
}

fn start(namespace: &Namespace, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    namespace.spawn(command).unwrap()
}

/// Starts a command, and checks that its threads keep at most these capabilities. Then stops the command.
fn check(namespace: &Namespace, args: &[&str], allowed: CapabilitySet) {
    let child = start(namespace, args);
    for thread in filtered(&child) {
        assert_eq!(thread.capabilities & !allowed.bits(), 0, "{args:?}: {thread:?}");
    }
    sleep(Span::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn namespace() -> Namespace {
    let namespace = Namespace::new("lf-rights").unwrap();
    let lines = "link add lf0 type veth peer name lf1\n\
                 link add lf2 type veth peer name lf3\n\
                 link set lf0 up\nlink set lf1 up\nlink set lf2 up\nlink set lf3 up";
    namespace.ip(lines).unwrap();
    namespace
        .tc("qdisc replace dev lf0 root handle 1: tbf rate 1mbit burst 2000 limit 50000")
        .unwrap();
    namespace
}

// **Invariant** (The data plane): after a command of `levelflow-net` has opened what it needs, the threads that process
// packets can neither start programs nor open files, and have no capability that they do not use. See
// `a_thread_without_rights_starts_no_program_and_opens_no_file`.
#[test]
fn commands_keep_only_the_capabilities_that_they_use() {
    needs_root!("commands_keep_only_the_capabilities_that_they_use");
    let namespace = namespace();
    let metrics = ["--metrics", "127.0.0.1:0", "--quiet"];
    let relay = [
        "router",
        "--relay",
        "127.0.0.1:9000",
        "--to",
        "127.0.0.1:9001",
        "--capacity",
        "20 Mb/s",
    ];
    check(&namespace, &[&relay[..], &metrics].concat(), CapabilitySet::empty());
    if COMPILED {
        let device = ["router", "--dev", "lf2", "--capacity", "20 Mb/s"];
        check(&namespace, &[&device[..], &metrics].concat(), KERNEL_ROUTER);
    }
    let abs = ["abs", "--dev", "lf0", "--loss", "0.01"];
    check(&namespace, &[&abs[..], &metrics].concat(), CapabilitySet::NET_ADMIN);
    check(
        &namespace,
        &["link", "lf1", "lf3", "--rate", "10 Mb/s"],
        CapabilitySet::empty(),
    );
    let udp = CapabilitySet::NET_BIND_SERVICE | CapabilitySet::SYS_NICE;
    check(&namespace, &["recv", "127.0.0.1:9001", "--quiet"], udp);
    check(&namespace, &["probe", "--serve", "127.0.0.1:9002", "--quiet"], udp);
}

#[test]
fn workers_of_a_testbed_keep_only_the_capabilities_that_they_use() {
    needs_root!("workers_of_a_testbed_keep_only_the_capabilities_that_they_use");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args([
        "testbed",
        "../../scenarios/two-flows.toml",
        "--set",
        "duration=3 s",
        "--out",
    ]);
    command.arg(&out).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    let workers = ["links", "senders", "receivers"];
    loop {
        let found = threads(child.id());
        let of_packets = |thread: &&Rights| workers.contains(&&*thread.name) || thread.name.starts_with("ns ");
        let packets: Vec<_> = found.iter().filter(of_packets).collect();
        let has_all = workers
            .iter()
            .all(|name| packets.iter().any(|thread| thread.name == *name));
        if has_all && packets.iter().all(|thread| thread.is_filtered) {
            let allowed = CapabilitySet::SYS_NICE.bits();
            assert!(
                packets.iter().all(|thread| thread.capabilities & !allowed == 0),
                "{packets:?}"
            );
            break;
        }
        assert!(begun.elapsed() < Span::from_secs(30), "{found:?}");
        sleep(Span::from_millis(20));
    }
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(out.join("flows.parquet").exists());
}
