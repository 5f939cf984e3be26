//! Compiles the kernel's part of the router, if clang is there; without it, `router --dev` says what is missing.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(kernel_router)");
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let object = Path::new(&out).join("router.bpf.o");
    let endian = env::var("CARGO_CFG_TARGET_ENDIAN").expect("cargo sets it");
    let target = if endian == "big" { "bpfeb" } else { "bpfel" };
    let mut compile = Command::new(&clang);
    compile.args([
        "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-mcpu=v3", "-target", target,
    ]);
    compile.args(["-c", "bpf/router.bpf.c", "-o"]).arg(object);
    match compile.status() {
        Ok(status) if status.success() => println!("cargo::rustc-cfg=kernel_router"),
        Ok(_) => println!(
            "cargo::error={clang} does not compile bpf/router.bpf.c, as it says above; CLANG=none builds without `router --dev`"
        ),
        Err(e) => println!("cargo::warning={clang}: {e}; `router --dev` is left out (install clang to have it)"),
    }
}
