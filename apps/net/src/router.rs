//! Command `levelflow-net router`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration as Span, Instant};

use clap::{Args, Subcommand};
use levelflow_laws::{AnyRouterParams, PortInfo, SignallingInfo, Unit, on_the_wire};
use levelflow_units::{Buffer, Bytes, Duration, Rate};

use super::options::{self, address};
use levelflow_host::clock::{Clock, span};
use levelflow_host::metrics::Metrics;
use levelflow_host::pid_file::{self, PidFile};
use levelflow_host::privileges::{CapabilitySet, KERNEL_ROUTER, PROCESSORS, Rights};
use levelflow_host::qdisc::{Device, Queue};
use levelflow_host::stop::Stop;
use levelflow_host::{Error, sys};
use levelflow_router::capacity::{Capacity, CapacityFile};
use levelflow_router::device::Attached;
use levelflow_router::direction::Bottleneck;
use levelflow_router::kernel::{self, Program};
use levelflow_router::live::Live;
use levelflow_router::logging::Logging;
use levelflow_router::metrics::Readings;
use levelflow_router::relay::{Config, Relay};
use levelflow_router::service::{self, ROUTER};
use levelflow_router::snapshot::Board;
use levelflow_scenario::settings;

const EXAMPLES: &str = "Examples:
  levelflow-net router --relay 127.0.0.1:9000 --to 127.0.0.1:9001 --capacity \"20 Mb/s\" --law jetmax
  levelflow-net router --relay :9000 --to server:9001 --capacity \"5 Mb/s\" --law rcp --delay \"20 ms\" --buffer \"64 kB\"
  levelflow-net router --dev eth0 --capacity \"100 Mb/s\" --law jetmax --gamma 0.95
  levelflow-net router --dev eth0 --law rcp --metrics 127.0.0.1:9464 --realtime
  levelflow-net router --dev wwan0 --capacity-from /run/modem/rate --law level
  levelflow-net router status
  levelflow-net router detach --dev eth0";

/// Time between two published readings, for `status`.
const STATUS_INTERVAL: Span = Span::from_secs(1);

/// Options of `router`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Router {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    run: RouterRun,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the routers running on this machine.
    Status {
        /// Limits the list to the router of this device.
        #[arg(long, value_name = "DEVICE")]
        dev: Option<String>,
        /// Prints JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Stops a router as Ctrl-C does, and removes a kernel filter that a killed router left behind.
    #[command(arg_required_else_help = true)]
    Detach {
        /// Device of the router.
        #[arg(long, value_name = "DEVICE", conflicts_with = "relay")]
        dev: Option<String>,
        /// Listening address of the relay.
        #[arg(long, value_name = "ADDRESS")]
        relay: Option<String>,
    },
}

#[derive(Debug, Args)]
struct RouterRun {
    /// Stamps, in the kernel, the packets that leave this device. Needs privileges (CAP_NET_ADMIN and CAP_BPF).
    #[arg(long, value_name = "DEVICE", conflicts_with = "relay")]
    dev: Option<String>,
    /// Relays UDP datagrams that clients send to this address (":9000" is every IPv4 address of the machine). Needs no
    /// privileges.
    #[arg(long, value_name = "ADDRESS", requires = "to")]
    relay: Option<String>,
    /// Address of the server to which a relay forwards.
    #[arg(long, value_name = "ADDRESS", requires = "relay")]
    to: Option<String>,
    /// Rate of the line, such as "20 Mb/s" [default: rate of the device's token bucket filter or hardware, if it has
    /// one].
    #[arg(long, value_name = "RATE")]
    capacity: Option<Rate>,
    /// File with the current rate of the line, such as "12 Mb/s". A script that reads the modem may replace it while
    /// the router runs. Without this option and `--capacity`, the router follows the device's token bucket filter.
    #[arg(long, value_name = "FILE")]
    capacity_from: Option<PathBuf>,
    #[arg(long, default_value = "jetmax", help = laws())]
    law: String,
    /// Sets a parameter of the routers, e.g. gamma=0.95 or "interval=50 ms"; may be repeated. `levelflow list laws`
    /// lists all.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[arg(long, value_name = "SHARE", help = called("Share of the capacity to use", |own| own.routers.utilisation))]
    gamma: Option<f64>,
    #[arg(long, value_name = "TIME", help = called("Time between two updates", |own| own.routers.interval))]
    interval: Option<Duration>,
    /// Queue limit of a relay, such as "64 kB" or "100 packets" [default: bytes sent in 100 ms at the line rate].
    #[arg(long, value_name = "SIZE", requires = "relay")]
    buffer: Option<Buffer>,
    /// Propagation delay that a relay adds in each direction.
    #[arg(long, value_name = "TIME", default_value = "0 s", requires = "relay")]
    delay: Duration,
    /// Runs the same law in the reverse direction, too, on a line of the same rate.
    #[arg(long, requires = "relay")]
    both: bool,
    /// Polices the headers of flows at a relay: corrects false values, and limits flows that lie.
    #[arg(long, requires = "relay")]
    police: bool,
    /// Logs the inputs of the law to this file, for `levelflow replay FILE`.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Runs with priority over all ordinary programs (SCHED_FIFO), so that intervals and packets are on time on a busy
    /// machine. Needs privileges.
    #[arg(long)]
    realtime: bool,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, Args)]
