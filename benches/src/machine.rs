//! On what was measured, and what else went on there.

use std::fs;

use serde::Serialize;

/// The machine and its state.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Processors.
    pub processors: usize,
    /// Release of the kernel.
    pub kernel: String,
    /// Whether this program was built for use, not for tests.
    pub release: bool,
    /// Load average of the last minute before the measurement; above zero means that it was not alone.
    pub load_before: Option<f64>,
    /// The same after it, its own load included.
    pub load_after: Option<f64>,
}

impl Machine {
    /// As it is now.
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

    /// The measurement is over.
    pub fn finish(&mut self) {
        self.load_after = load();
    }
}

fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}
