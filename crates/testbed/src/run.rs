//! Execution of a planned testbed in real time: workers, samples and results. The run always cleans up, even after an
//! error.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration as Span, Instant};

use levelflow_laws::{Any, Opening, Protocol as _};
use levelflow_results::{Recorder, Recording};
use levelflow_scenario::{IdealPath, RoundTrip};
use levelflow_units::Time;
use serde_json::{Value, json};

use super::collect::{Collector, Totals};
use super::meter::{Counted, LinkTotal, Part, ReceivedTotal, Reports, Samples, SentTotal, Task};
use super::plan::{FlowPlan, KERNEL_LAWS, Plan};
use super::schedule::{Source, Start};
use super::{Chosen, Form, Lab, Setup, links, receivers, senders, streams, token_buckets};
use levelflow_host::Error;
use levelflow_host::clock::{Clock, span};
use levelflow_host::privileges::{CapabilitySet, KERNEL_ROUTER, PROCESSORS, Rights};
use levelflow_host::stop::Stop;

/// Interval between flushes to files. It limits the data lost when the process is killed.
const FLUSH_INTERVAL: Span = Span::from_secs(1);
/// Time without a report from a worker after which the run fails.
const WORKER_TIMEOUT: Span = Span::from_secs(10);
/// Limit on the number of TCP connections of a flow entry.
const MOST_STREAMS: usize = 64;
/// Size of the TCP header with time stamps minus the size of the UDP header, bytes.
const TCP_BEYOND_UDP: u64 = 32 - 8;
/// Capabilities of workers, which raise their priority.
const OF_WORKERS: CapabilitySet = CapabilitySet::SYS_NICE;
/// Capabilities of workers with routers in the kernel.
const OF_KERNEL_WORKERS: CapabilitySet = OF_WORKERS.union(KERNEL_ROUTER);
/// Longest wait for packets that are still in flight after the end of the run.
const LONGEST_DRAIN: Span = Span::from_secs(3);

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Directory of the results.
    pub path: PathBuf,
    /// Time up to which the results are complete, s.
    pub until_s: f64,
    /// True if the run was stopped before its end.
    pub stopped: bool,
    /// Throughput of each flow entry up to `until_s`, bit/s.
    pub throughput_bps: Vec<f64>,
    /// Delivery rate of each flow entry in the second half of the run, bit/s.
    pub later_bps: Vec<f64>,
    /// Counters, as in `counters.json`.
    pub counters: Value,
}

/// Worker that returns its totals at the end.
type Worker<T> = JoinHandle<Counted<T>>;

