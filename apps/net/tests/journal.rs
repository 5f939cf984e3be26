//! Tests that the replay of a log in the simulator gives the states that the law had on a real path.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use levelflow_sim::replay::{Replay, replay};

/// Command that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, words: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(words).current_dir(folder).env("XDG_RUNTIME_DIR", folder);
    Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Returns true if the command exits with success within ten seconds.
fn ended(running: &mut Running) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(status) = running.0.try_wait().unwrap() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn free_address() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().to_string()
}

fn of(path: &Path) -> Replay {
    let done = replay(&std::fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(done.difference, None, "{}", path.display());
    done
}

// **Invariant** (The data plane): the network runs the same law as the simulator. The replay of a log of a router or a
// sender gives the same headers and states, bit by bit. See `the_inputs_of_a_law_can_be_replayed`.
/// The log of a killed router is complete except for the last second.
#[test]
fn real_time_and_replay_agree_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    for law in ["jetmax", "rcp"] {
        let (relay, server) = (free_address(), free_address());
        let _recv = start(folder.path(), &["recv", &server, "--quiet"]);
        let route = [
            "router",
            "--relay",
            &relay,
            "--to",
            &server,
            "--capacity",
            "5 Mb/s",
            "--law",
            law,
        ];
        let mut router = start(
            folder.path(),
            &[&route[..], &["--quiet", "--journal", "router.log"]].concat(),
        );
        std::thread::sleep(Duration::from_millis(300));
        let flows = [
            "--law",
            law,
            "--flows",
            "2",
            "--time",
            "2 s",
            "--quiet",
            "--journal",
            "send.log",
        ];
        let mut send = start(folder.path(), &[&["send", &relay][..], &flows].concat());
        assert!(ended(&mut send), "{law}");
        router.0.kill().unwrap();
        let senders = of(&folder.path().join("send.log"));
        assert_eq!(senders.instances.len(), 2);
        assert!(
            senders.instances.iter().all(|one| one.headers > 20 && one.states > 1),
            "{senders:?}"
        );
        assert_eq!(senders.truncated_at, None);
        let router = of(&folder.path().join("router.log"));
        assert!(
            router.instances[0].headers > 20 && router.instances[0].states > 1,
            "{router:?}"
        );
    }
}
