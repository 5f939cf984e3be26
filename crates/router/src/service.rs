//! Router as a service, and the line that `status` prints for it. A device or an address has at most one router.

use levelflow_host::pid_file::{Owner, Service, State};

/// Names and commands of the service.
pub const ROUTER: Service = Service {
    name: "router",
    noun: "router",
    end: "levelflow-net router detach",
    status: "levelflow-net router status",
};

/// Returns the status line of a running router.
#[must_use]
pub fn line(state: &State) -> String {
    let Owner { pid, place, .. } = &state.owner;
    let reading = |name: &str| state.reading.get(name).cloned().unwrap_or_default();
    let law = reading("law");
    let law = law.as_str().filter(|law| !law.is_empty()).unwrap_or("starting");
    format!(
        "{place}: {law} (process {pid}), {} packets, {} stamped, {} dropped",
        reading("packets"),
        reading("stamped"),
        reading("dropped"),
    )
}