struct Show {
    /// Prints each reading as a JSON line.
    #[arg(long)]
    json: bool,
    /// Prints only the final summary.
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    every: Duration,
    /// Stops after this time.
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Serves metrics for Prometheus at this address, e.g. 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Allows `--metrics` at an address that other machines can reach.
    #[arg(long)]
    metrics_public: bool,
}

impl Router {
    /// Runs a router until stopped, or runs the subcommand.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        match self.action {
            Some(Action::Status { dev, json }) => {
                options::status(ROUTER, dev.as_deref(), json, "no router runs", service::line)
            }
            Some(Action::Detach { dev: Some(dev), .. }) => detach_device(&dev),
            Some(Action::Detach { relay, .. }) => {
                let place = address("--relay", &relay.unwrap_or_default())?.to_string();
                pid_file::end(&pid_file::directory(), ROUTER, &place)?;
                println!("{place}: detached");
                Ok(())
            }
            None => self.run.start(),
        }
    }
}

impl RouterRun {
    fn start(self) -> Result<(), Error> {
        let params = self.params()?;
        self.show.check()?;
        match (&self.relay, &self.dev) {
            (Some(relay), _) => self.relay(relay, params),
            (None, Some(name)) => self.device(name, params),
            (None, None) => Err(Error::input(
                "router: requires --dev DEVICE, or --relay ADDRESS --to ADDRESS (see router --help)",
            )),
        }
    }

    fn relay(&self, relay: &str, params: AnyRouterParams) -> Result<(), Error> {
        let listen = address("--relay", relay)?;
        let to = address("--to", self.to.as_deref().unwrap_or_default())?;
        let config = self.config(listen, to, params)?;
        let stop = Stop::on_signals()?;
        let relay = Relay::bind(config)?;
        let pid_file = PidFile::new(ROUTER, &relay.address()?.to_string())?;
        let logging = self.logging()?;
        let mut relay = relay.logged(logging.as_ref());
        if self.police {
            relay = relay.policed();
        }
        self.with_status(&pid_file, &stop, CapabilitySet::empty(), |board| {
            relay.run(&stop, board)
        })?;
        logging.as_ref().map_or(Ok(()), Logging::end)
    }

