//! Command `levelflow-net abs`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use levelflow_units::{Duration, Rate};
use serde_json::json;

use super::options;
use levelflow_autobuf::ABS;
use levelflow_autobuf::control::Targets;
use levelflow_autobuf::daemon::Daemon;
use levelflow_autobuf::log::Log;
use levelflow_autobuf::memory::Memory;
use levelflow_autobuf::metrics::Board;
use levelflow_autobuf::notes::notes;
use levelflow_autobuf::reading::{Reading, head};
use levelflow_autobuf::restore::{Outcome, SavedLimit, SavedState};
use levelflow_host::Error;
use levelflow_host::format::rate;
use levelflow_host::limit::Limit;
use levelflow_host::metrics::Metrics;
use levelflow_host::pid_file::{self, PidFile, State};
use levelflow_host::privileges::{CapabilitySet, Rights};
use levelflow_host::qdisc::Device;
use levelflow_host::stop::Stop;
use levelflow_host::tc::Handle;
use levelflow_host::terminal::{plain, warn};
use levelflow_scenario::settings;

const EXAMPLES: &str = "Examples:
  levelflow-net abs --dev eth0 --utilisation 0.95 --loss 0.01
  levelflow-net abs --dev eth0 --utilisation 0.98 --delay \"20 ms\" --every \"0.5 s\" --max \"1000 packets\"
  levelflow-net abs --dev eth0 --qdisc 1:10 --qdisc 1:20 --loss 0.005 --memory \"500 kB\" --log decisions.jsonl
  levelflow-net abs --dev eth0 --utilisation 0.95 --dry-run
  levelflow-net abs status
  levelflow-net abs --restore --dev eth0

The queue is a pfifo, bfifo or tbf at the device's root, the queue inside a tbf, or a leaf of htb. Its
counters are read and its limit is set by netlink; packets are not touched. The original limit is restored
at the end or, after kill -9, by the next start or --restore.";

/// Time between two published readings, for `status`.
const STATUS_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// Options of `abs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Abs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    run: AbsRun,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the devices of this machine on which an `abs` is running.
    Status {
        /// Prints JSON instead of text.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct AbsRun {
    /// Device of the queue. Setting limits needs privileges (CAP_NET_ADMIN).
    #[arg(long, value_name = "DEVICE")]
    dev: Option<String>,
    /// Queue to be sized, by handle (10:) or class (1:10); may be repeated [default: the queue at the root].
    #[arg(long, value_name = "HANDLE")]
    qdisc: Vec<Handle>,
    /// Target utilisation of the line, such as 0.95.
    #[arg(long, value_name = "SHARE")]
    utilisation: Option<f64>,
    /// Target fraction of bytes dropped, such as 0.01.
    #[arg(long, value_name = "SHARE")]
    loss: Option<f64>,
    /// Target for the mean queueing delay, such as "20 ms"; takes precedence over the other targets.
    #[arg(long, value_name = "TIME")]
    delay: Option<Duration>,
    /// Time between two decisions, from 100 ms to 1000 s.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    every: Duration,
    /// Buffer-sizing algorithm: abs_log (finds the smallest buffer that meets the targets), abs (as published) or adt.
    #[arg(long, value_name = "NAME", default_value = "abs_log")]
    algorithm: String,
    /// Sets a parameter of the algorithm, e.g. gain=0.02 or "rtt=40 ms"; may be repeated. `levelflow list buffers`
    /// lists all.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Smallest limit, such as "10 packets" or "15 kB" [default: one packet].
    #[arg(long, value_name = "SIZE")]
    min: Option<Limit>,
    /// Largest limit, up to 1000000000 packets [default: the smaller of 10000 packets and one second at the line rate,
    /// but at least the original limit].
    #[arg(long, value_name = "SIZE")]
    max: Option<Limit>,
    /// Memory shared by all queues of --qdisc, such as "500 kB" or "300 packets". The sum of their limits never exceeds
    /// it. If demand exceeds it, memory is divided max-min fairly, with the capacities as weights. A limit in packets
    /// counts an unsegmented super-packet (GSO, GRO) as one packet, however large. If the memory is in packets and the
    /// limits are in bytes, each packet counts as a packet of maximum size.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Limit>,
    /// Rate of the line, counting bytes as the queue does [default: rate of the tbf, the htb class or the hardware;
    /// this default also counts the overhead per packet of tbf or htb, or the 24 bytes that Ethernet adds to a packet].
    #[arg(long, value_name = "RATE")]
    capacity: Option<Rate>,
    /// Prints the limits that `abs` would set, without setting them. Needs no privileges.
    #[arg(long)]
    dry_run: bool,
    /// Stops the `abs` of this device, if one is running, and restores the queue's original limit.
    #[arg(long, requires = "dev")]
    restore: bool,
    /// Writes each decision to this file as a JSON line; replaces an existing log.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Prints each decision as a JSON line.
    #[arg(long)]
    json: bool,
    /// Prints only the final summary.
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Stops after this time.
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Serves metrics for Prometheus at this address, e.g. 127.0.0.1:9465.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Allows `--metrics` at an address that other machines can reach.
    #[arg(long)]
    metrics_public: bool,
}

