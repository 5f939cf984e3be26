//! A run on one thread or on several threads. The results are bit-identical.
//!
//! With several threads, the network is [cut](crate::cut) into parts, and each part is a simulation of its own. All
//! parts run for one time window. They then exchange the packets on links between parts. Samples are taken when all
//! parts have reached the same time. The number of threads depends on the distribution of load and the work per window,
//! not on a clock.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use derive_more::Display;
use levelflow_laws::{HeaderOf, Protocol, Signalling};
use levelflow_results::{Recorder, Summary};
use levelflow_scenario::Network;
use levelflow_units::{Duration, Time};

use crate::counters::Violation;
use crate::cut::{Cut, Nodes};
use crate::engine::{Crossing, Sim};
use crate::limit::LimitExceeded;

/// Number of events in the pilot run, which determines the number of threads.
const PILOT_EVENTS: u64 = 300_000;
/// Minimum speed-up. With less speed-up, the network is not cut.
const LEAST_GAIN: f64 = 1.2;
/// Approximate time per event, s. The first value applies if the network fits into the second-level cache of a
/// processor, the second value otherwise.
const PER_EVENT: [f64; 2] = [25e-9, 50e-9];
/// Size of the second-level cache of a processor, bytes.
const CACHE_BYTES: usize = 1_000_000;
/// Time in each window in which parts wait for each other, s.
const PER_WINDOW: f64 = 3e-6;
/// Time in each window for each link from one part to another, s.
const PER_EXIT: f64 = 10e-9;
/// Time to move a packet to another part, s.
const PER_CROSSING: f64 = 50e-9;
/// Ratio `slowest part/mean` of the work in a time window.
const IMBALANCE: f64 = 1.1;
/// Minimum number of events per window. With fewer events, the run uses one thread.
const MIN_EVENTS_PER_WINDOW: u64 = 200;
/// Number of events between checks of memory use.
const EVENTS_PER_MEMORY_CHECK: u64 = 1 << 20;
/// Iterations for which a waiting thread spins before it yields the processor.
const MAX_SPINS: u32 = 10_000;

/// Number of threads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// This number of threads, if the network can be cut into this number of parts.
    Exactly(usize),
    /// The fastest number of threads according to a pilot run. It is at most the number of processors.
    AsPays,
}

/// Division of a run among threads, or the reason for using one thread.
#[derive(Debug, Clone, PartialEq, Display)]
pub enum Division {
    /// One thread was requested, or the machine has one processor.
    #[display("one thread")]
    Whole,
    /// The network cannot be cut into the requested number of parts.
    #[display("one thread, since the network cannot be cut into enough parts")]
    Uncuttable,
    /// Windows contain too few events, or the run would end soon.
    #[display("one thread, since more would not be faster")]
    Unprofitable,
    /// One thread per part.
    #[display("{threads} threads, which exchange packets every {window}")]
    Parts {
        /// Number of threads.
        threads: usize,
        /// Simulated time between exchanges of packets.
        window: Duration,
    },
}

/// Interface of a run on any engine.
pub trait Running: Debug + Send + Sync {
    /// Returns the division among threads, or the reason for using one thread.
    fn division(&self) -> &Division;
    /// Returns the simulated time.
    fn now(&self) -> Time;
    /// Returns the number of events processed so far. Arrivals from hosts at idle links are not counted.
    fn events(&self) -> u64;
    /// Returns the number of links crossed so far, summed over all packets.
    fn packet_hops(&self) -> u64;
    /// Returns the memory used for packets, links and flows, bytes.
    fn memory(&self) -> usize;
    /// Returns the recorded results that the caller has not yet taken.
    fn recorder(&mut self) -> &mut Recorder;
    /// Records the unfinished transfers at the end of the run. The run must not continue afterwards.
    fn record_end(&mut self);
    /// Returns the counters up to now.
    ///
    /// # Errors
    /// Returns an error if a packet was counted twice or not at all. This is a bug in the simulator.
    fn summary(&mut self) -> Result<Summary, Violation>;
    /// Continues up to the time `until`, or until at least `budget` events have been processed. Returns true at the end
    /// of the run.
    ///
    /// # Errors
    /// Returns an error if flows and packets exceed the memory limit, or events exceed their limit. Earlier results can
    /// still be recorded and summarised.
    fn advance(&mut self, until: Time, budget: u64) -> Result<bool, LimitExceeded>;
    /// Returns the packets captured since the previous call, as pcapng.
    fn captured(&mut self) -> Vec<u8>;
}