    fn device(&self, name: &str, params: AnyRouterParams) -> Result<(), Error> {
        let mut device = Device::open(name)?;
        let mut follows = match &self.capacity_from {
            Some(file) => Capacity::File(CapacityFile::new(file)),
            None if self.capacity.is_none() => Capacity::Shaper,
            None => Capacity::Given,
        };
        let first = follows.poll(&Queue::default()).or(self.capacity);
        let known = first.or_else(|| device.capacity()).filter(|c| c.bps() > 0.0);
        let capacity = known.ok_or_else(|| {
            Error::input(format!(
                "--capacity: the kernel does not report the rate of {name}; set it, such as \"100 Mb/s\""
            ))
        })?;
        let info = PortInfo {
            id: identity(),
            capacity,
        };
        let stop = Stop::on_signals()?;
        let pid_file = PidFile::new(ROUTER, name)?;
        // This process owns the device now, so a remaining filter belongs to a killed router. If it cannot be removed,
        // attaching reports the reason.
        let _ = kernel::detach(name);
        let program = Program::attach(name, &params, &info, None)?;
        let logging = self.logging()?;
        let attached = Attached::new(device, program, params, info, Clock::start())?
            .logged(logging.as_ref())
            .following(follows);
        self.with_status(&pid_file, &stop, KERNEL_ROUTER, |board| attached.run(&stop, board))?;
        logging.as_ref().map_or(Ok(()), Logging::end)
    }

    /// Drops all rights except these capabilities, then runs `work` on this thread. Other threads serve metrics and
    /// show readings.
    fn with_status(
        &self,
        pid_file: &PidFile,
        stop: &Stop,
        capabilities: CapabilitySet,
        work: impl FnOnce(&Board) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let board = Board::default();
        let metrics = self.show.metrics.map(Metrics::bind).transpose()?;
        self.drop_rights(capabilities)?;
        let serve = |socket| Metrics::serve(socket, Box::new(Readings(board.clone())));
        let _metrics = metrics.map(serve).transpose()?;
        self.show.with_display(&board, pid_file, stop, || {
            self.set_realtime_priority()?;
            work(&board)
        })
    }

    fn drop_rights(&self, capabilities: CapabilitySet) -> Result<(), Error> {
        let realtime = self.realtime.then_some(CapabilitySet::SYS_NICE);
        let folders = self.capacity_from.as_deref().map(folders);
        let folders = folders.iter().flatten().map(PathBuf::as_path);
        let reads: Vec<&Path> = folders.chain([Path::new(PROCESSORS)]).collect();
        Rights {
            capabilities: capabilities | realtime.unwrap_or(CapabilitySet::empty()),
            reads: &reads,
            writes: &[&pid_file::directory()],
            tcp: false,
        }
        .keep_only()
    }

    /// Raises the priority of this thread only; threads that show readings do not need it.
    fn set_realtime_priority(&self) -> Result<(), Error> {
        if self.realtime {
            sys::realtime().map_err(|e| Error::failed(format!("--realtime: {e}; this requires CAP_SYS_NICE")))?;
        }
        Ok(())
    }

    fn config(&self, listen: SocketAddr, to: SocketAddr, params: AnyRouterParams) -> Result<Config, Error> {
        let mut file = self.capacity_from.as_deref().map(CapacityFile::new);
        let first = file.as_mut().and_then(CapacityFile::poll).or(self.capacity);
        let Some(capacity) = first.filter(|c| c.bps() > 0.0) else {
            return Err(Error::input(
                "--capacity: requires the rate of the line, above zero, such as \"20 Mb/s\"",
            ));
        };
        let default = Buffer::Bytes(Bytes::new((capacity.bps() / 8.0 / 10.0).max(3000.0) as u64));
        if self.buffer == Some(Buffer::Unlimited) {
            return Err(Error::input(
                "--buffer: must be a size such as \"64 kB\" or \"25 packets\"",
            ));
        }
        let forward = Bottleneck {
            params,
            capacity,
            buffer: self.buffer.unwrap_or(default),
        };
        Ok(Config {
            listen,
            to,
            backward: self.both.then(|| forward.clone()),
            forward,
            delay: self.delay,
            capacity: file,
            id: identity(),
        })
    }

    fn logging(&self) -> Result<Option<Logging>, Error> {
        let Some(path) = &self.journal else { return Ok(None) };
        let values = settings::router_values(&self.law, &self.sets()?).map_err(Error::input)?;
        Logging::create(path, self.params()?.signalling(), values).map(Some)
    }

    fn params(&self) -> Result<AnyRouterParams, Error> {
        settings::router_params(&self.law, &self.sets()?).map_err(Error::input)
    }

