//! Command `levelflow-net probe`.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use levelflow_units::{Duration, Rate, Time};

use super::options::{above_zero, address, drop_rights};
use levelflow_host::format::short_rate;
use levelflow_host::stop::Stop;
use levelflow_host::{Error, terminal};
use levelflow_probe::search::LoadStep;
use levelflow_probe::{Limits, Phase, Probe as Probing, Report, live};

const EXAMPLES: &str = "Examples:
  On a machine beyond the line, such as a rented server:
    levelflow-net probe --serve :9003
  At home; it takes half a minute:
    levelflow-net probe server.example:9003
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
        drop_rights(None)?;
        let sessions = live::serve(
            at,
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
        if let Some(path) = &self.scenario {
            writable(path)?;
        }
        let at = address("TO", to)?;
        let stop = Stop::on_signals()?;
        let shows = !self.quiet && !self.json && std::io::stderr().is_terminal();
        drop_rights(self.scenario.as_deref())?;
        let outcome = live::probe(at, self.time, self.max_rate, &stop, |now, probe| {
            if shows {
                eprint!("\r\x1b[K{}", progress(now, probe));
            }
        });
        if shows {
            eprint!("\r\x1b[K");
        }
        let Some(outcome) = outcome? else {
            return Err(Error::failed("interrupted before the measurement was complete"));
        };
        let report = Report::new(&outcome);
        if let Some(path) = &self.scenario {
            std::fs::write(path, report.scenario()).map_err(|e| Error::failed(format!("{}: {e}", path.display())))?;
        }
        let mut out = std::io::stdout().lock();
        let _ = if self.json {
            writeln!(out, "{}", serde_json::to_string(&report).map_err(Error::failed)?)
        } else {
            write!(out, "{}", report.text())
        };
        if let (Some(path), false) = (&self.scenario, self.json) {
            let path = path.display().to_string();
            let _ = writeln!(out, "{} holds the line as a scenario", terminal::plain(&path));
        }
        Ok(())
    }
}

/// Rejects an output file that cannot be created, before the measurement starts.
fn writable(path: &Path) -> Result<(), Error> {
    let wrong = |why: &str| Error::input(format!("--scenario {}: {why}", path.display()));
    if path.exists() {
        return Err(wrong("already exists; choose another name"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(wrong("no such directory"));
    }
    Ok(())
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
