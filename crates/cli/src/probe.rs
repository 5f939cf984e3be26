//! `levelflow-net probe`.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use levelflow_units::{Duration, Rate, Time};

use super::options::{above_zero, address};
use levelflow_host::format::short_rate;
use levelflow_host::stop::Stop;
use levelflow_host::{Error, terminal};
use levelflow_probe::search::Part;
use levelflow_probe::{Limits, Probe as Probing, Report, Stage, live};

const EXAMPLES: &str = "Examples:
  On a machine beyond the line, such as a rented server:
    levelflow-net probe --serve :9003
  At home; it takes half a minute:
    levelflow-net probe server.example:9003
    levelflow-net probe server.example:9003 --max-rate \"50 Mb/s\" --scenario line.toml --json
  Then compare buffers and queue disciplines on that line:
    levelflow buffers line.toml --link \"home->net\" --utilisation 0.95 --loss 0.02

Latency under load is bufferbloat. Packets as of a call measure it while load fills the line, up, then
down. Close what else uses the line. Grades, by what load adds to the round trip: A+ below 5 ms,
A 30, B 60, C 200, D 400, else F. Rates and sizes count from the Ethernet header on.";

/// Options of `probe`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Probe {
    /// Where `levelflow-net probe --serve` runs, as HOST:PORT.
    #[arg(required_unless_present = "serve", conflicts_with = "serve")]
    to: Option<String>,
    /// Is the far end, for one at a time: answers, counts load, and sends load to who proved its address; ":9003" is every IPv4
    /// address of the machine, "[::]:9003" every address.
    #[arg(long, value_name = "ADDRESS")]
    serve: Option<String>,
    /// Longest time of load in each direction; a far end serves one no longer than a minute and four times this.
    #[arg(long, value_name = "TIME", default_value = "12 s")]
    time: Duration,
    /// Largest load, on the wire.
    #[arg(long, value_name = "RATE", default_value = "1 Gb/s")]
    max_rate: Rate,
    /// Ends serving after this time.
    #[arg(long = "for", value_name = "TIME", requires = "serve")]
    ends: Option<Duration>,
    /// Writes a scenario of the line to this file, for `levelflow run`, `buffers` and `study`.
    #[arg(long, value_name = "FILE.toml", conflicts_with = "serve")]
    scenario: Option<PathBuf>,
    /// One object of JSON: times in seconds, rates in bit/s, sizes in bytes, shares of 1.
    #[arg(long)]
    json: bool,
    /// No progress.
    #[arg(long)]
    quiet: bool,
}

/// What a probe may take, per direction.
const TIMES: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(120));

impl Probe {
    /// Measures, or serves.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub fn run(self) -> Result<(), Error> {
        let (low, high) = TIMES;
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
        let outcome = live::probe(at, self.time, self.max_rate, &stop, |now, probe| {
            if shows {
                eprint!("\r\x1b[K{}", progress(now, probe));
            }
        });
        if shows {
            eprint!("\r\x1b[K");
        }
        let Some(outcome) = outcome? else {
            return Err(Error::failed("interrupted; nothing is known yet"));
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

/// Refuses a file that could not be written, before half a minute is spent; says nothing of one that could.
fn writable(path: &Path) -> Result<(), Error> {
    let wrong = |why: &str| Error::input(format!("--scenario {}: {why}", path.display()));
    if path.exists() {
        return Err(wrong("is there; give another name"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(wrong("no such directory"));
    }
    Ok(())
}

fn progress(now: Time, probe: &Probing) -> String {
    let (rate, trip) = probe.now_at();
    let load = |way: &str, part: Part| {
        let doing = match part {
            Part::Ramp => "looks for its rate",
            Part::Fill => "fills its buffer",
            Part::Steady | Part::Over => "keeps it full",
        };
        format!(
            "{way}: {} {doing}, round trip {:.0} ms",
            short_rate(rate),
            trip.as_secs_f64() * 1e3
        )
    };
    let doing = match probe.stage() {
        Stage::Greet => "greets the far end".to_owned(),
        Stage::Idle => "idle line".to_owned(),
        Stage::Up(part) => load("up", part),
        Stage::Drain => "waits until the buffer is empty".to_owned(),
        Stage::Down(part) => load("down", part),
        Stage::Done => "done".to_owned(),
    };
    format!("{:4.0} s  {doing}", now.as_secs_f64())
}
