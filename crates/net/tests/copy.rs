//! `copy` and `serve` as people run them, killed and started again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const BIG: usize = 192 << 20;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_levelflow-net"))
}

/// A server that ends with this.
struct Serving {
    child: Child,
    address: String,
    key: String,
}

impl Serving {
    fn start(home: &Path, listen: &str, extra: &[&str]) -> Self {
        let mut command = program();
        command
            .arg("serve")
            .arg(home.join("served"))
            .args(["--listen", listen, "--quiet"]);
        command.arg("--key").arg(home.join("server.pem")).args(extra);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let at = lines.next().unwrap().unwrap();
        let key = lines.next().unwrap().unwrap();
        Self {
            child,
            address: at.rsplit(' ').next().unwrap().to_owned(),
            key: key.rsplit(' ').next().unwrap().to_owned(),
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.path("served")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn copy(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command
            .arg("copy")
            .args(arguments)
            .arg("--identity")
            .arg(self.path("client.pem"));
        command.arg("--known-hosts").arg(self.path("known"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Whether it succeeded, and its last word.
fn told(output: &Output) -> (bool, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn big(path: &Path) {
    let block: Vec<u8> = (0..1_u32 << 20)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(path, block.repeat(BIG >> 20)).unwrap();
}

/// Waits until something of a file has arrived, but not all.
fn under_way(part: &Path) {
    let start = Instant::now();
    while fs::metadata(part).map_or(0, |m| m.len()) < 4 << 20 {
        assert!(start.elapsed() < Duration::from_secs(30), "nothing arrives");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_copy_goes_on_after_either_side_was_killed() {
    let home = Home::new();
    big(&home.path("big"));
    fs::write(home.path("served/big"), "old").unwrap();
    let mut serving = Serving::start(home.0.path(), "127.0.0.1:0", &["--upload"]);
    let target = format!("{}/", serving.address);
    let source = home.path("big");
    let arguments = [
        source.to_str().unwrap(),
        &target,
        "--key",
        &serving.key.clone(),
        "--json",
    ];
    let part = home.path("served/.big.part");

    let mut client = home.copy(&arguments).spawn().unwrap();
    under_way(&part);
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(fs::read(home.path("served/big")).unwrap(), b"old");
    let arrived = fs::metadata(&part).unwrap().len();
    assert!(arrived < BIG as u64, "killed too late to show anything");

    let client = home.copy(&arguments).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    while fs::metadata(&part).is_ok_and(|m| m.len() < arrived + (4 << 20)) && start.elapsed() < Duration::from_secs(30)
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    serving.kill();
    // The client notices when nothing comes for 10 s; nobody has to wait for that.
    let mut client = client;
    client.kill().unwrap();
    client.wait().unwrap();
    let place = fs::read(home.path("served/big")).unwrap();
    assert!(
        place == b"old" || place.len() == BIG,
        "{} bytes are in place",
        place.len()
    );

    let listen = serving.address.clone();
    let _serving = Serving::start(home.0.path(), &listen, &["--upload"]);
    let (good, text) = told(&home.copy(&arguments).output().unwrap());
    assert!(good, "{text}");
    assert!(fs::read(&source).unwrap() == fs::read(home.path("served/big")).unwrap());
    let outcome: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(
        outcome["resumed"].as_u64().unwrap() >= arrived || outcome["skipped"] == 1,
        "{text}"
    );
    assert!(!part.exists());
}

#[test]
fn a_server_must_be_known_and_stay_the_same() {
    let home = Home::new();
    fs::write(home.path("served/f"), "text").unwrap();
    let mut serving = Serving::start(home.0.path(), "127.0.0.1:0", &[]);
    let source = format!("lf://{}/f", serving.address);
    let here = home.path("f");
    let arguments = [source.as_str(), here.to_str().unwrap()];
    let first = home.copy(&arguments).output().unwrap();
    let (_, text) = told(&first);
    assert_eq!(first.status.code(), Some(2), "{text}");
    assert!(
        text.contains(&serving.key) && text.contains("--trust-new") && !here.exists(),
        "{text}"
    );
    let trusting = [&arguments[..], &["--trust-new"]].concat();
    assert!(told(&home.copy(&trusting).output().unwrap()).0);
    fs::remove_file(&here).unwrap();
    assert!(told(&home.copy(&arguments).output().unwrap()).0, "it is known now");
    assert_eq!(fs::read(&here).unwrap(), b"text");
    let (good, text) = told(
        &home
            .copy(&[here.to_str().unwrap(), &format!("{}/g", serving.address)])
            .output()
            .unwrap(),
    );
    assert!(
        !good && text.contains("read-only") && text.lines().count() == 2,
        "{text}"
    );

    let listen = serving.address.clone();
    serving.kill();
    fs::remove_file(home.path("server.pem")).unwrap();
    let _other = Serving::start(home.0.path(), &listen, &[]);
    fs::remove_file(&here).unwrap();
    let changed = home.copy(&trusting).output().unwrap();
    let (_, text) = told(&changed);
    assert!(
        changed.status.code() == Some(2) && text.contains("does not have the key"),
        "{text}"
    );
    assert!(!here.exists());
}

#[test]
fn bad_input_is_one_line_and_exit_status_2() {
    let home = Home::new();
    let file = home.path("f");
    let file = file.to_str().unwrap();
    for arguments in [
        vec![file, "other"],
        vec!["h:1/a", "h:1/b"],
        vec!["h:1/a", "i:1/b", "."],
        vec!["h:1/../b", "."],
        vec!["nowhere.invalid:1/a", "."],
        vec!["127.0.0.1:1/a", ".", "--law", "cubic"],
        vec!["127.0.0.1:1/a", ".", "--set", "tua=1"],
        vec!["127.0.0.1:1/a", ".", "--key", "abc"],
        vec!["127.0.0.1:1/a", ".", "--max-rate", "fast"],
    ] {
        let output = home.copy(&arguments).output().unwrap();
        let (_, text) = told(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}
