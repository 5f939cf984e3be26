//! What tests that need privileges share.

/// Says whether this may run here, and on the terminal why not.
///
/// # Panics
/// If ours is the fault: where `unshare` gets a network namespace, we have to.
pub fn privileged(test: &str) -> bool {
    let Err(error) = levelflow_net::testbed::Namespace::new("probe") else {
        return true;
    };
    let unshare = std::process::Command::new("unshare").args(["--net", "true"]).status();
    assert!(!unshare.is_ok_and(|s| s.success()), "{error}");
    eprintln!("SKIPPED {test}: {error}");
    false
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
