//! Commands that have moved.

use clap::Args;
use levelflow_host::Error;

/// Whatever `bench` was given.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Bench {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _options: Vec<String>,
}

impl Bench {
    /// Says where it went.
    ///
    /// # Errors
    /// Always.
    #[expect(clippy::unused_self, reason = "every command runs like this")]
    pub fn run(&self) -> Result<(), Error> {
        Err(Error::input(
            "bench: is no command of levelflow-net any more; in a checkout, run: cargo run --release -p levelflow-benches",
        ))
    }
}
