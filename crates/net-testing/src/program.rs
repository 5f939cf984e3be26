//! `levelflow-net` as tests run it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program that goes with the test.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Where `levelflow-net` is: cargo builds it before its tests, one folder above them.
#[must_use]
pub fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("levelflow-net")
}

/// The program with these arguments, and a pipe for what it prints.
#[must_use]
pub fn net(args: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(args).stdout(Stdio::piped());
    command
}
