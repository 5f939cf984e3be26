//! `levelflow-net`: see `levelflow-net --help`.

use std::process::ExitCode;

use clap::Parser;
use levelflow_net::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("levelflow-net: {error}");
            ExitCode::from(error.status())
        }
    }
}
