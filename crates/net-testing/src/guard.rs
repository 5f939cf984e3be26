//! Programs that give back what they took before they go.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Told to stop when the test ends, however it does, so that it leaves nothing behind.
pub struct Guard(pub Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}
