//! `levelflow-net` as tests run it.

use std::process::{Child, Command, Stdio};

/// A program that goes with the test.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

pub fn net(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(args).stdout(Stdio::piped());
    command
}
