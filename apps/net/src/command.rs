//! Command line of `levelflow-net`; each command has its own file.

use clap::{CommandFactory, Parser, Subcommand};

use levelflow_host::Error;

use crate::{abs, completion, dissector, link, manual, probe, recv, router, send, testbed};

macro_rules! version {
    ($router:literal, $linked:literal) => {
        concat!(
            env!("CARGO_PKG_VERSION"),
            "\nkernel router: ",
            $router,
            "\nlinked: ",
            $linked
        )
    };
}

/// Version, support for `router --dev` and `testbed --form kernel`, and independence from the system's C library.
const VERSION: &str = match (levelflow_router::kernel::COMPILED, cfg!(target_env = "musl")) {
    (true, true) => version!("yes", "statically"),
    (true, false) => version!("yes", "dynamically"),
    (false, true) => version!("no; install clang and build again", "statically"),
    (false, false) => version!("no; install clang and build again", "dynamically"),
};

/// Levelflow on real networks: routers that signal rates, senders that follow them, and tools that emulate and measure
/// links.
#[derive(Debug, Parser)]
#[command(name = "levelflow-net", version = VERSION, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Adjusts the buffer of a real queue to targets of utilisation, loss and delay.
    Abs(abs::Abs),
    /// Prints a script for shell completion of commands and options.
    Completion(completion::Completion),
    /// Prints a dissector in Lua for Wireshark and tshark, which decodes shims and headers.
    Dissector(dissector::Dissector),
    Link(Box<link::Link>),
    /// Writes manual pages of all commands into a folder.
    Manual(manual::Manual),
    /// Measures a line: latency idle and under load (bufferbloat), capacity and buffer; can write it as a scenario.
    Probe(probe::Probe),
    /// Runs the router of a law at a bottleneck: in a UDP relay, or in the kernel at a device.
    Router(router::Router),
    /// Generates load: paced flows of a law, sent to a `recv`.
    Send(send::Send),
    /// Receives load: acknowledges its packets, and prints throughput, loss and delay.
    Recv(recv::Recv),
    /// Runs a scenario of the simulator on a real network inside this machine, and writes the same result files.
    Testbed(testbed::Testbed),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        match self.command {
            Command::Abs(command) => command.run(),
            Command::Completion(command) => command.run(Cli::command()),
            Command::Dissector(command) => command.run(),
            Command::Link(command) => command.run(),
            Command::Manual(command) => command.run(Cli::command()),
            Command::Probe(command) => command.run(),
            Command::Router(command) => command.run(),
            Command::Send(command) => command.run(),
            Command::Recv(command) => command.run(),
            Command::Testbed(command) => command.run(),
        }
    }
}