    /// Combines `--set`, `--gamma` and `--interval` into settings with the parameter names of the routers.
    fn sets(&self) -> Result<Vec<String>, Error> {
        let params = settings::router_params(&self.law, &[]).map_err(Error::input)?;
        let signalling = params.signalling();
        let mut sets = self.set.clone();
        if let Some(gamma) = self.gamma {
            let name = signalling.routers.utilisation.ok_or_else(|| {
                Error::input(format!(
                    "--gamma: {} fills its link; to leave some of it free, lower --capacity",
                    signalling.name
                ))
            })?;
            sets.push(format!("{name}={gamma}"));
        }
        if let Some(interval) = self.interval {
            let name = signalling.routers.interval.ok_or_else(|| {
                let times = signalling.params.iter().filter(|row| row.unit == Unit::Duration);
                let names: Vec<_> = times.map(|row| row.name).collect();
                Error::input(format!(
                    "--interval: {} derives it from round-trip times; see --set for {}",
                    signalling.name,
                    names.join(", ")
                ))
            })?;
            sets.push(format!("{name}={interval}"));
        }
        Ok(sets)
    }
}

/// Help text of `--law`.
fn laws() -> String {
    let of_relays = settings::law_names(|law| law.signalling.is_explicit() && law.signalling.routers.kernel.is_none());
    let of_both = settings::law_names(|law| law.signalling.routers.kernel.is_some());
    format!("Law of the router: {of_both}; only in a relay: {of_relays}")
}

/// Help text of an option that sets a parameter: the effect, and the parameter's name in each signalling.
fn called(does: &str, name: fn(&SignallingInfo) -> Option<&'static str>) -> String {
    let names: Vec<_> = on_the_wire()
        .filter_map(|own| Some(format!("{} of {}", name(own)?, own.name)))
        .collect();
    format!("{does}: {}", names.join(", "))
}

impl Show {
    fn check(&self) -> Result<(), Error> {
        options::every(self.every)?;
        options::metrics(self.metrics, self.metrics_public)
    }

    /// Runs `work` on this thread while another thread shows readings.
    fn with_display(
        &self,
        board: &Board,
        pid_file: &PidFile,
        stop: &Stop,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (done, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| self.watch(board, pid_file, stop, ended));
            let result = work();
            drop(done);
            result
        })
    }

    fn watch(&self, board: &Board, pid_file: &PidFile, stop: &Stop, ended: Receiver<()>) {
        let start = Instant::now();
        let mut live = Live::new(self.json, self.quiet);
        let end = self.duration.map(|d| start + span(d));
        let (mut show, mut publish) = (start + span(self.every), start);
        loop {
            let due = [Some(show), Some(publish), end]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(show);
            match ended.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                stop.now();
                let _ = ended.recv();
                break;
            }
            if now >= publish {
                pid_file.publish(&board.read());
                publish = now + STATUS_INTERVAL;
            }
            if now >= show {
                live.show(&board.read());
                show = (show + span(self.every)).max(now);
            }
        }
        live.end(&board.read());
    }
}

/// Returns the folders from which a file of the capacity is read: its own, because a script may replace the file, and
/// the folder to which a symbolic link leads.
fn folders(file: &Path) -> [PathBuf; 2] {
    let folder = |file: &Path| {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    };
    let target = std::fs::canonicalize(file);
    [folder(file), folder(target.as_deref().unwrap_or(file))]
}

/// Draws the random identifier that a router writes into headers. Two routers draw the same identifier with probability
/// 2^-32.
fn identity() -> u32 {
    rand::random_range(1..=u32::MAX)
}

/// Stops the router of a device, and removes a filter that a killed router left behind.
fn detach_device(name: &str) -> Result<(), Error> {
    let ended = pid_file::end(&pid_file::directory(), ROUTER, name);
    let left = kernel::detach(name);
    if ended.is_err() && !matches!(left, Ok(true)) {
        return ended;
    }
    left?;
    println!("{name}: detached");
    Ok(())
}
