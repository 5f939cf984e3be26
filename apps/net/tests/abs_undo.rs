//! Tests of the state that a killed `levelflow-net abs` leaves, and of restoring it. Need root; skipped without it.

use levelflow_net_testing::needs_root;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_host::pid_file;
use levelflow_net_testing::device::with_device;
use levelflow_net_testing::finish::finish;
use levelflow_testbed::Namespace;

fn namespace() -> Namespace {
    let namespace = with_device("lf-d-undo");
    namespace
        .tc("qdisc replace dev lf0 root handle 1: pfifo limit 50")
        .unwrap();
    namespace
}

fn abs(max: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args([
        "abs",
        "--dev",
        "lf0",
        "--loss",
        "0.01",
        "--capacity",
        "1 Mb/s",
        "--max",
        max,
    ]);
    command.args(more).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn limit(namespace: &Namespace) -> String {
    let mut command = Command::new("tc");
    command.args(["qdisc", "show", "dev", "lf0"]);
    let said = namespace.output(command).unwrap();
    said.split("limit ").nth(1).unwrap_or_default().trim().to_owned()
}

/// Starts `abs`, kills it after it has set a limit of 9 packets, and returns the state file that it leaves.
fn killed(namespace: &Namespace) -> PathBuf {
    let mut child = namespace.spawn(abs("9 packets", &[])).unwrap();
    let begun = Instant::now();
    while limit(namespace) != "9p" {
        assert!(begun.elapsed() < Span::from_secs(10), "{}", limit(namespace));
        sleep(Span::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let path = || pid_file::path(&pid_file::directory(), levelflow_autobuf::ABS, "lf0", "undo");
    let left = namespace.run(path).unwrap();
    assert!(left.exists());
    left
}

fn short_run(namespace: &Namespace) -> Output {
    let run = namespace.spawn(abs("7 packets", &["--duration", "0.2 s"])).unwrap();
    finish(run)
}

// **Invariant** (The data plane): state of devices that no longer exist is discarded. It is never applied to a device
// that reuses the name. Changing a limit drops no queued packet. The simulator's algorithm code makes the decisions.
// See `a_limit_changes_and_no_packet_is_lost`, `a_log_done_again_decides_the_same`.
#[test]
fn a_vanished_namespace_needs_no_restore() {
    const NAME: &str = "a_vanished_namespace_needs_no_restore";
    needs_root!("a_vanished_namespace_needs_no_restore");
    if std::env::var_os("ALONE").is_none() {
        // In a separate process namespace, the test may inspect every process.
        let mut alone = Command::new("unshare");
        alone.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        alone.arg(std::env::current_exe().unwrap()).args(["--exact", NAME]);
        alone.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = finish(alone.env("ALONE", "1").spawn().unwrap());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let (first, second, third) = (namespace(), namespace(), namespace());
    let (gone, kept) = (killed(&first), killed(&second));
    let forged = killed(&third);
    // The third namespace gets the state file of the first, as if the numbers of namespace and device had been reused.
    fs::copy(&gone, &forged).unwrap();
    let file = fs::File::open(first.path()).unwrap();
    drop(first);
    assert!(short_run(&namespace()).status.success());
    assert!(gone.exists(), "its namespace is still open");
    drop(file);
    let output = short_run(&third);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{output:?}");
    assert_eq!(limit(&third), "9p", "a limit of unknown origin is left unchanged");
    assert!(!gone.exists() && !forged.exists(), "stale records stay for ever");
    assert!(
        kept.exists(),
        "a record of another namespace, which can still be restored"
    );
    let output = short_run(&second);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("its limit is 50 packets again"), "{output:?}");
    assert_eq!((limit(&second).as_str(), kept.exists()), ("50p", false));
}

#[test]
fn limits_of_a_killed_process_are_restored_by_the_next() {
    needs_root!("limits_of_a_killed_process_are_restored_by_the_next");
    let namespace = namespace();
    let left = killed(&namespace);
    let mut container = Command::new("unshare");
    container.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    container.arg(env!("CARGO_BIN_EXE_levelflow-net"));
    container.args(["abs", "--restore", "--dev", "lf0"]);
    container.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(namespace.spawn(container).unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("its limit is 50 packets again"),
        "{output:?}"
    );
    assert_eq!((limit(&namespace).as_str(), left.exists()), ("50p", false));
}

#[test]
fn what_cannot_be_read_is_named() {
    needs_root!("what_cannot_be_read_is_named");
    let namespace = namespace();
    let left = killed(&namespace);
    fs::write(&left, "{}").unwrap();
    let output = short_run(&namespace);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains(left.to_str().unwrap()) && said.lines().count() == 1,
        "{output:?}"
    );
    assert_eq!((limit(&namespace).as_str(), left.exists()), ("9p", false));
}
