//! System calls that no crate wraps safely: the only unsafe code here. One call each.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the child die with the thread that starts it, however that ends.
///
/// The kernel ties it to the *thread*, so start children on a thread that lives as long as they may.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let at_birth = move || {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        // It may have died before we asked.
        if nix::unistd::getppid().as_raw().cast_unsigned() == parent {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::BrokenPipe))
        }
    };
    // SAFETY: between fork and exec, only prctl and getppid run; both are async-signal-safe, and nothing is allocated.
    unsafe { command.pre_exec(at_birth) };
}

/// Lets timers of this thread end within nanoseconds of when they are due, instead of 50 us.
pub fn sharp_timers() {
    let _ = nix::sys::prctl::set_timerslack(1); // without it, timers are late and nothing else changes
}

/// Puts this thread before all ordinary ones (SCHED_FIFO, low priority).
///
/// # Errors
/// Without CAP_SYS_NICE or a limit on real-time priorities that permits it.
pub fn realtime() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: the pointer is to a live struct of the right type; 0 means this thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
