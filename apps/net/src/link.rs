//! Command `levelflow-net link`.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use clap::Args;
use levelflow_units::{Buffer, Duration, Time};
use serde::Serialize;

use levelflow_files::{read, read_any, reason};
use levelflow_host::clock::Clock;
use levelflow_host::privileges::Rights;
use levelflow_host::{Error, sys, terminal};
use levelflow_link::control::{Change, Setting, schedule};
use levelflow_link::{Device, Link as Wires, Report};
use levelflow_path::scheduler::AnyQueueParams;
use levelflow_path::{Propagation, Settings};
use levelflow_scenario::{Change as Recorded, Recording, Trace, queue_of, read_trace};

/// Default queue limit.
const DEFAULT_BUFFER: Buffer = Buffer::Packets(1000);

const EXAMPLES: &str = "Examples:
  Two hosts, each a namespace with a veth pair, and this namespace in between:
    ip netns add a; ip link add wa type veth peer name a0 netns a; ip link set wa up
    ip netns add b; ip link add wb type veth peer name b0 netns b; ip link set wb up
    ip -n a address add 10.0.0.1/24 dev a0; ip -n a link set a0 up
    ip -n b address add 10.0.0.2/24 dev b0; ip -n b link set b0 up
  20 Mb/s, 10 ms each way, 40 ms of queue; then try: ip netns exec a ping 10.0.0.2
    levelflow-net link wa wb --rate \"20 Mb/s\" --delay \"10 ms\" --buffer \"100 kB\"
  A DSL line: fast towards b, slow back
    levelflow-net link wa wb --rate \"20 Mb/s\" --reverse-rate \"1 Mb/s\" --delay \"15 ms\"
  A satellite that loses one packet in a thousand, for a minute
    levelflow-net link wa wb --rate \"10 Mb/s\" --delay \"270 ms\" --loss 0.001 --for \"60 s\"
  The same line with one queue per flow under CoDel
    levelflow-net link wa wb --rate \"20 Mb/s\" --delay \"10 ms\" --queue fq_codel
  A wire whose rate changes: half after 10 s, full after 20 s
    printf '10 s: rate 10 Mb/s\\n20 s: rate 20 Mb/s\\n' > changes
    levelflow-net link wa wb --rate \"20 Mb/s\" --schedule changes";

/// Join two network devices like a wire, with rate, queue, delay, jitter and loss.
///
/// Every Ethernet frame received at one device is sent from the other, without its VLAN tag. No other program may use
/// the two devices, so give them no addresses. In each direction, a frame first waits in a queue that drops frames
/// while it is full. Transmission then takes its size / RATE, and propagation takes DELAY. Sizes count from the
/// Ethernet header on. A rate applies to each direction.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Link {
    /// First device, as `ip link` shows it
    dev1: String,
    /// Second device
    dev2: String,
    /// Line rate of each direction, as in "20 Mb/s" [default: unlimited]
    #[arg(long, value_name = "RATE", value_parser = setting("rate"))]
    rate: Option<Setting>,
    /// Propagation delay of each direction, as in "10 ms" [default: 0 s]
    #[arg(long, value_name = "TIME", value_parser = setting("delay"))]
    delay: Option<Setting>,
    /// Limit on the random additional delay of each packet
    #[arg(long, value_name = "TIME", value_parser = setting("jitter"))]
    jitter: Option<Setting>,
    /// Limit of the queue, including the packet in transmission: "100 kB", "50 packets" or unlimited [default: 1000
    /// packets]
    #[arg(long, value_name = "ROOM", value_parser = setting("buffer"))]
    buffer: Option<Setting>,
    /// Queue discipline of both directions, in the notation of scenarios: "fq_codel", or "{ cake = { rate = '19 Mb/s' }
    /// }"; `levelflow list queues` lists all [default: drop_tail]
    #[arg(long, value_name = "QUEUE", value_parser = discipline)]
    queue: Option<AnyQueueParams>,
    /// Interval at which packets arrive in batches at the far end, as with a radio or a DOCSIS modem
    #[arg(long, value_name = "TIME", value_parser = setting("slot"))]
    slot: Option<Setting>,
    /// Loss on the wire: a probability, as in "1 %", or "gemodel P R [BAD [GOOD]]" for bursty loss (Gilbert-Elliott
    /// model). P and R are the probabilities of entering and of leaving the bad state. BAD and GOOD are the
    /// probabilities of loss in these states, 1 and 0 by default
    #[arg(long, value_name = "LOSS", value_parser = setting("loss"))]
    loss: Option<Setting>,
    /// Line rate from DEV2 to DEV1 [default: that of --rate]
    #[arg(long, value_name = "RATE", value_parser = setting("rate"))]
    reverse_rate: Option<Setting>,
    /// Delay from DEV2 to DEV1 [default: that of --delay]
    #[arg(long, value_name = "TIME", value_parser = setting("delay"))]
    reverse_delay: Option<Setting>,
    /// Jitter from DEV2 to DEV1 [default: that of --jitter]
    #[arg(long, value_name = "TIME", value_parser = setting("jitter"))]
    reverse_jitter: Option<Setting>,
    /// Limit of the queue from DEV2 to DEV1 [default: that of --buffer]
    #[arg(long, value_name = "ROOM", value_parser = setting("buffer"))]
    reverse_buffer: Option<Setting>,
    /// Interval of batches from DEV2 to DEV1 [default: that of --slot]
    #[arg(long, value_name = "TIME", value_parser = setting("slot"))]
    reverse_slot: Option<Setting>,
    /// Loss from DEV2 to DEV1 [default: that of --loss]
    #[arg(long, value_name = "LOSS", value_parser = setting("loss"))]
    reverse_loss: Option<Setting>,
    /// Let packets overtake earlier packets that are delayed by jitter, instead of keeping the order
    #[arg(long)]
    reorder: bool,
    /// Seed of losses and jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after this time, as in "10 s" [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<Duration>,
    /// Schedule of changes: a file of lines such as "5 s: forward rate 10 Mb/s" or "8 s: delay 30 ms"
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// Replay a recording of rate, delay, jitter and loss from DEV1 to DEV2: a time series (*.csv), or a Mahimahi trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Replay a recording from DEV2 to DEV1
    #[arg(long, value_name = "FILE")]
    reverse_trace: Option<PathBuf>,
    /// Read changes from standard input: lines such as "reverse loss 0.01"
    #[arg(long)]
    control: bool,
    /// Run with priority over all ordinary programs (SCHED_FIFO): timers are at most 0.1 ms late on a busy machine
    #[arg(long)]
    realtime: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Changes of settings, in order of time.
