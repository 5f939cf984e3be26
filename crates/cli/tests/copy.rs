//! Tests of the commands `copy` and `serve`, including kills and restarts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use levelflow_copy::{PROTOCOL, Server, ServerOptions};
use levelflow_quic::{Config, Endpoint, Trust};

const BIG: usize = 192 << 20;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_levelflow-net"))
}

/// Server that is terminated when dropped.
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

    /// Terminates the server, as Ctrl-C does.
    fn terminate(&mut self) {
        interrupt(&self.child);
        let _ = self.child.wait();
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

fn interrupt(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
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

/// Returns true if a command succeeded, and the text that it printed.
fn result_of(output: &Output) -> (bool, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn big(path: &Path) {
    let block: Vec<u8> = (0..1_u32 << 20)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(path, block.repeat(BIG >> 20)).unwrap();
}

/// Waits until 4 MiB of a file have arrived.
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
    // The client detects a dead server after 10 s. The test does not wait for this.
    let mut client = client;
    client.kill().unwrap();
    client.wait().unwrap();
    let place = fs::read(home.path("served/big")).unwrap();
    assert!(
        place == b"old" || place.len() == BIG,
        "{} bytes are at the destination",
        place.len()
    );

    let listen = serving.address.clone();
    let _serving = Serving::start(home.0.path(), &listen, &["--upload"]);
    let (good, text) = result_of(&home.copy(&arguments).output().unwrap());
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
    let (_, text) = result_of(&first);
    assert_eq!(first.status.code(), Some(2), "{text}");
    assert!(
        text.contains(&serving.key) && text.contains("--trust-new") && !here.exists(),
        "{text}"
    );
    let trusting = [&arguments[..], &["--trust-new"]].concat();
    assert!(result_of(&home.copy(&trusting).output().unwrap()).0);
    fs::remove_file(&here).unwrap();
    assert!(
        result_of(&home.copy(&arguments).output().unwrap()).0,
        "its key is stored now"
    );
    assert_eq!(fs::read(&here).unwrap(), b"text");
    let (good, text) = result_of(
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
    let (_, text) = result_of(&changed);
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
        let (_, text) = result_of(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

#[test]
fn a_lost_connection_is_made_again_and_what_arrived_is_used() {
    let home = Home::new();
    big(&home.path("big"));
    let mut serving = Serving::start(home.0.path(), "127.0.0.1:0", &["--upload"]);
    let (listen, key) = (serving.address.clone(), serving.key.clone());
    let (source, part) = (home.path("big"), home.path("served/.big.part"));
    let mut client = home.copy(&[source.to_str().unwrap(), &format!("{listen}/"), "--key", &key, "--json"]);
    let client = client.spawn().unwrap();
    under_way(&part);
    serving.terminate();
    let arrived = fs::metadata(&part).unwrap().len();
    assert!(arrived < BIG as u64, "ended too late to show anything");
    let _serving = Serving::start(home.0.path(), &listen, &["--upload"]);
    let output = client.wait_with_output().unwrap();
    let (good, text) = result_of(&output);
    assert!(
        good && text.contains("connection is lost") && text.contains("connected again"),
        "{text}"
    );
    let outcome: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(outcome["resumed"].as_u64().unwrap() >= arrived, "{text}");
    assert_eq!(outcome["files"], 1, "{text}");
    assert!(fs::read(&source).unwrap() == fs::read(home.path("served/big")).unwrap());
}

/// A server accepts a session, closes the connection at the first request, and works normally later.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_while_we_plan_is_made_again() {
    let home = Home::new();
    fs::write(home.path("served/f"), "text").unwrap();
    let server = Endpoint::bind(
        "127.0.0.1:0".parse().unwrap(),
        Config::new(PROTOCOL),
        Some(Trust::Anyone),
    )
    .unwrap();
    let (at, key) = (server.local_address().unwrap(), server.identity().fingerprint());
    let files = Server::new(&home.path("served"), ServerOptions::default()).unwrap();
    tokio::spawn(async move {
        let first = server.accept().await.unwrap().finish().await.unwrap();
        let (mut send, _receive) = first.quic().accept_bi().await.unwrap();
        send.write_all(b"\0\0\0\x06\"done\"").await.unwrap();
        let _asked = first.quic().accept_bi().await.unwrap();
        first.close();
        Arc::new(files).run(&server, |_| {}).await;
    });
    let (source, here) = (format!("{at}/f"), home.path("f"));
    let mut command = home.copy(&[&source, here.to_str().unwrap(), "--key", &key.to_string()]);
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    let (good, text) = result_of(&output);
    assert!(good && text.contains("connected again"), "{text}");
    assert_eq!(fs::read(here).unwrap(), b"text");
}

#[test]
fn without_retries_a_lost_connection_is_the_end() {
    let home = Home::new();
    big(&home.path("big"));
    let mut serving = Serving::start(home.0.path(), "127.0.0.1:0", &["--upload"]);
    let (source, target) = (home.path("big"), format!("{}/", serving.address));
    let mut command = home.copy(&[
        source.to_str().unwrap(),
        &target,
        "--key",
        &serving.key,
        "--retries",
        "0",
    ]);
    let client = command.spawn().unwrap();
    under_way(&home.path("served/.big.part"));
    serving.terminate();
    let output = client.wait_with_output().unwrap();
    let (_, text) = result_of(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("big: connection: "), "{text}");
}

/// The server detects a dead client after 10 s. The next client must not have to wait for this.
#[test]
fn an_interrupted_copy_lets_go_of_its_part_at_once() {
    let home = Home::new();
    big(&home.path("big"));
    let serving = Serving::start(home.0.path(), "127.0.0.1:0", &["--upload"]);
    let (source, target) = (home.path("big"), format!("{}/", serving.address));
    let mut command = home.copy(&[source.to_str().unwrap(), &target, "--key", &serving.key]);
    let client = command.spawn().unwrap();
    let part = home.path("served/.big.part");
    under_way(&part);
    interrupt(&client);
    let output = client.wait_with_output().unwrap();
    let (_, text) = result_of(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("repeat the command to resume") && text.lines().count() == 1,
        "{text}"
    );
    let (part, start) = (fs::File::open(part).unwrap(), Instant::now());
    while rustix::fs::flock(&part, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        assert!(
            start.elapsed() < Duration::from_secs(7),
            "the server still blocks the file"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn logs_of_both_ends_can_be_done_again() {
    let home = Home::new();
    fs::write(home.path("served/f"), vec![7; 3_000_000]).unwrap();
    let (server, client) = (home.path("server.log"), home.path("client.log"));
    let mut serving = Serving::start(
        home.0.path(),
        "127.0.0.1:0",
        &["--upload", "--journal", server.to_str().unwrap()],
    );
    let (here, there) = (home.path("f"), format!("{}/f", serving.address));
    let here = here.to_str().unwrap();
    let down = home.copy(&[&there, here, "--key", &serving.key]).output().unwrap();
    assert!(result_of(&down).0, "{}", result_of(&down).1);
    let up = [
        here,
        &format!("{there}2"),
        "--key",
        &serving.key,
        "--law",
        "xcp",
        "--journal",
    ];
    let up = home
        .copy(&[&up[..], &[client.to_str().unwrap()]].concat())
        .output()
        .unwrap();
    assert!(result_of(&up).0, "{}", result_of(&up).1);
    serving.terminate();
    for log in [server, client] {
        let done = levelflow_sim::replay::replay(&fs::read(&log).unwrap()).unwrap();
        assert_eq!(done.difference, None, "{}", log.display());
        let calls: u64 = done.instances.iter().map(|one| one.calls).sum();
        assert!(calls > 2000, "{}: {calls} calls", log.display());
    }
}

#[test]
fn both_families_of_addresses_are_served() {
    for (listen, host) in [("[::1]:0", "[::1]"), ("[::]:0", "[::1]"), ("[::]:0", "127.0.0.1")] {
        let home = Home::new();
        fs::write(home.path("served/f"), "text").unwrap();
        let serving = Serving::start(home.0.path(), listen, &["--upload", "--anyone"]);
        let port = serving.address.rsplit(':').next().unwrap();
        let (at, here) = (format!("{host}:{port}"), home.path("f"));
        let here = here.to_str().unwrap();
        let down = home
            .copy(&[&format!("{at}/f"), here, "--key", &serving.key])
            .output()
            .unwrap();
        assert!(result_of(&down).0, "{listen} from {host}: {}", result_of(&down).1);
        let up = home
            .copy(&[here, &format!("{at}/g"), "--key", &serving.key])
            .output()
            .unwrap();
        assert!(result_of(&up).0, "{listen} from {host}: {}", result_of(&up).1);
        assert_eq!(fs::read(home.path("served/g")).unwrap(), b"text");
    }
}

/// Returns a datagram of noise that begins like a shim, like QUIC, or like QUIC inside a shim.
fn garbage(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let length = random() as usize % 1500;
    let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
    let shim = [
        b'L',
        b'V',
        b'F',
        1,
        (seed % 4) as u8,
        0,
        (seed % 7) as u8,
        (seed % 40) as u8,
    ];
    let quic = [0xc0 | (seed % 64) as u8, 0, 0, 0, 1, 8];
    let begin = match seed % 4 {
        0 => Vec::new(),
        1 => shim.to_vec(),
        2 => quic.to_vec(),
        _ => [&shim[..], &[0; 36], &quic].concat(),
    };
    for (byte, new) in bytes.iter_mut().zip(begin) {
        *byte = new;
    }
    bytes
}

#[test]
fn garbage_does_not_disturb_a_server() {
    let home = Home::new();
    big(&home.path("served/big"));
    let serving = Serving::start(home.0.path(), "127.0.0.1:0", &[]);
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let here = home.path("here");
    let source = format!("{}/big", serving.address);
    let mut client = home
        .copy(&[&source, here.to_str().unwrap(), "--key", &serving.key])
        .spawn()
        .unwrap();
    let mut sent = 0;
    while client.try_wait().unwrap().is_none() || sent < 5000 {
        // This call may fail because of the server's reply to a datagram similar to QUIC. Sending continues.
        let _ = stranger.send_to(&garbage(sent), &serving.address);
        sent += 1;
        if sent % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (good, text) = result_of(&client.wait_with_output().unwrap());
    assert!(good, "{text}");
    assert!(fs::read(&here).unwrap() == fs::read(home.path("served/big")).unwrap());
    fs::remove_file(&here).unwrap();
    let (good, text) = result_of(
        &home
            .copy(&[&source, here.to_str().unwrap(), "--key", &serving.key])
            .output()
            .unwrap(),
    );
    assert!(good, "after {sent} of them: {text}");
}