/// Run in progress, on one thread or on several threads.
#[derive(Debug)]
pub struct ParallelRun<P: Protocol> {
    parts: Vec<Sim<P>>,
    division: Division,
    next_sample: Time,
    /// True if windows contain enough events for several threads.
    busy: bool,
}

impl<P: Protocol + Clone> ParallelRun<P>
where
    Sim<P>: Send + Sync,
    HeaderOf<P>: Send,
{
    /// Creates a run at time zero.
    #[must_use]
    pub fn new(network: Network<P>, threads: Threads) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        match threads {
            Threads::Exactly(0 | 1) => Self::whole(Sim::new(network), Division::Whole),
            Threads::AsPays if processors == 1 => Self::whole(Sim::new(network), Division::Whole),
            Threads::Exactly(n) => Self::exactly(network, n),
            Threads::AsPays => Self::as_pays(network, processors),
        }
    }

    /// Creates a run on one thread.
    #[must_use]
    pub fn whole(sim: Sim<P>, division: Division) -> Self {
        Self {
            parts: vec![sim],
            division,
            next_sample: Time::NEVER,
            busy: false,
        }
    }

    fn exactly(network: Network<P>, parts: usize) -> Self {
        match Cuts::of(&network, &pilot(&network)).best([parts]) {
            Some((_, cut)) => Self::divided(network, cut),
            None => Self::whole(Sim::new(network), Division::Uncuttable),
        }
    }

    fn as_pays(network: Network<P>, processors: usize) -> Self {
        let sim = pilot(&network);
        match Cuts::of(&network, &sim).best(doubled(processors)) {
            None => Self::whole(sim, Division::Uncuttable),
            Some((gain, cut)) if gain >= LEAST_GAIN && sim.events() >= PILOT_EVENTS => Self::divided(network, cut),
            Some(_) => Self::whole(sim, Division::Unprofitable),
        }
    }

    fn divided(network: Network<P>, cut: Cut) -> Self {
        let division = Division::Parts {
            threads: cut.parts(),
            window: cut.window(),
        };
        let (next_sample, cut) = (Time::ZERO + network.sample, Arc::new(cut));
        let part = |number| Sim::part(network.clone(), &cut, number);
        Self {
            parts: (0..cut.parts()).map(part).collect(),
            division,
            next_sample,
            busy: true,
        }
    }

    /// Runs all parts up to `stop`, until the run has processed `enough` events, or until the next memory check.
    /// Returns true if all parts have reached `stop`.
    fn run_to(&mut self, stop: Time, window: Duration, enough: u64) -> bool {
        let before = self.events();
        let threads = if self.busy { self.parts.len() } else { 1 };
        let shared = Shared::new(
            self.parts.len(),
            threads,
            (enough - before).min(EVENTS_PER_MEMORY_CHECK),
        );
        let mut next = Time::NEVER;
        for part in &mut self.parts {
            next = next.min(part.depart(Time::from_ps(1)));
        }
        let each = self.parts.len().div_ceil(threads);
        let rounds = std::thread::scope(|scope| {
            let mut chunks = self.parts.chunks_mut(each).enumerate();
            let first = chunks.next();
            let shared = &shared;
            for (k, parts) in chunks {
                scope.spawn(move || shared.work(parts, k * each, next, stop, window));
            }
            first.map_or(Rounds::default(), |(_, parts)| {
                shared.work(parts, 0, next, stop, window)
            })
        });
        self.busy = (self.events() - before) / rounds.windows.max(1) >= MIN_EVENTS_PER_WINDOW;
        if rounds.over {
            self.parts.iter_mut().for_each(|part| part.advance_to(stop));
        }
        rounds.over
    }
}

