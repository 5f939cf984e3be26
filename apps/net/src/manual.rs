//! Command `levelflow-net manual`.

use std::path::PathBuf;

use clap::{Args, Command};

use levelflow_host::Error;

const EXAMPLES: &str = "Examples:
  levelflow-net manual --out ~/.local/share/man/man1";

/// Options of `manual`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Manual {
    /// Folder of the pages, which is created if it does not exist.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

impl Manual {
    /// Writes one page for the program and one for each command.
    ///
    /// # Errors
    /// When the folder or a page cannot be written.
    pub fn run(self, levelflow_net: Command) -> Result<(), Error> {
        let written =
            std::fs::create_dir_all(&self.out).and_then(|()| clap_mangen::generate_to(levelflow_net, &self.out));
        written.map_err(|e| Error::failed(format!("{}: {e}", self.out.display())))
    }
}
