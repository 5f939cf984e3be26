//! Tests that the commands of guides work when they are pasted into a shell.

use levelflow_net_testing::{needs_full, needs_kernel, needs_root};
use std::path::{Path, PathBuf};
use std::process::Command;

fn installed(program: &str) -> bool {
    let shown = Command::new(program).arg("--version").output();
    shown.is_ok_and(|output| output.status.success())
}

/// Returns the lines of all shell blocks. A block that needs another program is included if that program is installed.
fn script(page: &str) -> String {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```bash" => inside = true,
            "```" => inside = false,
            _ if line.starts_with("```bash ") => inside = installed(&line[8..]),
            _ if inside => lines.push(line),
            _ => {}
        }
    }
    lines.join("\n")
}

/// Pastes a guide into a root shell in a separate network. Returns the standard output of the shell, and its standard
/// output and standard error together.
fn paste(guide: &str) -> (String, String) {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let page = std::fs::read_to_string(root.join("docs/guides").join(guide)).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_levelflow-net"));
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = tempfile::tempdir().unwrap();
    let experiments = root.join("experiments").canonicalize().unwrap();
    std::os::unix::fs::symlink(experiments, folder.path().join("experiments")).unwrap();
    // Network namespaces are files in a private mount. They and all processes disappear with the shell.
    let script = format!(
        "mount -t tmpfs none /run && mkdir /run/netns && ip link set lo up && set -e -o pipefail && set -m\n{}",
        script(&page)
    );
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    shell.args(["timeout", "180", "bash", "-c", &script]);
    shell.env("PATH", format!("{}:{path}", binary.parent().unwrap().display()));
    shell.env("HOME", folder.path()).current_dir(folder.path());
    let output = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{all}");
    (printed, all)
}

#[test]
fn two_namespaces_and_a_router_work_as_pasted() {
    needs_kernel!("two_namespaces_and_a_router_work_as_pasted");
    let (printed, all) = paste("two-namespaces.md");
    let lost: Vec<u64> = printed
        .lines()
        .filter(|line| line.contains(" lost, "))
        .filter_map(|line| line.split("packets, ").nth(1)?.split(' ').next()?.parse().ok())
        .collect();
    assert!(lost.len() >= 2, "{all}");
    assert!(lost[0] > 1000, "constant rates overflow the buffer: {all}");
    // On an idle machine, jetmax loses no packets.
    assert!(lost[1] * 50 < lost[0], "jetmax loses almost no packets: {all}");
}

#[test]
fn a_slow_line_is_fixed_as_pasted() {
    needs_full!("a_slow_line_is_fixed_as_pasted");
    needs_root!("a_slow_line_is_fixed_as_pasted");
    let (printed, all) = paste("fix-a-slow-line.md");
    let grades: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("Grade ")).collect();
    assert_eq!(grades.len(), 2, "{all}");
    assert!(grades[0].starts_with("D: "), "{all}");
    assert!(grades[1].starts_with('A'), "{all}");
    assert_eq!(printed.matches(" RPM (").count(), 2, "{all}");
    assert!(
        printed.contains("tc qdisc replace dev DEVICE root cake bandwidth 3"),
        "{all}"
    );
    assert!(printed.contains("line.toml holds the line as a scenario"), "{all}");
}

#[test]
fn a_line_is_tested_for_l4s_as_pasted() {
    needs_full!("a_line_is_tested_for_l4s_as_pasted");
    needs_root!("a_line_is_tested_for_l4s_as_pasted");
    let (printed, all) = paste("l4s.md");
    assert_eq!(printed.matches("all ECN fields arrive").count(), 2, "{all}");
    // A stall of the machine can hide the step of one direction.
    assert!(printed.contains("L4S: a low-latency queue"), "{all}");
    for name in ["prague+dualpi2", "cubic+fq_codel", "bbr"] {
        assert!(
            printed.lines().any(|line| line.split(' ').next() == Some(name)),
            "{name}: {all}"
        );
    }
    assert!(printed.contains("packets were marked by queues (ECN)"), "{all}");
    assert!(printed.contains("dualpi2 for uploads"), "{all}");
}

#[test]
fn the_buffer_of_a_live_interface_is_sized_as_pasted() {
    needs_full!("the_buffer_of_a_live_interface_is_sized_as_pasted");
    needs_root!("the_buffer_of_a_live_interface_is_sized_as_pasted");
    let (printed, all) = paste("live-buffer.md");
    assert!(
        printed.contains("nothing is set") && printed.contains("(not set)"),
        "{all}"
    );
    assert!(
        printed.contains("its limit is 227.1 kB again"),
        "it has its limit again: {all}"
    );
    let last = printed.lines().find(|line| line.starts_with('{')).unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert!(
        last["limit"].as_u64() < Some(150_000),
        "it fell from 227100 bytes: {all}"
    );
}
