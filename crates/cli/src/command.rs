//! The command line: one file per command.

use clap::{CommandFactory, Parser, Subcommand};

use levelflow_host::Error;

use crate::{abs, completion, copy, dissector, gone, link, probe, recv, router, send, serve, testbed};

/// Version, and whether `router --dev` and `testbed --form kernel` work in this build.
const VERSION: &str = if levelflow_router::kernel::COMPILED {
    concat!(env!("CARGO_PKG_VERSION"), "\nkernel router: yes")
} else {
    concat!(
        env!("CARGO_PKG_VERSION"),
        "\nkernel router: no; install clang and build again"
    )
};

/// Levelflow on real networks: routers that say what they can carry, senders that listen.
#[derive(Debug, Parser)]
#[command(name = "levelflow-net", version = VERSION, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Sizes the buffer of a real queue by targets of utilisation, loss and delay.
    Abs(abs::Abs),
    #[command(hide = true)]
    Bench(gone::Bench),
    /// Prints a script with which a shell completes commands and options.
    Completion(completion::Completion),
    /// Copies files to or from a server, at the rate that the network sets.
    Copy(copy::Copy),
    /// Prints the dissector for Wireshark and tshark, a script in Lua, which shows shims and headers.
    Dissector(dissector::Dissector),
    Link(Box<link::Link>),
    /// Measures a line: latency idle and loaded (bufferbloat), capacity, buffer; writes a scenario of it.
    Probe(probe::Probe),
    /// Runs a law at a bottleneck: tells senders what it can carry.
    Router(router::Router),
    /// Generates load: flows of a law, each packet paced, to a `recv`.
    Send(send::Send),
    /// Answers the packets of senders and says what arrived, and how late.
    Recv(recv::Recv),
    /// Runs a scenario of the simulator on a real network inside this machine, and leaves the same result files.
    Testbed(testbed::Testbed),
    /// Serves the files of a directory to `copy`.
    Serve(serve::Serve),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub fn run(self) -> Result<(), Error> {
        match self.command {
            Command::Abs(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Completion(command) => command.run(Cli::command()),
            Command::Copy(command) => command.run(),
            Command::Dissector(command) => command.run(),
            Command::Link(command) => command.run(),
            Command::Probe(command) => command.run(),
            Command::Router(command) => command.run(),
            Command::Send(command) => command.run(),
            Command::Recv(command) => command.run(),
            Command::Testbed(command) => command.run(),
            Command::Serve(command) => command.run(),
        }
    }
}
