//! Tests that `levelflow-net abs` finds the buffer that meets its targets with traffic of the kernel's TCP. Need root;
//! skipped without it.

use levelflow_net_testing::{needs_full, needs_root};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use levelflow_net_testing::again::again;
use levelflow_net_testing::traffic::{PACKET, Path4, later, until};
use serde_json::Value;

/// Handling of a queue in the test.
#[derive(Clone, Copy, PartialEq)]
enum Queue {
    /// `abs` sizes the queue for a utilisation of 95 %.
    Sized,
    /// `abs` only measures the queue, in a dry run.
    Left,
}

/// Runs four CUBIC flows over a queue of `first` packets until `count` decisions have been made.
fn traffic(
    queue: Queue,
    first: u32,
    noise: bool,
    count: usize,
    then: impl FnOnce(&Path4, &Arc<AtomicBool>, &Path),
) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (path, stop) = (Path4::new(first), Arc::new(AtomicBool::new(false)));
    (0..4).for_each(|_| path.flow("cubic", &stop));
    if noise {
        path.noise(&stop);
    }
    let mut words = vec!["--utilisation", "0.95", "--set", "rtt=40 ms", "--set", "gain=0.1"];
    words.extend((queue == Queue::Left).then_some("--dry-run"));
    let _algorithm = path.size(&log, &words);
    let made = until(&log, count);
    then(&path, &stop, &log);
    stop.store(true, Relaxed);
    made
}

#[test]
fn several_times_too_small_it_grows_to_its_target_and_follows_the_load() {
    needs_full!("several_times_too_small_it_grows_to_its_target_and_follows_the_load");
    needs_root!("several_times_too_small_it_grows_to_its_target_and_follows_the_load");
    // For comparison, the same traffic runs at the same time over an equal path with a queue of fixed size.
    let left = thread::spawn(|| later(&traffic(Queue::Left, 2, true, 140, |_, _, _| {}), 40));
    let mut with_bbr = [0.0; 4];
    let made = traffic(Queue::Sized, 2, true, 140, |path, stop, log| {
        // Four additional BBR flows. They fill a buffer of any size, so a smaller buffer meets the target.
        (0..4).for_each(|_| path.flow("bbr", stop));
        with_bbr = later(&until(log, 170), 155);
    });
    let (alone, left) = (later(&made, 40), left.join().unwrap());
    eprintln!("used, lost, packets, wait: {alone:?}, with BBR {with_bbr:?}, left alone {left:?}");
    assert!(
        alone[2] > 5.0 && alone[2] < 60.0,
        "it has grown, and not too far: {alone:?}"
    );
    assert!((alone[0] - 0.95).abs() < 0.02, "on target: {alone:?}");
    assert!(
        left[0] < alone[0] - 0.05,
        "without abs, less is used: {left:?}, {alone:?}"
    );
    assert!(with_bbr[0] > 0.9, "{with_bbr:?}");
    assert!(with_bbr[2] < alone[2], "less than {alone:?}: {with_bbr:?}");
}

/// The convergence time is documented in docs/concepts/adaptive-buffers.md.
#[test]
fn far_too_large_it_shrinks_to_its_target() {
    needs_full!("far_too_large_it_shrinks_to_its_target");
    needs_root!("far_too_large_it_shrinks_to_its_target");
    let run = |queue| later(&traffic(queue, 100, false, 170, |_, _, _| {}), 140);
    let left = thread::spawn(move || run(Queue::Left));
    let (large, left) = (run(Queue::Sized), left.join().unwrap());
    eprintln!("used, lost, packets, wait: {large:?}, left alone {left:?}");
    assert!(large[2] < 20.0, "it has shrunk: {large:?}");
    assert!((large[0] - 0.95).abs() < 0.03, "to its target: {large:?}");
    assert!(
        left[3] > 10.0 * large[3],
        "without abs, packets wait longer: {left:?}, {large:?}"
    );
}

/// Verifies that the simulator's algorithm computes the same limits from the log.
#[test]
fn a_log_done_again_decides_the_same() {
    needs_root!("a_log_done_again_decides_the_same");
    let directory = tempfile::tempdir().unwrap();
    for algorithm in ["abs_log", "abs"] {
        let log = directory.path().join(algorithm);
        let path = Path4::new(20);
        let stop = Arc::new(AtomicBool::new(false));
        (0..2).for_each(|_| path.flow("cubic", &stop));
        let sizing = path.size(
            &log,
            &["--utilisation", "0.9", "--loss", "0.01", "--algorithm", algorithm],
        );
        let made = until(&log, 15);
        stop.store(true, Relaxed);
        drop(sizing);
        let mut decided = false;
        again(&fs::read_to_string(&log).unwrap(), 0, |decision, asked| {
            assert_eq!(decision["limit"], asked * u64::from(PACKET), "{decision}");
            decided |= decision["limit"] != decision["before"];
        });
        assert!(decided, "{made:?}");
    }
}