impl<P: Protocol + Clone> Running for ParallelRun<P>
where
    Sim<P>: Send + Sync,
    HeaderOf<P>: Send,
{
    fn division(&self) -> &Division {
        &self.division
    }

    fn now(&self) -> Time {
        self.parts[0].now()
    }

    fn events(&self) -> u64 {
        self.parts.iter().map(Sim::events).sum()
    }

    fn packet_hops(&self) -> u64 {
        self.parts.iter().map(Sim::packet_hops).sum()
    }

    fn memory(&self) -> usize {
        self.parts.iter().map(Sim::memory).sum()
    }

    fn recorder(&mut self) -> &mut Recorder {
        &mut self.parts[0].recorder
    }

    fn record_end(&mut self) {
        Sim::record_end_of(&mut self.parts);
    }

    fn summary(&mut self) -> Result<Summary, Violation> {
        Sim::summarise(&mut self.parts)
    }

    fn advance(&mut self, until: Time, budget: u64) -> Result<bool, LimitExceeded> {
        let Division::Parts { window, .. } = self.division else {
            return self.parts[0].advance(until, budget);
        };
        let (end, sample) = self.parts[0].times();
        let until = until.min(end);
        let enough = self.events().saturating_add(budget);
        while self.events() < enough {
            let second = self.parts[0].end_of_second();
            let stop = self.next_sample.min(until).min(second);
            let over = self.run_to(stop, window, enough);
            Sim::check_limits(&mut self.parts)?;
            if !over {
                continue;
            }
            if stop == self.next_sample {
                Sim::take_sample(&mut self.parts);
                Sim::check_limits(&mut self.parts)?;
                self.next_sample = stop + sample;
            }
            if stop == second && stop < until {
                Sim::next_second(&mut self.parts);
            }
            if stop == until && until < self.next_sample {
                if until == end {
                    Sim::finish(&mut self.parts);
                }
                return Ok(until == end);
            }
        }
        Ok(false)
    }

    fn captured(&mut self) -> Vec<u8> {
        let capture = self.parts[0].capture.as_mut(); // a run with a capture uses one thread
        capture.map(|capture| capture.take()).unwrap_or_default()
    }
}

/// Returns the numbers of threads to compare: the powers of two below `processors`, and `processors`.
fn doubled(processors: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(2), |n| Some(2 * n)).take_while(move |&n| n < processors);
    powers.chain(std::iter::once(processors))
}

/// Runs the undivided network long enough to measure the load of its links.
fn pilot<P: Protocol + Clone>(network: &Network<P>) -> Sim<P> {
    let mut sim = Sim::new(network.clone());
    // If the memory limit is exceeded here, it is also exceeded in the real run.
    let _ = sim.advance(Time::NEVER, PILOT_EVENTS);
    sim
}

/// Possible cuts of a network, and the load measured in a pilot run.
struct Cuts {
    nodes: Option<Nodes>,
    /// Number of packets that arrived at each link in the pilot run.
    loads: Vec<u64>,
    /// Events per simulated second.
    rate: f64,
    /// Time per event, s.
    per_event: f64,
}

impl Cuts {
    fn of<P: Protocol>(network: &Network<P>, pilot: &Sim<P>) -> Self {
        let simulated = (pilot.now() - Time::ZERO).as_secs_f64();
        Self {
            nodes: Nodes::of(network),
            loads: pilot.loads().collect(),
            rate: pilot.events() as f64 / simulated.max(f64::MIN_POSITIVE),
            per_event: PER_EVENT[usize::from(pilot.memory() > CACHE_BYTES)],
        }
    }

    /// Returns the cut with the largest speed-up, and the speed-up. `parts` lists the allowed numbers of parts.
    fn best(&self, parts: impl IntoIterator<Item = usize>) -> Option<(f64, Cut)> {
        let nodes = self.nodes.as_ref()?;
        let windows = nodes.windows();
        let of = |parts| {
            windows
                .iter()
                .filter_map(move |&window| nodes.cut(window, parts, &self.loads))
        };
        let gained = |cut: Cut| (self.gain(&cut), cut);
        let better = |a: &(f64, Cut), b: &(f64, Cut)| a.0.total_cmp(&b.0);
        let (gain, cut) = parts.into_iter().flat_map(of).map(gained).max_by(better)?;
        let refined = nodes.refined(&cut, &self.loads).map(gained);
        Some(refined.filter(|refined| refined.0 > gain).unwrap_or((gain, cut)))
    }

    /// Returns the estimated speed-up of a cut.
    fn gain(&self, cut: &Cut) -> f64 {
        let (largest, crossing) = cut.shares(&self.loads);
        let exits = cut.most_exits();
        let windows = 1.0 / cut.window().as_secs_f64();
        let work = self.rate * (self.per_event * largest * IMBALANCE + PER_CROSSING * crossing / cut.parts() as f64);
        self.rate * self.per_event / (work + windows * (PER_WINDOW + PER_EXIT * exits as f64))
    }
}

