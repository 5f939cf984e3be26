//! Runs one target under libFuzzer. `tools/fuzz.py` builds and starts this program.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod guided {
    use std::sync::LazyLock;

    /// Target that `LEVELFLOW_FUZZ_TARGET` names.
    static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
        let name = std::env::var("LEVELFLOW_FUZZ_TARGET").unwrap_or_default();
        let target = levelflow_fuzz::TARGETS.iter().find(|target| target.name == name);
        target.unwrap_or_else(|| panic!("{name}: no such target")).run
    });

    libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
}

#[cfg(not(fuzzing))]
fn main() {
    for target in levelflow_fuzz::TARGETS {
        println!("{}", target.name);
    }
}
