//! Process that receives SIGTERM, so that it can clean up.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Process that receives SIGTERM at the end of the test, even after a failure.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}
