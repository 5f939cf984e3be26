//! Compiler of the router's kernel program. If clang is missing, the build omits the program, and `router --dev`
//! reports this.

use std::env;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;
use std::process::Command;

use levelflow_laws::header::Values;
use levelflow_laws::{Counting, SIGNALLINGS, SignallingInfo};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(kernel_router)");
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    fs::write(
        out.join("signallings.h"),
        signallings().expect("writing to a string never fails"),
    )
    .expect("cargo's folder is writable");
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

/// Generates the C header with the signallings that have a kernel form.
fn signallings() -> Result<String, fmt::Error> {
    let all: Vec<&SignallingInfo> = SIGNALLINGS.iter().filter(|own| own.routers.kernel.is_some()).collect();
    let mut text = String::new();
    let longest = all.iter().map(|own| own.header_bytes()).max().unwrap_or(0);
    writeln!(text, "enum {{ LONGEST = {} }};", longest.next_multiple_of(4))?;
    for own in &all {
        text += &structure(own)?;
        writeln!(text, "#include \"{}.h\"", own.name)?;
    }
    text += &switch(&all, "u32 header_bytes(void)", |own| {
        format!("return {};", own.header_bytes())
    })?;
    text += &switch(&all, "int is_header(const void *header)", |own| {
        let name = own.name;
        format!(
            "{{ const struct {name}_header *h = header; return {}; }}",
            checks(own).join(" && ")
        )
    })?;
    for (arguments, call) in [
        ("u64 bytes", "foreign(job, bytes)"),
        ("u32 size, u32 *h", "own(job, size, (void *)h)"),
    ] {
        let (verb, _) = call.split_once('(').expect("a call");
        let head = format!("void router_{verb}(const struct job *job, {arguments})");
        text += &switch(&all, &head, |own| {
            let name = own.name;
            match own.routers.kernel {
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

/// Returns the C type of the header, `struct NAME_header`. Numbers of two and four bytes are big-endian.
fn structure(own: &SignallingInfo) -> Result<String, fmt::Error> {
    let mut text = format!("struct {}_header {{\n", own.name);
    for field in own.header.fields {
        match field.bytes {
            3 => writeln!(text, "\tu8 {}[3];", field.name)?,
            bytes => writeln!(text, "\tu{} {};", 8 * bytes, field.name)?,
        }
    }
    text += "} __attribute__((packed, aligned(4)));\n";
    Ok(text)
}

fn switch(all: &[&SignallingInfo], head: &str, case: impl Fn(&SignallingInfo) -> String) -> Result<String, fmt::Error> {
    let mut text = format!("INLINE {head}\n{{\n\tswitch (SIGNALLING) {{\n");
    for own in all {
        writeln!(text, "\tcase {}: {}", own.number, case(own))?;
    }
    text += if head.starts_with("void") {
        "\t}\n}\n"
    } else {
        "\t}\n\treturn 0;\n}\n"
    };
    Ok(text)
}

/// Returns the C conditions for a valid header.
fn checks(own: &SignallingInfo) -> Vec<String> {
    let mut checks = Vec::new();
    for field in own.header.fields {
        match field.values {
            Values::Number | Values::Bits(_) => {}
            Values::Only { value, .. } => checks.push(format!("h->{} == {value}", field.name)),
            Values::Float { low, high, .. } => checks.push(range(&word(field.name), low, high)),
        }
    }
    if let Some((a, b)) = own.header.zero_together {
        checks.push(format!("!({} << 1) == !({} << 1)", word(a), word(b)));
    }
    if checks.is_empty() {
        checks.push("1".to_owned());
    }
    checks
}

/// Returns the C expression of a four-byte field.
fn word(name: &str) -> String {
    format!("BE32(h->{name})")
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
