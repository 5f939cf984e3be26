//! The guide works as it is pasted.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

fn installed(program: &str) -> bool {
    let shown = Command::new(program).arg("--version").output();
    shown.is_ok_and(|output| output.status.success())
}

/// Lines of all blocks for a shell; those that need a further program, where it is installed.
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

#[test]
fn two_namespaces_and_a_router_work_as_pasted() {
    needs_root!("two_namespaces_and_a_router_work_as_pasted");
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let page = std::fs::read_to_string(root.join("docs/guides/two-namespaces.md")).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_levelflow-net"));
    let path = std::env::var("PATH").unwrap_or_default();
    // Names of namespaces are files of its own; they and all processes are gone when the shell is.
    let paste = format!(
        "mount -t tmpfs none /run && mkdir /run/netns && set -e -o pipefail && set -m\n{}",
        script(&page)
    );
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    shell.args(["timeout", "60", "bash", "-c", &paste]);
    shell.env("PATH", format!("{}:{path}", binary.parent().unwrap().display()));
    let output = shell.output().unwrap();
    let (printed, complaints) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let all = format!("{printed}\n{complaints}");
    assert!(output.status.success(), "{all}");
    let lost: Vec<u64> = printed
        .lines()
        .filter(|line| line.contains(" packets lost"))
        .filter_map(|line| line.split("; ").nth(1)?.split(' ').next()?.parse().ok())
        .collect();
    assert!(lost.len() >= 2, "{all}");
    assert!(lost[0] > 1000, "constant rates overflow the buffer: {all}");
    // None on a quiet machine; on a busy one, the router's word comes late at times.
    assert!(lost[1] * 50 < lost[0], "jetmax loses next to nothing: {all}");
}
