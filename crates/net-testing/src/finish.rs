//! Wait for the end of a program, with a time limit.

use std::process::{Child, Output};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits for a program and returns its output.
///
/// # Panics
/// If the program does not end within half a minute. The program is killed before the panic.
#[must_use]
pub fn finish(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    if let Ok(output) = receiver.recv_timeout(TIMEOUT) {
        output.unwrap()
    } else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("process {pid:?} does not end within {TIMEOUT:?}");
    }
}
