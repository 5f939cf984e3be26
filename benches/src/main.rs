//! Command-line program `levelflow-benches`; see `levelflow-benches --help`.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;

use levelflow_benches::{Effort, Report, Row, run};
use levelflow_host::{Error, terminal};

const EXAMPLES: &str = "Examples:
  cargo build --release -p levelflow-benches
  sudo target/release/levelflow-benches --quick             # a first look, less than half a minute
  sudo target/release/levelflow-benches --json > cost.json  # all rounds, about two minutes

Parts, each compared with the same work without Levelflow:
  kernel     packets forwarded between virtual devices, with and without the router, and the
             end of its control interval (root)
  buffer     packets forwarded through a pfifo and a tbf with a fixed limit, and with a limit
             that `levelflow-net abs` sets ten times a second (root)
  relay      datagrams through the relay, with and without headers of a law
  intervals  the law's computation at the end of a control interval

A ratio divides a case by the first case of its part; it is the median over rounds.
docs/guides/what-it-costs.md explains the other columns.";

/// Measures the overhead of routers, relays and shims on this machine.
#[derive(Debug, Parser)]
#[command(name = "levelflow-benches", version, max_term_width = 100, after_help = EXAMPLES)]
struct Bench {
    /// Measures fewer rounds with fewer packets.
    #[arg(long)]
    quick: bool,
    /// Prints the report as JSON, without progress messages.
    #[arg(long)]
    json: bool,
}

impl Bench {
    fn run(&self) -> Result<(), Error> {
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let shows = !self.json && std::io::stderr().is_terminal();
        let report = run(effort, |part| {
            if shows {
                eprintln!("measures {part} ...");
            }
        })?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report).map_err(Error::failed)?);
        } else {
            print(&report);
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match Bench::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::warn(&error);
            ExitCode::from(error.status())
        }
    }
}

fn print(report: &Report) {
    let machine = &report.machine;
    let load = |load: Option<f64>| load.map_or_else(|| "?".to_owned(), |load| format!("{load:.1}"));
    println!(
        "{} processors, Linux {}, load {} before and {} after{}",
        machine.processors,
        machine.kernel,
        load(machine.load_before),
        load(machine.load_after),
        if machine.release { "" } else { "; this is a debug build" }
    );
    for skipped in &report.skipped {
        println!("skipped {skipped}");
    }
    let mut part = "";
    for row in &report.rows {
        if row.part != part {
            part = row.part;
            let counted = report.rows.iter().any(|r| r.part == part && r.program_ns.is_some());
            heading(row, if counted { "in program" } else { "" });
        }
        line(row);
    }
}

fn heading(row: &Row, last: &str) {
    let rounds = if row.rounds == 1 { "round" } else { "rounds" };
    println!("\n{}, {} {rounds}", row.part, row.rounds);
    let line = format!(
        "  {:20} {:>12} {:>6} {:>13} {:>13} {:>6} {last:>11}",
        "",
        format!("ns/{}", row.unit),
        "ratio",
        "from .. to",
        format!("{}/s", row.unit),
        "ratio"
    );
    println!("{}", line.trim_end());
}

fn line(row: &Row) {
    let (least, most) = row.ratios;
    let inside = row.program_ns.map_or_else(String::new, |ns| format!("{ns:.0} ns"));
    let line = format!(
        "  {:20} {:>12.0} {:>6.2} {:>13} {:>13.0} {:>6.2} {inside:>11}",
        row.case,
        row.ns,
        row.ratio,
        format!("{least:.2} .. {most:.2}"),
        row.per_second,
        row.speed_ratio
    );
    println!("{}", line.trim_end());
}
