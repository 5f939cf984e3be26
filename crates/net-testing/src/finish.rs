//! Ends that tests wait for, but not for ever.

use std::process::{Child, Output};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const LONGEST: Duration = Duration::from_secs(30);

/// What a program said until it ended.
///
/// # Panics
/// If it does not within half a minute; then it is killed.
#[must_use]
pub fn finish(child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    if let Ok(output) = told.recv_timeout(LONGEST) {
        output.unwrap()
    } else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("process {pid:?} does not end within {LONGEST:?}");
    }
}
