//! Output of a run: progress, and the message after an early stop.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};
use levelflow_host::Error;
use levelflow_testbed::Outcome;

/// Progress bar with the remaining time; hidden if standard error is not a terminal.
pub(super) fn bar(name: &str, seconds: f64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new((seconds * 1e3) as u64);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar
}

/// Prints a text; ignores errors of a closed output.
pub(super) fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Returns the error that reports a stopped run.
pub(super) fn stopped(outcome: &Outcome) -> Error {
    let (path, until) = (outcome.path.display(), outcome.until_s);
    Error::failed(format!("stopped at {until} s; {path} is complete up to then"))
}
