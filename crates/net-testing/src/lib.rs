//! What tests of the data plane share: namespaces and devices, traffic, flows in real and in virtual time, and programs that end with the test.
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
pub mod late;
pub mod link;
pub mod program;
pub mod relay;
pub mod send;
pub mod traffic;
pub mod world;

pub use levelflow_router::kernel::COMPILED;

use std::fmt::Display;

/// Says on the terminal that a test is skipped since the machine lacks something: `root`, `clang` or `ethtool`.
///
/// # Panics
/// If `LEVELFLOW_REQUIRE`, names with commas between them, has that name: what is required is not skipped.
pub fn skip(test: &str, lacks: &str, why: impl Display) {
    let required = std::env::var("LEVELFLOW_REQUIRE").unwrap_or_default();
    assert!(
        !is_required(&required, lacks),
        "{test}: LEVELFLOW_REQUIRE has {lacks}, but {why}"
    );
    eprintln!("SKIPPED {test}: {why}");
}

fn is_required(required: &str, name: &str) -> bool {
    required.split(',').any(|one| one.trim() == name)
}

/// Whether a test may make network namespaces; if not, it is [skipped](skip).
///
/// # Panics
/// If the fault is ours: where `unshare` gets a network namespace, we have to. And as [`skip`] does.
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

/// Leaves a test that may not run here.
#[macro_export]
macro_rules! needs_root {
    ($test:literal) => {
        if !$crate::privileged($test) {
            return;
        }
    };
}

/// Leaves a test that takes half a minute, unless in full: `make test FULL=1`.
#[macro_export]
macro_rules! needs_full {
    ($test:literal) => {
        if std::env::var_os("LEVELFLOW_FULL").is_none() {
            return $crate::skip($test, "full", "it takes half a minute; make test FULL=1 runs it");
        }
    };
}

/// Leaves a test of the router in the kernel where there is none.
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
