//! Command-line program `levelflow-net`, for tests.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Process that is killed at the end of the test.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Returns the path of `levelflow-net`. Cargo builds it before the tests. It is in the parent of the folder with the
/// test programs.
#[must_use]
pub fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("levelflow-net")
}

/// Returns a `levelflow-net` command with these arguments and a pipe for its output.
#[must_use]
pub fn net(args: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(args).stdout(Stdio::piped());
    command
}
