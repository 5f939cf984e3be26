//! Names of the program, and its errors.

use levelflow_host::Error;

/// Name of the program, as `bpftool net` shows it.
pub const PROGRAM: &str = "levelflow";

/// One line from the kernel's error; mostly, privileges are missing.
pub(super) fn failed(what: &str, error: &dyn std::error::Error) -> Error {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    let line = text.lines().next().unwrap_or_default().to_owned();
    let hint = if text.contains("os error 1)") || text.contains("os error 13)") {
        "; it takes root, or the capabilities BPF and NET_ADMIN"
    } else {
        ""
    };
    Error::failed(format!("kernel router: {what}: {line}{hint}"))
}