type Changes = Box<dyn Iterator<Item = (Time, Change)>>;

fn setting(name: &'static str) -> impl Fn(&str) -> Result<Setting, String> + Clone {
    // clap adds the name of the option and its value to the error message.
    move |value| {
        Setting::read(name, value).map_err(|e| {
            let prefix = format!("{name} {value}: ");
            e.strip_prefix(&prefix).unwrap_or(&e).to_owned()
        })
    }
}

fn discipline(text: &str) -> Result<AnyQueueParams, String> {
    queue_of(text).map_err(|e| e.to_string())
}

#[derive(Debug, Serialize)]
struct Summary {
    seconds: f64,
    directions: [Report; 2],
}

impl Link {
    /// Runs the link until stopped.
    ///
    /// # Errors
    /// If a device or the schedule does not exist, or a device vanishes.
    pub fn run(&self) -> Result<(), Error> {
        if self.dev1 == self.dev2 {
            return Err(Error::input(format_args!(
                "{} cannot be joined to itself; name two devices",
                self.dev1
            )));
        }
        let mut sources = self.changes()?;
        let stop = signals()?;
        let ports = [Device::open(&self.dev1)?, Device::open(&self.dev2)?];
        if self.realtime {
            sys::realtime()
                .map_err(|e| Error::failed(format_args!("--realtime: {e}; run as root, or omit the option")))?;
        }
        Rights::default().keep_only()?;
        let lines = self.control.then(read_lines);
        let mut wires = Wires::new(ports, self.settings(), self.seed);
        if let Some(queue) = &self.queue {
            wires = wires.with_queues(queue, self.seed);
        }
        let clock = Clock::start();
        let mut live = Live::new(!self.json);
        let end = self.duration.map(|duration| Time::ZERO + duration);
        let result = wires.run(&clock, |wires, now| {
            let mut next = end.unwrap_or(Time::NEVER);
            for source in &mut sources {
                while let Some((at, change)) = source.next_if(|&(at, _)| at <= now) {
                    wires.change(at, change);
                }
                next = source.peek().map_or(next, |&(at, _)| at.min(next));
            }
            for line in lines.iter().flat_map(mpsc::Receiver::try_iter) {
                match line.parse() {
                    Ok(change) => wires.change(now, change),
                    Err(e) => terminal::warn(e),
                }
            }
            live.show(wires, now);
            let over = stop.load(Ordering::Relaxed) || end.is_some_and(|end| now >= end);
            Ok((!over).then_some(next))
        });
        live.clear();
        let now = clock.now();
        self.print(&Summary {
            seconds: now.as_secs_f64(),
            directions: wires.report(now),
        })?;
        result
    }

