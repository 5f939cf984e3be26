//! Command `levelflow-net probe`.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use levelflow_units::{Duration, Rate, Time};

use super::options::{above_zero, address, drop_rights};
use super::remedies::{self, remedies};
use levelflow_host::format::short_rate;
use levelflow_host::stop::Stop;
use levelflow_host::{Error, terminal};
use levelflow_probe::l4s::L4s;
use levelflow_probe::search::LoadStep;
use levelflow_probe::{Limits, Phase, Probe as Probing, Report, live};

const EXAMPLES: &str = "Examples:
  On a machine beyond the line, such as a rented server:
    levelflow-net probe --serve :9003
  At home; it takes half a minute:
    levelflow-net probe server.example:9003
    levelflow-net probe server.example:9003 --tcp --what-if
    levelflow-net probe server.example:9003 --l4s
    levelflow-net probe server.example:9003 --max-rate \"50 Mb/s\" --scenario line.toml --json
  Then compare buffers and queue disciplines on that line:
    levelflow buffers line.toml --link \"home->net\" --utilisation 0.95 --loss 0.02

Latency under load is bufferbloat. Small packets like those of a call measure it while load fills the
line, first up, then down. Stop other traffic on the line. Grades by the added latency: A+ below 5 ms,
A 30, B 60, C 200, D 400, else F. Rates and sizes count from the Ethernet header on.";

/// Options of `probe`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Probe {
    /// Address of `levelflow-net probe --serve`, as HOST:PORT.
    #[arg(required_unless_present = "serve", conflicts_with = "serve")]
    to: Option<String>,
    /// Runs the far end, for one client at a time: replies to pings, counts load, and sends load to clients that proved
    /// their address. ":9003" is every IPv4 address of the machine, "[::]:9003" every address.
    #[arg(long, value_name = "ADDRESS")]
    serve: Option<String>,
    /// Limit on the time of load in each direction. A far end serves each client for at most one minute plus four times
    /// this limit.
    #[arg(long, value_name = "TIME", default_value = "12 s")]
    time: Duration,
    /// Limit on the rate of load, on the wire.
    #[arg(long, value_name = "RATE", default_value = "1 Gb/s")]
    max_rate: Rate,
    /// Stops serving after this time.
    #[arg(long = "for", value_name = "TIME", requires = "serve")]
    ends: Option<Duration>,
    /// Then loads both directions at once with TCP, and measures the round trips per minute (RPM) of
    /// draft-ietf-ippm-responsiveness. `--tcp=reno` sets the congestion control of both ends. Takes up to twice
    /// `--time`. Excludes `--max-rate`, which cannot bound the load of TCP.
    #[arg(
        long,
        value_name = "CONTROL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["serve", "max_rate"]
    )]
    tcp: Option<String>,
    /// Simulates fq_codel, cake and dualpi2 on the measured line, and prints the commands that set them.
    #[arg(long, conflicts_with = "serve")]
    what_if: bool,
    /// Tests for L4S, too: the ECN fields that arrive, the delays at which packets are marked, and the delay of packets
    /// with ECT(1) next to load without ECN. Takes half a minute longer.
    #[arg(long, conflicts_with = "serve")]
    l4s: bool,
    /// Writes the line as a scenario to this file, for `levelflow run`, `buffers` and `study`.
    #[arg(long, value_name = "FILE.toml", conflicts_with = "serve")]
    scenario: Option<PathBuf>,
    /// Prints a JSON object: times in seconds, rates in bit/s, sizes in bytes, losses as fractions.
    #[arg(long)]
    json: bool,
    /// Hides the progress.
    #[arg(long)]
    quiet: bool,
}

/// Allowed range of `--time`, the time of load in each direction.
const PHASE_TIME_RANGE: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(120));