impl Abs {
    /// Sizes buffers until stopped, or runs the subcommand.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        match self.action {
            Some(Action::Status { json }) => options::status(ABS, None, json, "no buffer is sized", status_line),
            None => self.run.start(),
        }
    }
}

impl AbsRun {
    fn start(self) -> Result<(), Error> {
        let Some(name) = self.dev.as_deref() else {
            return Err(Error::input("abs: requires --dev DEVICE (see abs --help)"));
        };
        if self.restore {
            return restore(name);
        }
        let targets = self.targets()?;
        targets.check()?;
        self.check()?;
        let stop = Stop::on_signals()?;
        // A killed run leaves a changed limit, so the original limit is restored first.
        let pid_file = if self.dry_run {
            None
        } else {
            Some(PidFile::new(ABS, name)?)
        };
        let mut device = Device::open(name)?;
        if pid_file.is_some() {
            left(&mut device)?;
        }
        let mut daemon = Daemon::new(device, &self.qdisc, self.capacity, targets)?;
        let log = self.log.as_deref().map(Log::open).transpose()?;
        let board = Board::default();
        let metrics = self.metrics.map(Metrics::bind).transpose()?;
        if pid_file.is_some() {
            let armed = daemon.arm();
            if armed.is_err() {
                return both(armed, daemon.restore().1);
            }
        }
        let log = log.map(|log| log.begin(&daemon, name));
        let rights = Rights {
            capabilities: CapabilitySet::NET_ADMIN,
            reads: &[Path::new("/sys/class/net"), Path::new("/sys/devices")],
            writes: &[&pid_file::directory()],
            tcp: false,
        };
        let serve = |socket| Metrics::serve(socket, Box::new(board.clone()));
        let served = rights.keep_only().and_then(|()| metrics.map(serve).transpose());
        let _metrics = match served {
            Ok(metrics) => metrics,
            Err(error) => return both(Err(error), daemon.restore().1),
        };
        self.introduce(&daemon, name);
        let result = self.with_status(&mut daemon, &stop, pid_file.as_ref(), log, &board);
        let (outcomes, restored) = daemon.restore();
        self.conclude(&daemon, name, &outcomes);
        both(result, restored)
    }

    fn targets(&self) -> Result<Targets, Error> {
        Ok(Targets {
            algorithm: self.algorithm.clone(),
            utilisation: self.utilisation,
            loss: self.loss,
            delay: self.delay,
            every: self.every,
            sets: settings::table(&self.set).map_err(Error::input)?,
            least: self.min,
            most: self.max,
            memory: self.memory.map(Memory),
        })
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(capacity) = self.capacity {
            options::above_zero("--capacity", capacity.bps(), "\"100 Mb/s\"")?;
        }
        options::metrics(self.metrics, self.metrics_public)
    }

    /// Runs the daemon. Prints, logs and publishes each decision.
    fn with_status(
        &self,
        daemon: &mut Daemon,
        stop: &Stop,
        pid_file: Option<&PidFile>,
        mut log: Option<Log>,
        board: &Board,
    ) -> Result<(), Error> {
        let which = daemon.ports().len() > 1;
        let mut latest: Vec<Reading> = Vec::new();
        let mut published: Option<Instant> = None;
        daemon.run(stop, self.duration, |queue, reading| {
            if self.json {
                print_line(&serde_json::to_string(reading).unwrap_or_default());
            } else if !self.quiet {
                print_line(&reading.line(which));
            }
            if let Some(log) = &mut log {
                log.write(&json!(reading));
            }
            board.post(queue, reading);
            latest.retain(|old| old.qdisc != reading.qdisc);
            latest.push(reading.clone());
            if published.is_none_or(|then| then.elapsed() >= STATUS_INTERVAL)
                && let Some(pid_file) = pid_file
            {
                let memory = self.memory.map(|total| total.to_string());
                pid_file.publish(&json!({ "algorithm": self.algorithm, "memory": memory, "queues": latest }));
                published = Some(Instant::now());
            }
        })
    }