    fn settings(&self) -> [Settings; 2] {
        let mut forward = Settings {
            buffer: DEFAULT_BUFFER,
            wire: Propagation {
                reorder: self.reorder,
                ..Propagation::default()
            },
            ..Settings::default()
        };
        for setting in [self.rate, self.delay, self.jitter, self.slot, self.buffer, self.loss]
            .into_iter()
            .flatten()
        {
            setting.apply(&mut forward);
        }
        let mut reverse = forward;
        let other = [
            self.reverse_rate,
            self.reverse_delay,
            self.reverse_jitter,
            self.reverse_slot,
            self.reverse_buffer,
            self.reverse_loss,
        ];
        for setting in other.into_iter().flatten() {
            setting.apply(&mut reverse);
        }
        [forward, reverse]
    }

    /// Returns all sources of changes: the schedule and the recordings.
    fn changes(&self) -> Result<Vec<Peekable<Changes>>, Error> {
        let mut sources: Vec<Changes> = Vec::new();
        if let Some(path) = &self.schedule {
            let wrong = |e: &dyn Display| Error::input(format_args!("schedule {}: {e}", path.display()));
            let text = read_any(path).map_err(|e| wrong(&reason(&e)))?;
            sources.push(Box::new(schedule(&text).map_err(|e| wrong(&e))?.into_iter()));
        }
        for (path, forward) in [(&self.trace, true), (&self.reverse_trace, false)] {
            let Some(path) = path else { continue };
            sources.push(recorded(path, forward)?);
        }
        Ok(sources.into_iter().map(Iterator::peekable).collect())
    }

    fn print(&self, summary: &Summary) -> Result<(), Error> {
        let mut out = std::io::stdout().lock();
        let written = if self.json {
            serde_json::to_writer_pretty(&mut out, summary)
                .map_err(Into::into)
                .and_then(|()| writeln!(out))
        } else {
            let [forward, reverse] = &summary.directions;
            writeln!(out, "{forward}\n{reverse}")
        };
        written.map_err(|e| Error::failed(format_args!("standard output: {e}")))
    }
}

fn recorded(path: &Path, forward: bool) -> Result<Changes, Error> {
    let name = path.to_string_lossy().into_owned();
    let series = path.extension().is_some_and(|ending| ending == "csv");
    let trace = if series {
        Trace::Csv(name)
    } else {
        Trace::Mahimahi(name)
    };
    let read = |path: &str| read(Path::new(path)).map_err(|e| reason(&e));
    let settings = move |state: Recorded| {
        let rate = state.capacity.map(|rate| Setting::Rate(Some(rate)));
        let loss = state.loss.and_then(|loss| loss.read().ok()).map(Setting::Loss);
        let (delay, jitter) = (state.delay.map(Setting::Delay), state.jitter.map(Setting::Jitter));
        let all = [rate, delay, jitter, loss].into_iter().flatten();
        let reverse = !forward;
        let change = move |setting| Change {
            setting,
            forward,
            reverse,
        };
        all.map(move |setting| (Time::ZERO + state.at, change(setting)))
    };
    match read_trace(&trace, read).map_err(|e| Error::input(format_args!("trace {e}")))? {
        Recording::Series(states) => {
            let changes: Vec<_> = states.into_iter().flat_map(settings).collect();
            for (at, change) in &changes {
                let problem = |e| Error::input(format_args!("trace {}: at {}: {e}", path.display(), *at - Time::ZERO));
                change.setting.check().map_err(problem)?;
            }
            Ok(Box::new(changes.into_iter()))
        }
        Recording::Opportunities(opportunities) => Ok(Box::new(opportunities.changes().flat_map(settings))),
    }
}

fn signals() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| Error::failed(format_args!("signal {signal}: {e}")))?;
    }
    Ok(stop)
}

/// Reads lines of standard input in a thread, which ends with the process.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if !line.trim().is_empty() && sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Status line of a running link, on a terminal.
struct Live {
    on: bool,
    next: Time,
    bytes: [u64; 2],
}

impl Live {
    const REPORT_INTERVAL: Duration = Duration::from_secs(1);

    fn new(wanted: bool) -> Self {
        let on = wanted && std::io::stderr().is_terminal();
        Self {
            on,
            next: Time::ZERO + Self::REPORT_INTERVAL,
            bytes: [0; 2],
        }
    }

    fn show(&mut self, link: &mut Wires, now: Time) {
        if !self.on || now < self.next {
            return;
        }
        self.next = now + Self::REPORT_INTERVAL;
        let reports = link.report(now);
        let mut line = format!("{:6.0} s", now.as_secs_f64());
        for (report, bytes) in reports.iter().zip(&mut self.bytes) {
            let rate = (report.delivered_bytes - *bytes) as f64 * 8e-6;
            *bytes = report.delivered_bytes;
            line += &format!(
                "   {} -> {} {rate:.2} Mb/s, queue {:.1} kB, dropped {}",
                report.from,
                report.to,
                report.queue_bytes as f64 / 1e3,
                report.dropped
            );
        }
        eprint!("\r\x1b[K{line}");
    }

    fn clear(&self) {
        if self.on {
            eprint!("\r\x1b[K");
        }
    }
}
