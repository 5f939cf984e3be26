//! Tests that `levelflow-net abs` meets targets of loss and of delay with traffic of the kernel's TCP. Need root;
//! skipped without it.

use levelflow_net_testing::{needs_full, needs_root};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use levelflow_net_testing::traffic::{Path4, later, until};

/// Number of decisions in a run, one per 0.2 s. Means are computed from the last `JUDGED` decisions.
const ALL: usize = 190;
const JUDGED: usize = 120;

/// Sends eight CUBIC flows over a queue of `first` packets, with short flows and datagrams as noise if requested.
/// Returns the means over the judged decisions.
fn judged(first: u32, noise: bool, words: &[&str]) -> [f64; 4] {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (path, stop) = (Path4::new(first), Arc::new(AtomicBool::new(false)));
    (0..8).for_each(|_| path.flow("cubic", &stop));
    if noise {
        path.noise(&stop);
    }
    let _algorithm = path.size(&log, &[&["--set", "rtt=40 ms", "--set", "gain=0.1"], words].concat());
    let made = until(&log, ALL);
    stop.store(true, Relaxed);
    later(&made, ALL - JUDGED)
}

/// Tests both targets in one function, so that their runs are concurrent.
#[test]
fn targets_of_loss_and_delay_are_met_from_ten_times_too_small_and_too_large() {
    needs_full!("targets_of_loss_and_delay_are_met_from_ten_times_too_small_and_too_large");
    needs_root!("targets_of_loss_and_delay_are_met_from_ten_times_too_small_and_too_large");
    let loss = &["--loss", "0.02"][..];
    let delay = &["--delay", "40 ms"][..];
    let dry = |target: &[&'static str]| [target, &["--dry-run"]].concat();
    let [lossy, lossy_left, slow, slow_left] = [
        (4, true, loss.to_vec()),
        (4, true, dry(loss)),
        (330, false, delay.to_vec()),
        (330, false, dry(delay)),
    ]
    .map(|(first, noise, words)| thread::spawn(move || judged(first, noise, &words)))
    .map(|run| run.join().unwrap());
    eprintln!("used, lost, packets, wait: loss {lossy:?}, left alone {lossy_left:?}");
    eprintln!("used, lost, packets, wait: delay {slow:?}, left alone {slow_left:?}");
    // About 400 packets should be lost in 24 s. Losses are clustered, so a random error of 10 % is possible. The size
    // of the buffer depends on the sum of all errors in loss, so the test of the size is more exact.
    assert!((lossy[1] / 0.02 - 1.0).abs() < 0.1, "lost: {lossy:?}");
    assert!(lossy[2] > 20.0, "it has grown: {lossy:?}");
    assert!(lossy_left[1] > 0.03, "without abs, more is lost: {lossy_left:?}");
    assert!((slow[3] / 0.04 - 1.0).abs() < 0.1, "wait: {slow:?}");
    assert!(slow[2] < 60.0, "it has shrunk: {slow:?}");
    assert!(slow_left[3] > 0.12, "without abs, packets wait longer: {slow_left:?}");
}
