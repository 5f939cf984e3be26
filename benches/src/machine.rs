//! Machine that runs the measurements, and its load.

use std::fs;

use serde::Serialize;

/// Machine and its state.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Number of CPUs.
    pub processors: usize,
    /// Release of the machine's kernel.
    pub kernel: String,
    /// True if this program was built without debug assertions.
    pub release: bool,
    /// Load average over the minute before the measurement. If the load is above zero, other processes were running.
    pub load_before: Option<f64>,
    /// Load average over the last minute of the measurement. It includes the load of the measurement.
    pub load_after: Option<f64>,
}

impl Machine {
    /// Reads the current state of the machine.
    #[must_use]
    pub fn now() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel.trim().to_owned(),
            release: !cfg!(debug_assertions),
            load_before: load(),
            load_after: None,
        }
    }

    /// Records the load average at the end of the measurement.
    pub fn finish(&mut self) {
        self.load_after = load();
    }
}

fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}