    fn introduce(&self, daemon: &Daemon, name: &str) {
        if self.json || self.quiet {
            return;
        }
        let targets = [
            self.utilisation.map(|u| format!("use {}", percent(u))),
            self.loss.map(|p| format!("loss {}", percent(p))),
            self.delay.map(|d| format!("wait {d}")),
        ];
        let targets: Vec<String> = targets.into_iter().flatten().collect();
        for port in daemon.ports() {
            let place = &port.place;
            print_line(&format!(
                "{name}: {} {} with room for {}, {}; {}: {}, every {}{}",
                place.kind,
                place.handle,
                place.unit.text(place.limit),
                rate(place.capacity.bps()),
                self.algorithm,
                targets.join(", "),
                self.every,
                if self.dry_run { "; nothing is set" } else { "" }
            ));
            for note in notes(place, name, self.capacity.is_some(), self.every) {
                print_line(&note);
            }
        }
        if let Some(total) = self.memory {
            print_line(&format!("{name}: the sum of all limits is at most {total}"));
        }
        print_line(&head(daemon.ports().len() > 1));
    }

    fn conclude(&self, daemon: &Daemon, name: &str, restored: &[(SavedLimit, Outcome)]) {
        if self.json {
            return;
        }
        for port in daemon.ports() {
            print_line(&format!("{name} {}: {}", port.place.handle, port.total.text()));
        }
        for (was, outcome) in restored {
            print_line(&outcome_text(name, was, outcome));
        }
    }
}

/// Returns the first of two errors, and prints the second as a warning.
fn both(first: Result<(), Error>, second: Result<(), Error>) -> Result<(), Error> {
    match (first, second) {
        (Err(first), Err(second)) => {
            warn(second);
            Err(first)
        }
        (first, second) => first.and(second),
    }
}

fn percent(share: f64) -> String {
    // A fraction such as 0.07 has no exact double, so the digits are rounded to six decimals.
    let digits = format!("{:.6}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Prints a line; write errors are ignored.
fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", plain(line)).and_then(|()| out.flush());
}

fn outcome_text(name: &str, was: &SavedLimit, outcome: &Outcome) -> String {
    let place = format!("{name} {}", was.handle);
    match outcome {
        Outcome::Restored => format!("{place}: its limit is {} again", was.text()),
        Outcome::AsFound => format!("{place}: its limit is {}, unchanged", was.text()),
        Outcome::Others => format!("{place}: left as another process set it (it was {})", was.text()),
        Outcome::Gone => format!("{place}: the queue is gone; nothing to restore"),
    }
}

/// Restores the state left by a killed run; returns false if no state was left.
fn left(device: &mut Device) -> Result<bool, Error> {
    let Some(undo) = SavedState::left(&device.name)? else {
        return Ok(false);
    };
    let name = device.name.clone();
    let (outcomes, result) = undo.restore(device);
    for (was, outcome) in outcomes {
        warn(format!(
            "after a run that was killed: {}",
            outcome_text(&name, &was, &outcome)
        ));
    }
    result.map(|()| true)
}

fn restore(name: &str) -> Result<(), Error> {
    let ended = pid_file::end(&pid_file::directory(), ABS, name);
    let _claim = PidFile::new(ABS, name)?;
    let mut device = Device::open(name)?;
    let found = left(&mut device)?;
    if let Err(nothing) = ended {
        return if found { Ok(()) } else { Err(nothing) };
    }
    print_line(&format!("{name}: restored"));
    Ok(())
}

fn status_line(state: &State) -> String {
    let (pid, place, reading) = (state.owner.pid, &state.owner.place, &state.reading);
    let algorithm = reading["algorithm"].as_str().unwrap_or("starting");
    let queues = reading["queues"].as_array().into_iter().flatten();
    let words: Vec<String> = queues.map(queue_line).collect();
    let memory = reading["memory"].as_str();
    let memory = memory.map_or_else(String::new, |total| format!("memory {total}; "));
    format!("{place}: {algorithm} (process {pid}) {memory}{}", words.join("; "))
}

fn queue_line(queue: &serde_json::Value) -> String {
    let share = |name: &str| queue[name].as_f64().unwrap_or(0.0) * 100.0;
    let wants = if queue["wanted"] == queue["limit"] {
        String::new()
    } else {
        format!(" (wants {})", queue["wanted"])
    };
    format!(
        "{} limit {} {}{}, used {:.1} %, lost {:.2} %",
        queue["qdisc"].as_str().unwrap_or("?"),
        queue["limit"],
        queue["unit"].as_str().unwrap_or(""),
        wants,
        share("utilisation"),
        share("loss")
    )
}
