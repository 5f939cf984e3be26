//! Command `levelflow-net completion`.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use levelflow_host::Error;

const EXAMPLES: &str = "Examples:
  levelflow-net completion bash > ~/.local/share/bash-completion/completions/levelflow-net
  levelflow-net completion fish > ~/.config/fish/completions/levelflow-net.fish";

/// Options of `completion`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completion {
    /// Shell that runs the script.
    shell: Shell,
}

impl Completion {
    /// Prints the completion script of the command line.
    ///
    /// # Errors
    /// When the output is closed.
    pub fn run(&self, mut levelflow_net: Command) -> Result<(), Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut levelflow_net, "levelflow-net", &mut script);
        // For bash, clap_complete 4.6 writes the hyphen of the program's name in two ways. Without this replacement,
        // bash would offer no options.
        let script = String::from_utf8_lossy(&script).replace("levelflow__subcmd__net", "levelflow__net");
        let mut out = std::io::stdout().lock();
        let written = out.write_all(script.as_bytes()).and_then(|()| out.flush());
        written.map_err(|e| Error::failed(format!("completion: {e}")))
    }
}