impl Probe {
    /// Measures a line, or serves other probes.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        let (low, high) = PHASE_TIME_RANGE;
        if !(low..=high).contains(&self.time) {
            return Err(Error::input(format!("--time {}: {low} to {high}", self.time)));
        }
        above_zero("--max-rate", self.max_rate.bps(), "\"100 Mb/s\"")?;
        match (&self.serve, &self.to) {
            (Some(at), _) => self.serve(at),
            (None, Some(to)) => self.measure(to),
            (None, None) => Err(Error::input("needs HOST:PORT, or --serve ADDRESS")),
        }
    }

    fn serve(&self, at: &str) -> Result<(), Error> {
        let limits = Limits {
            max_rate: self.max_rate,
            time: Duration::from_secs(60) + self.time * 4,
        };
        let at = address("--serve", at)?;
        let stop = Stop::on_signals()?;
        let said = |text: String| {
            if !self.quiet && !self.json {
                let _ = writeln!(std::io::stdout(), "{text}");
            }
        };
        let sockets = live::bind(at)?;
        drop_rights(false)?;
        let sessions = live::serve(
            &sockets,
            limits,
            self.ends,
            &stop,
            |at| said(format!("listening at {at}")),
            |who| said(who.map_or_else(|| "done".to_owned(), |ip| format!("serving {ip}"))),
        )?;
        if self.json {
            println!("{}", serde_json::json!({ "sessions": sessions }));
        }
        Ok(())
    }

    fn measure(&self, to: &str) -> Result<(), Error> {
        let at = address("TO", to)?;
        // Rights to a folder hold for all folders in it, so the file is opened before rights are dropped.
        let scenario = self.scenario.as_deref().map(create).transpose()?;
        let stop = Stop::on_signals()?;
        let shows = !self.quiet && !self.json && std::io::stderr().is_terminal();
        drop_rights(self.tcp.is_some())?;
        let show = |text: String| {
            if shows {
                eprint!("\r\x1b[K{text}");
            }
        };
        let interrupted = || Error::failed("interrupted before the measurement was complete");
        let mut line = live::Line::new(at, &stop)?;
        let outcome = line.measure(self.time, self.max_rate, |now, probe| show(progress(now, probe)));
        show(String::new());
        let outcome = outcome?.ok_or_else(interrupted)?;
        let mut report = Report::new(&outcome);
        if let Some(control) = &self.tcp {
            let tcp = line.test_tcp(control, self.time * 2, |now, connections| {
                show(format!(
                    "{:4.0} s  TCP up and down, {connections} connections each",
                    now.as_secs_f64()
                ));
            });
            show(String::new());
            report.add_tcp(tcp?.ok_or_else(interrupted)?);
        }
        if self.l4s {
            let ecn = line.test_ecn(&outcome, |now, probe| {
                show(format!("{:4.0} s  L4S, {}", now.as_secs_f64(), probe.doing()));
            });
            show(String::new());
            report.l4s = Some(L4s::new(&ecn?.ok_or_else(interrupted)?, &outcome));
        }
        let remedies = if self.what_if { remedies(&report)? } else { Vec::new() };
        if let (Some(mut file), Some(path)) = (scenario, &self.scenario) {
            file.write_all(report.scenario().as_bytes())
                .map_err(|e| Error::failed(format!("{}: {e}", path.display())))?;
        }
        let mut out = std::io::stdout().lock();
        let _ = if self.json {
            let mut printed = serde_json::to_value(&report).map_err(Error::failed)?;
            if self.what_if {
                printed["what_if"] = serde_json::to_value(&remedies).map_err(Error::failed)?;
            }
            writeln!(out, "{printed}")
        } else {
            let table = if self.what_if {
                remedies::text(&remedies)
            } else {
                String::new()
            };
            write!(out, "{}{table}", report.text())
        };
        if let (Some(path), false) = (&self.scenario, self.json) {
            let path = path.display().to_string();
            let _ = writeln!(out, "{} holds the line as a scenario", terminal::plain(&path));
        }
        Ok(())
    }
}

/// Creates the file of a scenario. An empty file is accepted: a failed measurement leaves one behind, because it no
/// longer has the right to remove it.
fn create(path: &Path) -> Result<File, Error> {
    let wrong = |why: &str| Error::input(format!("--scenario {}: {why}", path.display()));
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > 0) {
        return Err(wrong("already exists; choose another name"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(wrong("no such directory"));
    }
    let mut new = File::options();
    let opened = new.create(true).truncate(false).write(true).open(path);
    opened.map_err(|e| wrong(&e.to_string()))
}

fn progress(now: Time, probe: &Probing) -> String {
    let (rate, trip) = probe.now_at();
    let load = |way: &str, part: LoadStep| {
        let doing = match part {
            LoadStep::Ramp => "finds the capacity",
            LoadStep::Fill => "fills the buffer",
            LoadStep::Steady | LoadStep::Over => "keeps the buffer full",
        };
        format!(
            "{way}: {} {doing}, round trip {:.0} ms",
            short_rate(rate),
            trip.as_secs_f64() * 1e3
        )
    };
    let doing = match probe.stage() {
        Phase::Handshake => "handshake with the far end".to_owned(),
        Phase::Idle => "idle line".to_owned(),
        Phase::Up(part) => load("up", part),
        Phase::Drain => "waits until the buffer is empty".to_owned(),
        Phase::Down(part) => load("down", part),
        Phase::Done => "done".to_owned(),
    };
    format!("{:4.0} s  {doing}", now.as_secs_f64())
}
