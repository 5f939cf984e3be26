//! Wakes tasks and sends held answers on time: the runtime's own timers are a millisecond coarse.

use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use super::peer::Peer;

/// What to do.
pub(super) enum Job {
    /// Wake a task whose packet may leave.
    Wake(Waker),
    /// Send the answers that a peer still waits for.
    Answer(Weak<Peer>),
}

struct Entry {
    at: Instant,
    job: Job,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the largest, as the heap wants it.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.at.cmp(&self.at)
    }
}

#[derive(Default)]
struct Jobs {
    heap: BinaryHeap<Entry>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that does jobs when they are due; it ends when this is dropped.
pub(super) struct Timer {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Timer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Timer")
    }
}

impl Timer {
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        std::thread::Builder::new()
            .name("levelflow-timer".into())
            .spawn(move || run(&own))?;
        Ok(Self { shared })
    }

    pub fn at(&self, at: Instant, job: Job) {
        let mut jobs = self.shared.lock();
        let first = jobs.heap.peek().is_none_or(|entry| at < entry.at);
        jobs.heap.push(Entry { at, job });
        drop(jobs);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
    }
}

fn run(shared: &Shared) {
    // Sleeps end when they are due, not some 50 us later; where that is refused, they are late.
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
                match due.map(|entry| entry.job) {
                    Some(Job::Wake(waker)) => waker.wake(),
                    Some(Job::Answer(peer)) => {
                        if let Some(peer) = peer.upgrade() {
                            peer.send_answers();
                        }
                    }
                    None => {}
                }
                jobs = shared.lock();
            }
        }
    }
}
