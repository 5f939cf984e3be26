//! Common code for tests of the data plane: namespaces and devices, traffic, and flows in real and virtual time.
//! Programs started with this crate end with the test.
//!
//! Only tests depend on this crate.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "helpers of tests panic on what they do not expect"
)]

pub mod again;
pub mod device;
pub mod finish;
pub mod flows;
pub mod guard;
pub mod hosts;
pub mod link;
pub mod program;
pub mod relay;
pub mod send;
pub mod traffic;
pub mod world;

pub use levelflow_router::kernel::COMPILED;

use std::fmt::Display;

/// Reports on standard error that a test is skipped. The machine lacks a requirement, such as `root`, `clang` or
/// `ethtool`.
///
/// # Panics
/// If the environment variable `LEVELFLOW_REQUIRE`, a list of names separated by commas, contains `lacks`. No test may
/// be skipped because of a requirement in this list.
pub fn skip(test: &str, lacks: &str, why: impl Display) {
    let required = std::env::var("LEVELFLOW_REQUIRE").unwrap_or_default();
    assert!(
        !is_required(&required, lacks),
        "{test}: LEVELFLOW_REQUIRE contains {lacks}, but {why}"
    );
    eprintln!("SKIPPED {test}: {why}");
}

fn is_required(required: &str, name: &str) -> bool {
    required.split(',').any(|one| one.trim() == name)
}

/// Returns true if a test may create network namespaces. Otherwise, reports the test as [skipped](skip).
///
/// # Panics
/// If `unshare` can create a network namespace, but this program cannot. Also if [`skip`] panics.
#[must_use]
pub fn privileged(test: &str) -> bool {
    let Err(error) = levelflow_testbed::Namespace::new("probe") else {
        return true;
    };
    let unshare = std::process::Command::new("unshare").args(["--net", "true"]).status();
    assert!(!unshare.is_ok_and(|s| s.success()), "{error}");
    skip(test, "root", error);
    false
}

/// Returns from a test that needs root, if namespaces are not permitted.
#[macro_export]
macro_rules! needs_root {
    ($test:literal) => {
        if !$crate::privileged($test) {
            return;
        }
    };
}

/// Returns from a test that takes half a minute, except in full mode: `make test FULL=1`.
#[macro_export]
macro_rules! needs_full {
    ($test:literal) => {
        if std::env::var_os("LEVELFLOW_FULL").is_none() {
            return $crate::skip($test, "full", "it takes half a minute; make test FULL=1 runs it");
        }
    };
}

/// Returns from a test if the kernel router is not available.
#[macro_export]
macro_rules! needs_kernel {
    ($test:literal) => {
        $crate::needs_root!($test);
        if !$crate::COMPILED {
            return $crate::skip($test, "clang", "this build has no kernel router; install clang");
        }
    };
}

#[cfg(test)]
mod tests {
    use super::is_required;

    #[test]
    fn only_whole_names_are_required() {
        for name in ["root", "clang", "tshark"] {
            assert!(is_required("root, clang,tshark", name));
            assert!(!is_required("", name) && !is_required("roots,clan", name));
        }
    }
}
