//! Name of the BPF program, and its error messages.

use levelflow_host::Error;

/// Name of the BPF program. `bpftool net` shows this name.
pub const PROGRAM: &str = "levelflow";

/// Formats the kernel's error as one line. Adds a hint if privileges are missing.
pub(super) fn failed(what: &str, error: &dyn std::error::Error) -> Error {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    let line = text.lines().next().unwrap_or_default().to_owned();
    let hint = if text.contains("os error 1)") || text.contains("os error 13)") {
        "; this requires root, or the capabilities BPF and NET_ADMIN"
    } else {
        ""
    };
    Error::failed(format!("kernel router: {what}: {line}{hint}"))
}