/// State shared by the threads of a run.
struct Shared<H> {
    parts: usize,
    barrier: Barrier,
    /// Packets from each part to each other part. Successive windows alternate between the two entries.
    boxes: [Vec<Mutex<Vec<Crossing<H>>>>; 2],
    /// Time of the next event of each part. Successive windows alternate between the two entries.
    next: [Vec<AtomicU64>; 2],
    /// Number of events that each part has processed. Successive windows alternate between the two entries.
    events: [Vec<AtomicU64>; 2],
    enough: u64,
}

/// Number of windows run, and the reason for the end.
#[derive(Debug, Default)]
struct Rounds {
    windows: u64,
    /// True if the parts have reached their stop time.
    over: bool,
}

impl<H: Send> Shared<H> {
    fn new(parts: usize, threads: usize, enough: u64) -> Self {
        let boxes = || (0..parts * parts).map(|_| Mutex::default()).collect();
        let numbers = || (0..parts).map(|_| AtomicU64::default()).collect();
        Self {
            parts,
            barrier: Barrier::new(threads),
            boxes: [boxes(), boxes()],
            next: [numbers(), numbers()],
            events: [numbers(), numbers()],
            enough,
        }
    }

    /// Runs consecutive parts window by window up to `stop`. The first part has the number `first`.
    fn work<P>(&self, parts: &mut [Sim<P>], first: usize, next: Time, stop: Time, window: Duration) -> Rounds
    where
        P: Protocol<Signalling: Signalling<Header = H>>,
    {
        let _guard = self.barrier.guard();
        let before: Vec<u64> = parts.iter().map(Sim::events).collect();
        let (mut next, mut events, mut rounds) = (next, 0, Rounds::default());
        while next <= stop && events < self.enough {
            let turn = (rounds.windows % 2) as usize;
            let end = next
                .saturating_add(window)
                .min(stop.saturating_add(Duration::from_ps(1)));
            for (k, part) in parts.iter_mut().enumerate() {
                self.run_window(part, first + k, turn, end);
                self.events[turn][first + k].store(part.events() - before[k], Ordering::Relaxed);
            }
            self.barrier.wait();
            for (k, part) in parts.iter_mut().enumerate() {
                for from in 0..self.parts {
                    part.accept(&mut self.of(turn, from, first + k).lock().expect("no thread has failed"));
                }
            }
            let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
            next = self.next[turn]
                .iter()
                .map(load)
                .min()
                .map_or(Time::NEVER, Time::from_ps);
            events = self.events[turn].iter().map(load).sum();
            rounds.windows += 1;
        }
        rounds.over = next > stop;
        rounds
    }

    fn run_window<P: Protocol<Signalling: Signalling<Header = H>>>(
        &self,
        part: &mut Sim<P>,
        number: usize,
        turn: usize,
        end: Time,
    ) {
        part.run_before(end);
        let next = part.depart(end);
        self.next[turn][number].store(next.as_ps(), Ordering::Relaxed);
        for to in 0..self.parts {
            let Some(outbox) = part.outbox(to) else { continue };
            if !outbox.is_empty() {
                std::mem::swap(
                    outbox,
                    &mut self.of(turn, number, to).lock().expect("no thread has failed"),
                );
            }
        }
    }

    fn of(&self, turn: usize, from: usize, to: usize) -> &Mutex<Vec<Crossing<H>>> {
        &self.boxes[turn][from * self.parts + to]
    }
}

/// Barrier between threads. Waiting threads spin because windows are short.
struct Barrier {
    threads: usize,
    waiting: AtomicUsize,
    round: AtomicUsize,
    failed: AtomicBool,
    /// Iterations for which a thread spins before it yields the processor.
    spins: u32,
}

/// Notifies the other threads if this thread panics.
struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Release);
        }
    }
}

impl Barrier {
    fn new(threads: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            spins: if threads <= processors { MAX_SPINS } else { 0 },
            threads,
            waiting: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    }

    fn guard(&self) -> Guard<'_> {
        Guard(self)
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.failed.load(Ordering::Acquire), "another part of the run failed");
            if spins < self.spins {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}
