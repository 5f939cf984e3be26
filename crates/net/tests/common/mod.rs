//! What tests that need privileges share.

/// Says whether this may run here, and on the terminal why not.
pub fn privileged(test: &str) -> bool {
    match levelflow_net::testbed::Namespace::new("probe") {
        Ok(_) => true,
        Err(error) => {
            eprintln!("SKIPPED {test}: {error}");
            false
        }
    }
}

/// Leaves a test that may not run here.
#[macro_export]
macro_rules! needs_root {
    ($test:literal) => {
        if !$crate::common::privileged($test) {
            return;
        }
    };
}
