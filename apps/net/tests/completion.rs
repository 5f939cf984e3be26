//! Tests of shell completion for commands and options of `levelflow-net`.

use std::process::Command;

/// Returns the completions that bash offers for the last word.
fn offered(words: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_levelflow-net");
    let script = r#"source <("$0" completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _levelflow__net levelflow-net "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let done = Command::new("bash")
        .args(["-c", script, program])
        .args(words)
        .output()
        .expect("bash runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout)
        .expect("text")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_commands_and_options() {
    assert_eq!(offered(&["levelflow-net", "rou"]), ["router"]);
    assert_eq!(
        offered(&["levelflow-net", "router", "--cap"]),
        ["--capacity", "--capacity-from"]
    );
}

#[test]
fn the_version_names_the_kernel_router() {
    let done = Command::new(env!("CARGO_BIN_EXE_levelflow-net"))
        .arg("--version")
        .output()
        .expect("it runs");
    let said = String::from_utf8(done.stdout).expect("text");
    let answer = if levelflow_net_testing::COMPILED { "yes" } else { "no" };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], concat!("levelflow-net ", env!("CARGO_PKG_VERSION")));
    assert!(
        lines.len() == 3 && lines[1].starts_with(&format!("kernel router: {answer}")),
        "{said}"
    );
}

#[test]
fn a_shell_that_is_not_known_is_one_line() {
    let done = Command::new(env!("CARGO_BIN_EXE_levelflow-net"))
        .args(["completion", "csh"])
        .output()
        .expect("it runs");
    let said = String::from_utf8(done.stderr).expect("text");
    assert_eq!((done.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("bash"), "{said}");
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_levelflow-net");
    let written = Command::new(program)
        .arg("manual")
        .arg("--out")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let help = Command::new(program).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let names: Vec<_> = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .collect();
    assert!(names.len() > 9, "{help}");
    for line in names {
        let name = line.split_whitespace().next().unwrap();
        if name == "help" {
            continue;
        }
        let page = std::fs::read_to_string(folder.path().join(format!("levelflow-net-{name}.1"))).unwrap();
        assert!(page.contains("SYNOPSIS") && page.contains("\\-\\-help"), "{name}");
    }
}
