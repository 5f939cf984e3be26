//! Command `levelflow-net dissector`.

use std::io::Write;

use clap::Args;

use levelflow_host::Error;

const SCRIPT: &str = include_str!("../wireshark/levelflow.lua");

const EXAMPLES: &str = "Examples:
  levelflow-net dissector > ~/.local/lib/wireshark/plugins/levelflow.lua
  levelflow-net dissector > levelflow.lua && tshark -X lua_script:levelflow.lua -i eth0";

/// Options of `dissector`. There are none.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::empty_structs_with_brackets,
    reason = "clap derives no arguments of a unit struct"
)]
pub struct Dissector {}

impl Dissector {
    /// Prints the script.
    ///
    /// # Errors
    /// When the output is closed.
    #[expect(clippy::unused_self, reason = "every command runs like this")]
    pub fn run(&self) -> Result<(), Error> {
        let mut out = std::io::stdout().lock();
        let written = out.write_all(SCRIPT.as_bytes()).and_then(|()| out.flush());
        written.map_err(|e| Error::failed(format!("dissector: {e}")))
    }
}
