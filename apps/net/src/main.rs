//! Command-line program `levelflow-net`; see `levelflow-net --help`.

mod abs;
mod command;
mod completion;
mod dissector;
mod link;
mod manual;
mod options;
mod probe;
mod recv;
mod remedies;
mod router;
mod send;
mod testbed;

use std::process::ExitCode;

use clap::Parser;
use command::Cli;
use levelflow_host::{Error, terminal};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return end(&Error::input(one_line(&error.to_string()))),
        Err(help) => help.exit(),
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => end(&error),
    }
}

fn end(error: &Error) -> ExitCode {
    terminal::warn(error);
    ExitCode::from(error.status())
}

/// Returns clap's error message as one line, without usage and advice.
fn one_line(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let all = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    all.strip_prefix("error: ").unwrap_or(&all).to_owned()
}
