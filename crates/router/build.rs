//! Compiler of the router's kernel part. If clang is missing, `router --dev` reports it.

use std::env;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use std::process::Command;

use levelflow_laws::header::Values;
use levelflow_laws::{Counting, LAWS, LawInfo};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(kernel_router)");
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    fs::write(out.join("laws.h"), laws().expect("a string has room")).expect("cargo's folder takes a file");
    let endian = env::var("CARGO_CFG_TARGET_ENDIAN").expect("cargo sets it");
    let target = if endian == "big" { "bpfeb" } else { "bpfel" };
    let mut compile = Command::new(&clang);
    compile.args([
        "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-mcpu=v3", "-target", target, "-Ibpf",
    ]);
    compile.arg("-I").arg(out);
    compile
        .args(["-c", "bpf/router.bpf.c", "-o"])
        .arg(out.join("router.bpf.o"));
    match compile.status() {
        Ok(status) if status.success() => println!("cargo::rustc-cfg=kernel_router"),
        Ok(_) => println!(
            "cargo::error={clang} cannot compile bpf/router.bpf.c (errors above); CLANG=none builds without `router --dev`"
        ),
        Err(e) => println!("cargo::warning={clang}: {e}; `router --dev` is left out (install clang to have it)"),
    }
}

/// Generates the C header with the laws that have a kernel form.
fn laws() -> Result<String, fmt::Error> {
    let laws: Vec<&LawInfo> = LAWS.iter().filter(|law| law.routers.kernel.is_some()).collect();
    let mut text = String::new();
    let longest = laws.iter().map(|law| law.header_bytes()).max().unwrap_or(0);
    writeln!(text, "enum {{ LONGEST = {} }};", longest.next_multiple_of(4))?;
    for law in &laws {
        writeln!(text, "#include \"{}.h\"", law.name)?;
    }
    text += &switch(&laws, "u32 header_bytes(void)", |law| {
        format!("return {};", law.header_bytes())
    })?;
    text += &switch(&laws, "int is_header(const u32 *h)", |law| {
        format!("return {};", checks(law).join(" && "))
    })?;
    for (arguments, call) in [
        ("u64 bytes", "foreign(job, bytes)"),
        ("u32 size, u32 *h", "own(job, size, h)"),
    ] {
        let (verb, _) = call.split_once('(').expect("a call");
        let head = format!("void law_{verb}(const struct job *job, {arguments})");
        text += &switch(&laws, &head, |law| {
            let name = law.name;
            match law.routers.kernel {
                Some(Counting::Locked) => {
                    let turn = format!("{name}_turn(job); job->state->serial = job->input->serial;");
                    format!("if (lock(job)) {{ {turn} }} {name}_{call}; unlock(job); break;")
                }
                _ => format!("{name}_{call}; break;"),
            }
        })?;
    }
    Ok(text)
}

fn switch(laws: &[&LawInfo], head: &str, case: impl Fn(&LawInfo) -> String) -> Result<String, fmt::Error> {
    let mut text = format!("INLINE {head}\n{{\n\tswitch (LAW) {{\n");
    for law in laws {
        writeln!(text, "\tcase {}: {}", law.number, case(law))?;
    }
    text += if head.starts_with("void") {
        "\t}\n}\n"
    } else {
        "\t}\n\treturn 0;\n}\n"
    };
    Ok(text)
}

/// Returns the C conditions for a valid header of the law.
fn checks(law: &LawInfo) -> Vec<String> {
    let mut checks = Vec::new();
    let mut at = 0;
    for field in law.header.fields {
        match field.values {
            Values::Number | Values::Bits(_) => {}
            Values::Only { value, .. } => checks.push(format!("((const u8 *)h)[{at}] == {value}")),
            Values::Float { low, high, .. } => checks.push(range(&word(law, field.name), low, high)),
        }
        at += field.bytes;
    }
    if let Some((a, b)) = law.header.zero_together {
        checks.push(format!("!({} << 1) == !({} << 1)", word(law, a), word(law, b)));
    }
    if checks.is_empty() {
        checks.push("1".to_owned());
    }
    checks
}

/// Returns the C expression of a four-byte field.
fn word(law: &LawInfo, name: &str) -> String {
    let before = law.header.fields.iter().take_while(|field| field.name != name);
    let at: usize = before.map(|field| field.bytes).sum();
    assert!(
        at.is_multiple_of(4),
        "{}: the kernel reads floats at multiples of 4 bytes",
        law.name
    );
    format!("BE32(h[{}])", at / 4)
}

fn range(word: &str, low: f32, high: f32) -> String {
    let low_bits = if low == 0.0 {
        (-0.0_f32).to_bits()
    } else {
        low.to_bits()
    };
    let high_bits = high.to_bits();
    assert!(high > 0.0, "the kernel reads no float that must be below 0");
    if low > 0.0 {
        format!("{word} >= {low_bits:#x} && {word} <= {high_bits:#x}")
    } else {
        format!("f32_spans({word}, {low_bits:#x}, {high_bits:#x})")
    }
}
