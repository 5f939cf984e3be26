//! What tests of the data plane share: namespaces and devices, traffic, flows in real and in virtual time, and programs that end with the test.
//!
//! Only tests depend on this crate.

pub mod again;
pub mod device;
pub mod finish;
pub mod flows;
pub mod guard;
pub mod hosts;
pub mod program;
pub mod relay;
pub mod send;
pub mod traffic;
pub mod world;

pub use levelflow_router::kernel::COMPILED;

/// Says whether this may run here, and on the terminal why not.
///
/// # Panics
/// If ours is the fault: where `unshare` gets a network namespace, we have to.
#[must_use]
pub fn privileged(test: &str) -> bool {
    let Err(error) = levelflow_testbed::Namespace::new("probe") else {
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
        if !$crate::privileged($test) {
            return;
        }
    };
}

/// Leaves a test of the router in the kernel where there is none.
#[macro_export]
macro_rules! needs_kernel {
    ($test:literal) => {
        $crate::needs_root!($test);
        if !$crate::COMPILED {
            return eprintln!("SKIPPED {}: this build has no kernel router; install clang", $test);
        }
    };
}
