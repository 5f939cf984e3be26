//! Timer for jobs such as waking a task. Timers of the runtime have a resolution of only 1 ms.

use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Job of a timer.
pub(super) trait Job: Send + 'static {
    /// Runs the job.
    fn run(self);
}

struct TimerEntry<J> {
    at: Instant,
    job: J,
}

impl<J> PartialEq for TimerEntry<J> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl<J> Eq for TimerEntry<J> {}

impl<J> PartialOrd for TimerEntry<J> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<J> Ord for TimerEntry<J> {
    /// Orders the earliest job as the largest, for the heap.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.at.cmp(&self.at)
    }
}

struct Jobs<J> {
    heap: BinaryHeap<TimerEntry<J>>,
    stop: bool,
}

struct Shared<J> {
    jobs: Mutex<Jobs<J>>,
    changed: Condvar,
}

impl<J> Shared<J> {
    fn new() -> Self {
        let heap = BinaryHeap::new();
        Self {
            jobs: Mutex::new(Jobs { heap, stop: false }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs<J>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Thread that runs jobs when they are due. It ends when the timer is dropped.
pub(super) struct Timer<J> {
    shared: Arc<Shared<J>>,
}

impl<J> std::fmt::Debug for Timer<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Timer")
    }
}

impl<J: Job> Timer<J> {
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new());
        let own = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("levelflow-timer".into())
            .spawn(move || run(&own))?;
        Ok(Self { shared })
    }

    pub fn at(&self, at: Instant, job: J) {
        let mut jobs = self.shared.lock();
        let first = jobs.heap.peek().is_none_or(|entry| at < entry.at);
        jobs.heap.push(TimerEntry { at, job });
        drop(jobs);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl<J> Drop for Timer<J> {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
    }
}

fn run<J: Job>(shared: &Shared<J>) {
    // Removes the default timer slack, by which sleeps end 50 us late. If the system rejects this, sleeps stay late.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut jobs = shared.lock();
    while !jobs.stop {
        let now = Instant::now();
        match jobs.heap.peek().map(|entry| entry.at) {
            None => jobs = shared.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner),
            Some(at) if at > now => {
                let waited = shared.changed.wait_timeout(jobs, at - now);
                jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            Some(_) => {
                let due = jobs.heap.pop();
                drop(jobs);
                if let Some(entry) = due {
                    entry.job.run();
                }
                jobs = shared.lock();
            }
        }
    }
}