struct Workers {
    links: Vec<Worker<LinkTotal>>,
    /// Workers of kernel queues.
    token_buckets: Vec<Worker<LinkTotal>>,
    senders: Vec<Worker<SentTotal>>,
    receivers: Vec<Worker<ReceivedTotal>>,
    /// Stop flag of the senders. Senders stop before other workers.
    quiet: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

/// Builds the testbed of a scenario, runs it, and writes its results to a directory. Passes the progress to a callback,
/// in seconds.
///
/// # Errors
/// When the testbed cannot be built, or a worker fails. The directory then contains the measurements up to the failure.
pub fn run(
    chosen: &Chosen,
    plan: &Plan,
    scale: f64,
    out: &Path,
    stop: &Stop,
    mut report: impl FnMut(f64),
) -> Result<Outcome, Error> {
    let network = &chosen.resolved.network;
    let samples = Samples::new(network.sample, Time::ZERO + network.duration);
    let lab = Lab::build(plan)?;
    let ready = Ready::new(chosen, plan, &lab)?;
    lab.drop_rights()?;
    let mut recording = Recording::new(out, manifest(chosen, plan.setup, scale), None).map_err(of_results)?;
    let text = toml::to_string(&chosen.raw).map_err(|e| Error::failed(format!("scenario.toml: {e}")))?;
    recording.keep("scenario.toml", &text).map_err(of_results)?;
    let (reports, parts) = mpsc::channel();
    let workers = ready.start(Clock::start(), samples, &reports)?;
    drop(reports);
    let mut watch = Watch {
        collector: Collector::new(samples, workers.count(), &chosen.resolved),
        recorder: Recorder::default(),
        until: 0.0,
        end: network.duration.as_secs_f64(),
        patience: WORKER_TIMEOUT + span(network.sample),
    };
    let finished = watch.follow(&parts, &workers, &mut recording, stop, &mut report);
    let stopped = stop.within(Span::ZERO);
    let longest = plan.flows.iter().map(|f| span(f.rtt)).max().unwrap_or_default();
    let drain = (longest + Span::from_millis(200)).min(LONGEST_DRAIN);
    let complete = matches!(finished, Ok(true));
    let totals = workers.end(if complete { drain } else { Span::ZERO });
    finished?;
    let failure = totals.as_ref().err().map(ToString::to_string);
    let totals = totals.unwrap_or_default();
    totals.record_end(&mut watch.recorder);
    recording.append(&mut watch.recorder);
    let counters = totals.counters(&chosen.resolved, watch.until, watch.collector.carried());
    recording.keep_json("counters.json", &counters).map_err(of_results)?;
    let whole = complete && failure.is_none();
    recording.finish(watch.until, whole).map_err(of_results)?;
    let path = recording.commit().map_err(of_results)?;
    match failure {
        Some(problem) => Err(Error::Failed(problem)),
        None if !complete && !stopped => Err(Error::failed(
            "a part of the testbed stopped reporting; the results end there",
        )),
        None => Ok(Outcome {
            path,
            until_s: watch.until,
            stopped,
            throughput_bps: watch.collector.throughput_bps(),
            later_bps: watch.collector.later_bps(),
            counters,
        }),
    }
}

/// Monitor of a run.
struct Watch {
    collector: Collector,
    recorder: Recorder,
    /// Time up to which the tables are complete, s.
    until: f64,
    end: f64,
    patience: Span,
}

impl Watch {
    /// Records the workers' reports. Returns true at the end of the run, and false after a stop or if a worker no
    /// longer reports.
    fn follow(
        &mut self,
        parts: &mpsc::Receiver<(u64, Part)>,
        workers: &Workers,
        recording: &mut Recording,
        stop: &Stop,
        report: &mut impl FnMut(f64),
    ) -> Result<bool, Error> {
        let (mut last_sample, mut flushed) = (Instant::now(), Instant::now());
        while self.until < self.end {
            if stop.within(Span::ZERO) {
                return Ok(false);
            }
            match parts.recv_timeout(Span::from_millis(50)) {
                Ok((number, part)) => {
                    last_sample = Instant::now();
                    if let Some(t) = self.collector.add(number, part, &mut self.recorder) {
                        self.until = t;
                        report(t);
                        recording.append(&mut self.recorder);
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(false),
                Err(mpsc::RecvTimeoutError::Timeout) if workers.any_over() || last_sample.elapsed() > self.patience => {
                    return Ok(false);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if flushed.elapsed() > FLUSH_INTERVAL {
                flushed = Instant::now();
                recording.flush(self.until).map_err(of_results)?;
            }
        }
        Ok(true)
    }
}

/// Workers that are ready to start, with sockets and devices open.
struct Ready {
    links: Vec<links::Link>,
    token_buckets: Vec<token_buckets::TokenBucket>,
    senders: Vec<senders::SenderEntry>,
    receivers: Vec<receivers::ReceiverEntry>,
    streams: Vec<streams::StreamEntry>,
    sinks: Vec<streams::Listening>,
}

impl Ready {
    fn new(chosen: &Chosen, plan: &Plan, lab: &Lab) -> Result<Self, Error> {
        let network = &chosen.resolved.network;
        let mut ready = Self {
            links: lab.workers(plan, &network.links, network.seed)?,
            token_buckets: match plan.setup.form {
                Form::User => Vec::new(),
                Form::Kernel => lab.token_buckets(plan, &network.links)?,
            },
            senders: Vec::new(),
            receivers: Vec::new(),
            streams: Vec::new(),
            sinks: Vec::new(),
        };
        let end = Time::ZERO + network.duration;
        for (number, (spec, flow)) in network.flows.iter().zip(&plan.flows).enumerate() {
            let route = spec.routes.first();
            let [links_forward, links_back] = route.delays(&network.links);
            let back = flow.rtt.saturating_sub(flow.forward);
            let handshake = Any::transport(&spec.params).opening == Opening::Handshake;
            let source = Source {
                number,
                spec,
                framing: flow.framing(spec),
                path: IdealPath::new(&network.links, route, spec.control, handshake),
                hosts: RoundTrip {
                    total: flow.rtt,
                    forward: flow.forward.saturating_sub(links_forward),
                    reverse: back.saturating_sub(links_back),
                },
            };
            let starts: VecDeque<_> = source.starts(network.seed, end)?.into();
            if KERNEL_LAWS.contains(&spec.params.law().name) {
                ready.add_stream(&source, flow, starts, lab)?;
                continue;
            }
            let [sender, receiver] = lab.udp(flow, Any::transport(&spec.params))?;
            ready.receivers.push(receivers::ReceiverEntry {
                number,
                around: flow.around(),
                headers: source.framing.headers.get(),
                socket: receiver,
                forward: flow.forward,
                retransmits: spec.reliable || Any::transport(&spec.params).tracks_losses,
            });
            ready.senders.push(senders::SenderEntry {
                number,
                params: spec.params.clone(),
                framing: source.framing,
                around: flow.around(),
                control: spec.control,
                reliable: spec.reliable,
                socket: sender,
                starts,
                back,
                route: route.clone(),
                application: spec.application.clone(),
                seed: network.seed,
                name: spec.name.clone(),
            });
        }
        Ok(ready)
    }

    fn add_stream(
        &mut self,
        source: &Source<'_>,
        flow: &FlowPlan,
        starts: VecDeque<Start>,
        lab: &Lab,
    ) -> Result<(), Error> {
        let &Source {
            number, spec, framing, ..
        } = source;
        let (law, packet, payload) = (spec.params.law().name, framing.packet.get(), framing.payload().get());
        let around = flow.around() + TCP_BEYOND_UDP;
        if starts.len() > MOST_STREAMS {
            let problem = format!("{} flows of the kernel's TCP; allowed: {MOST_STREAMS}", starts.len());
            return Err(Error::input(format!("flow {}: {problem}", spec.name)));
        }
        let listener = lab.listener(flow)?;
        let to = listener.local_addr().map_err(Error::failed)?;
        let with_socket = |start| Ok((start, lab.tcp(flow, law, packet)?));
        let starts = starts.into_iter().map(with_socket).collect::<Result<_, Error>>()?;
        self.sinks.push(streams::Listening {
            number,
            packet,
            around,
            payload,
            listener,
        });
        self.streams.push(streams::StreamEntry {
            number,
            packet,
            around,
            payload,
            to,
            starts,
            back: flow.rtt.saturating_sub(flow.forward),
        });
        Ok(())
    }

    fn start(self, clock: Clock, samples: Samples, reports: &Reports) -> Result<Workers, Error> {
        let (quiet, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let task = |until: &Arc<AtomicBool>| Task {
            clock,
            samples,
            reports: reports.clone(),
            stop: Arc::clone(until),
        };
        let mut workers = Workers {
            links: vec![start("links", self.links, task(&stop), OF_WORKERS, links::run)?],
            senders: Vec::new(),
            receivers: Vec::new(),
            token_buckets: Vec::new(),
            quiet: Arc::clone(&quiet),
            stop: Arc::clone(&stop),
        };
        if !self.token_buckets.is_empty() {
            let worker = start(
                "token buckets",
                self.token_buckets,
                task(&stop),
                OF_KERNEL_WORKERS,
                token_buckets::run,
            )?;
            workers.token_buckets.push(worker);
        }
        if !self.senders.is_empty() {
            let senders = start("senders", self.senders, task(&quiet), OF_WORKERS, senders::run)?;
            workers.senders.push(senders);
            let receivers = start("receivers", self.receivers, task(&stop), OF_WORKERS, receivers::run)?;
            workers.receivers.push(receivers);
        }
        if !self.streams.is_empty() {
            let streams = start("streams", self.streams, task(&quiet), OF_WORKERS, streams::send)?;
            workers.senders.push(streams);
            let sinks = start("sinks", self.sinks, task(&stop), OF_WORKERS, streams::receive)?;
            workers.receivers.push(sinks);
        }
        Ok(workers)
    }
}

/// Starts a worker on a new thread. Workers process packets and have opened what they need, so they keep only these
/// capabilities.
fn start<E: Send + 'static, T: Send + 'static>(
    name: &str,
    entries: Vec<E>,
    task: Task,
    capabilities: CapabilitySet,
    run: fn(Vec<E>, Task) -> Counted<T>,
) -> Result<Worker<T>, Error> {
    let thread = Builder::new().name(name.to_owned());
    let started = thread.spawn(move || {
        let reads: [&Path; 1] = [PROCESSORS.as_ref()];
        let rights = Rights {
            capabilities,
            reads: &reads,
            ..Rights::default()
        };
        rights.keep_only()?;
        run(entries, task)
    });
    started.map_err(|e| Error::failed(format!("cannot start a thread: {e}")))
}

impl Workers {
    fn count(&self) -> usize {
        self.links.len() + self.token_buckets.len() + self.senders.len() + self.receivers.len()
    }

    fn any_over(&self) -> bool {
        self.senders.iter().any(JoinHandle::is_finished)
            || self.receivers.iter().any(JoinHandle::is_finished)
            || self
                .links
                .iter()
                .chain(&self.token_buckets)
                .any(JoinHandle::is_finished)
    }

    /// Stops senders, waits for `drain`, then stops all other workers. Returns the totals of all workers.
    fn end(self, drain: Span) -> Result<Totals, Error> {
        let mut totals = Totals::default();
        let mut problem = None;
        self.quiet.store(true, Ordering::Relaxed);
        totals.sent.extend(keep(self.senders, &mut problem));
        std::thread::sleep(drain);
        self.stop.store(true, Ordering::Relaxed);
        totals.received.extend(keep(self.receivers, &mut problem));
        totals.links.extend(keep(self.links, &mut problem));
        for (link, queue) in keep(self.token_buckets, &mut problem) {
            let wire = totals.links.remove(&link);
            totals.links.insert(link, queue.before(wire));
        }
        problem.map_or(Ok(totals), Err)
    }
}

/// Returns the totals of workers. A failed worker has no totals, and its error is stored in `problem`.
fn keep<T>(workers: Vec<Worker<T>>, problem: &mut Option<Error>) -> Vec<(usize, T)> {
    let mut all = Vec::new();
    for worker in workers {
        let name = worker.thread().name().unwrap_or("worker").to_owned();
        match worker.join() {
            Ok(Ok(counted)) => all.extend(counted),
            Ok(Err(error)) => *problem = Some(error),
            Err(_) => *problem = Some(Error::failed(format!("the thread {name} of the testbed panicked"))),
        }
    }
    all
}

fn of_results(error: levelflow_results::Error) -> Error {
    match error {
        levelflow_results::Error::Refused(problem) => Error::Input(problem),
        failed @ levelflow_results::Error::Failed { .. } => Error::failed(failed),
    }
}

fn manifest(chosen: &Chosen, setup: Setup, scale: f64) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "version": version,
        "build": format!("{version} levelflow-net"),
        "raw": chosen.raw,
        "scenario": chosen.resolved.describe(&chosen.scenario),
        "seed": chosen.resolved.network.seed,
        "network": {
            "kernel": kernel.trim(),
            "form": match setup.form { Form::User => "user", Form::Kernel => "kernel" },
            "ipv6": setup.ipv6,
            "scale": scale,
            "processors": std::thread::available_parallelism().map_or(0, usize::from),
        },
    })
}
