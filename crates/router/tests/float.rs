//! Test that the kernel program's floats, implemented in integers, agree with the CPU. The test is skipped without
//! clang.

use std::process::Command;

use levelflow_units::Time;

const MAIN: &str = r#"
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#define INLINE static inline
#include "float.h"
#include <stdio.h>
int main(void)
{
	u64 a, b;

	while (scanf("%llx %llx", &a, &b) == 2)
		printf("%llx %llx %llx %x %llx %llx %llx %x %d %x %llx %llx %llx\n", f64_add(a, b), f64_sub(a, b), f64_mul(a, b),
		       f32_of_f64(a), f32_is_nan(a) ? 0 : f64_of_f32(a), f64_of_u32(a), f64_seconds(a), f32_mul(a, b),
		       f32_above(a, b), f32_of_u64(a), f32_fixed(a, 0), f32_fixed(a, 8), f32_fixed(a, 44));
	return 0;
}
"#;

/// Returns a random number. Most numbers have similar magnitudes, which exercise rounding and cancellation. Some are
/// very small, very large or round.
fn number() -> f64 {
    let any: u64 = rand::random();
    let near = |low: u64, high: u64| any & !(0x7ff << 52) | rand::random_range(low..high) << 52;
    let bits = match rand::random_range(0..8) {
        0 => any,
        1 => any & (1 << 63 | 0xff),
        2 => near(0, 3),
        3 => near(2040, 2047),
        4 => near(890, 900),
        5 => any & !0xff_ffff_ffff,
        6 => near(1023, 1025),
        _ => near(1000, 1060),
    };
    let value = f64::from_bits(bits);
    if value.is_finite() { value } else { 1.0 }
}

/// Calls `levelflow_laws::bytes::fixed`, which returns 0 for NaN.
fn fixed(bits: u32, shift: u32) -> u64 {
    levelflow_laws::bytes::fixed(f32::from_bits(bits), shift)
}

#[test]
fn floats_in_integers_are_those_of_the_processor() {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("float");
    let source = folder.path().join("float.c");
    std::fs::write(&source, MAIN).unwrap();
    let built = Command::new(clang)
        .args(["-O2", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/bpf"), "-o"])
        .args([&program, &source])
        .output();
    match built {
        Ok(output) if output.status.success() => {}
        other => {
            let why = format!("{other:?}");
            return levelflow_net_testing::skip("floats_in_integers_are_those_of_the_processor", "clang", why);
        }
    }
    let pairs: Vec<(f64, f64)> = (0..200_000).map(|_| (number(), number())).collect();
    let lines: Vec<String> = pairs
        .iter()
        .map(|(a, b)| format!("{:x} {:x}\n", a.to_bits(), b.to_bits()))
        .collect();
    let input = folder.path().join("input");
    std::fs::write(&input, lines.concat()).unwrap();
    let output = Command::new(program)
        .stdin(std::fs::File::open(input).unwrap())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().count(), pairs.len());
    for (&(a, b), line) in pairs.iter().zip(printed.lines()) {
        compare(a, b, line);
    }
}

/// Verifies that the program and the CPU compute the same results for two numbers.
fn compare(a: f64, b: f64, line: &str) {
    let [low, other] = [a, b].map(|number| number.to_bits() as u32);
    let single = f32::from_bits(low);
    let widened = if single.is_nan() {
        0
    } else {
        f64::from(single).to_bits()
    };
    let above = single > f32::from_bits(other);
    let narrowed = (a.clamp(f32::MIN.into(), f32::MAX.into()) as f32).to_bits();
    let mut words = line.split(' ');
    let mut word = || u64::from_str_radix(words.next().expect("a word"), 16).expect("a number");
    assert_eq!(
        [word(), word(), word()],
        [a + b, a - b, a * b].map(f64::to_bits),
        "{a:e} {b:e}"
    );
    assert_eq!(word(), u64::from(narrowed), "{a:e}");
    assert_eq!([word(), word()], [widened, f64::from(low).to_bits()], "{low:x}");
    let ps = a.to_bits();
    assert_eq!(word(), Time::from_ps(ps).as_secs_f64().to_bits(), "{ps} ps");
    let (product, compared) = (word(), word());
    if !single.is_nan() && !f32::from_bits(other).is_nan() {
        assert_eq!(compared, u64::from(above), "{low:x} {other:x}");
    }
    let magnitudes = [low, other].map(|bits| f32::from_bits(bits & 0x7fff_ffff));
    if magnitudes.iter().all(|value| value.is_finite()) {
        let expected = (magnitudes[0] * magnitudes[1]).min(f32::MAX);
        assert_eq!(product, u64::from(expected.to_bits()), "{magnitudes:?}");
    }
    assert_eq!(word(), u64::from((ps as f32).to_bits()), "{ps}");
    if !single.is_nan() {
        let expected = [0, 8, 44].map(|shift| fixed(low, shift));
        assert_eq!([word(), word(), word()], expected, "{low:x}");
    }
}
