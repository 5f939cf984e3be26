//! Property tests of quantities, and examples of parsed and printed texts.

use std::format;
use std::string::{String, ToString};

use proptest::prelude::*;

use crate::{Bytes, Duration, Frequency, Packets, Rate, Time};

fn any_rate() -> impl Strategy<Value = Rate> {
    use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL, ZERO};
    (POSITIVE | NORMAL | SUBNORMAL | ZERO).prop_filter_map("negative", Rate::new)
}

/// Generates rates from 1 kb/s to 1 Tb/s.
fn link_rate() -> impl Strategy<Value = Rate> {
    (3.0..12.0_f64).prop_filter_map("range", |power| Rate::new(10.0_f64.powf(power)))
}

proptest! {
    #[test]
    fn durations_add_like_integers(a: u64, b: u64, c: u64) {
        let [x, y, z] = [a, b, c].map(Duration::from_ps);
        let left = x.checked_add(y).and_then(|sum| sum.checked_add(z));
        let right = y.checked_add(z).and_then(|sum| x.checked_add(sum));
        let oracle = u64::try_from(u128::from(a) + u128::from(b) + u128::from(c)).ok();
        prop_assert_eq!(left.map(Duration::as_ps), oracle);
        prop_assert_eq!(right, left);
        prop_assert_eq!(x.checked_sub(y).is_some(), x >= y);
        prop_assert_eq!(x.saturating_sub(y) + x.min(y), x);
    }

    #[test]
    fn times_and_durations_undo_each_other(a in 0..u64::MAX / 2, b in 0..u64::MAX / 2) {
        let (start, step) = (Time::from_ps(a), Duration::from_ps(b));
        prop_assert_eq!((start + step) - start, step);
        prop_assert_eq!((start + step).since(start), step);
        prop_assert_eq!(start.since(start + step), Duration::ZERO);
        prop_assert!(start + step >= start);
    }

    #[test]
    fn seconds_round_to_the_nearest_picosecond(ps in 0..1_u64 << 50) {
        let exact = Duration::from_ps(ps);
        prop_assert_eq!(Duration::from_secs_f64(exact.as_secs_f64()), Some(exact));
    }

    #[test]
    fn packets_times_size_is_repeated_addition(count in 0..100_u64, size in 0..1_u64 << 50) {
        let sum: Bytes = (0..count).map(|_| Bytes::new(size)).sum();
        prop_assert_eq!(Packets::new(count).times(Bytes::new(size)), Some(sum));
    }

    #[test]
    fn sending_then_counting_gives_the_amount_within_a_picosecond(
        rate in link_rate(),
        amount in 0..1_u64 << 20,
    ) {
        let time = rate.time_to_send(Bytes::new(amount)).unwrap();
        let slack = rate.bytes_in(Duration::from_ps(1)) + 1e-15 * amount as f64;
        prop_assert!((rate.bytes_in(time) - amount as f64).abs() <= slack);
    }

    #[test]
    fn sending_matches_integer_arithmetic(bps in 1_000..1_u64 << 40, amount in 0..1_u64 << 20) {
        let time = Rate::new(bps as f64).unwrap().time_to_send(Bytes::new(amount)).unwrap();
        let exact = (u128::from(amount) * 8_000_000_000_000 + u128::from(bps) / 2) / u128::from(bps);
        let slack = 1 + (exact >> 52);
        prop_assert!(u128::from(time.as_ps()).abs_diff(exact) <= slack);
    }

    #[test]
    fn more_data_and_slower_links_take_longer(
        slow in link_rate(),
        gain in 1.0..1e3,
        amount in 0..1_u64 << 30,
        extra in 0..1_u64 << 30,
    ) {
        let fast = slow.scaled(gain).unwrap();
        let (small, large) = (Bytes::new(amount), Bytes::new(amount + extra));
        prop_assert!(slow.time_to_send(small) <= slow.time_to_send(large));
        prop_assert!(fast.time_to_send(large) <= slow.time_to_send(large));
    }

    #[test]
    fn amount_per_duration_is_the_rate_that_sends_it(
        amount in 1..1_u64 << 40,
        ps in 1..1_u64 << 50,
    ) {
        let (amount, time) = (Bytes::new(amount), Duration::from_ps(ps));
        let again = amount.per(time).unwrap().time_to_send(amount).unwrap();
        prop_assert!(again.as_ps().abs_diff(ps) <= 1);
    }

    #[test]
    fn a_zero_rate_never_sends(amount: u64) {
        prop_assert_eq!(Rate::ZERO.time_to_send(Bytes::new(amount)), None);
        prop_assert_eq!(Bytes::new(amount).per(Duration::ZERO), None);
    }

    #[test]
    fn clamped_rates_are_rates(bits: u64) {
        let bps = f64::from_bits(bits);
        let clamped = Rate::clamped(bps);
        prop_assert_eq!(Rate::new(clamped.bps()), Some(clamped));
        if let Some(rate) = Rate::new(bps) {
            prop_assert_eq!(rate, clamped);
        }
    }

    #[test]
    fn whole_quantities_survive_printing(value: u64, shift in 0..64_u32, scale in 0..16_u32) {
        let round = (value >> shift).checked_mul(10_u64.pow(scale));
        for count in [value, value >> shift, 1 << shift, round.unwrap_or(0)] {
            prop_assert_eq!(Time::from_ps(count).to_string().parse(), Ok(Time::from_ps(count)));
            prop_assert_eq!(Duration::from_ps(count).to_string().parse(), Ok(Duration::from_ps(count)));
            prop_assert_eq!(Bytes::new(count).to_string().parse(), Ok(Bytes::new(count)));
            prop_assert_eq!(Packets::new(count).to_string().parse(), Ok(Packets::new(count)));
        }
    }

    #[test]
    fn rates_survive_printing(rate in any_rate(), short in link_rate()) {
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        prop_assert_eq!(short.to_string().parse(), Ok(short));
        if let Some(frequency) = Frequency::new(rate.bps()) {
            prop_assert_eq!(frequency.to_string().parse(), Ok(frequency));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(
        text in r"\PC*|[-+0-9.eE]{0,30} ?(b/s|kb/s|ms|h|GB|KiB|packets|/s)?|.{0,60}",
    ) {
        for refusal in refusals(&text) {
            prop_assert!(!refusal.contains(['\n', '\r', '\0']), "{}", refusal);
            prop_assert!(refusal.contains("(units: "), "{}", refusal);
        }
    }

    #[test]
    fn decimals_mean_what_they_say(whole in 0..1_000_000_u64, thousandths in 0..1_000_u64) {
        let number = format!("{whole}.{thousandths:03}");
        let total = whole * 1_000 + thousandths;
        prop_assert_eq!(format!("{number} ms").parse(), Ok(Duration::from_us(total)));
        prop_assert_eq!(format!("{number}e3 B").parse(), Ok(Bytes::new(total)));
        prop_assert_eq!(format!("{number}kb/s").parse(), Ok(Rate::new(total as f64).unwrap()));
    }
}

fn refusals(text: &str) -> impl Iterator<Item = String> {
    [
        text.parse::<Time>().err(),
        text.parse::<Duration>().err(),
        text.parse::<Bytes>().err(),
        text.parse::<Packets>().err(),
        text.parse::<Rate>().err(),
        text.parse::<Frequency>().err(),
    ]
    .into_iter()
    .flatten()
    .map(|error| error.to_string())
}

#[test]
fn quantities_print_in_the_unit_people_use() {
    let rate = |bps| Rate::new(bps).unwrap().to_string();
    assert_eq!(rate(1e7), "10 Mb/s");
    assert_eq!(rate(2.4e9), "2.4 Gb/s");
    assert_eq!(rate(1_234.5), "1.2345 kb/s");
    assert_eq!(rate(0.05), "0.05 b/s");
    assert_eq!(rate(0.0), "0 b/s");
    assert_eq!(rate(1e100), "1e88 Tb/s");
    assert_eq!(Duration::from_ms(220).to_string(), "220 ms");
    assert_eq!(Duration::from_ms(1_500).to_string(), "1.5 s");
    assert_eq!(Duration::from_secs(70).to_string(), "70 s");
    assert_eq!(Duration::from_secs(120).to_string(), "2 min");
    assert_eq!(Duration::from_secs(7_200).to_string(), "2 h");
    assert_eq!(Time::ZERO.to_string(), "0 s");
    assert_eq!(Bytes::new(1_500_000_000).to_string(), "1.5 GB");
    assert_eq!(Bytes::new(65_536).to_string(), "64 KiB");
    assert_eq!(Bytes::new(28).to_string(), "28 B");
    assert_eq!(Packets::new(1).to_string(), "1 packet");
    assert_eq!(Packets::new(25).to_string(), "25 packets");
    assert_eq!(Frequency::new(400.0).unwrap().to_string(), "400 /s");
}

#[test]
fn the_longest_texts_are_exact() {
    assert_eq!("18446744073709551615 ps".parse(), Ok(Duration::MAX));
    assert_eq!("18446744.073709551615 s".parse(), Ok(Duration::MAX));
    assert_eq!("0.25 h".parse(), Ok(Duration::from_secs(900)));
    assert_eq!(
        "1000000000000000000000000000000e-30 s".parse(),
        Ok(Duration::from_secs(1))
    );
    assert_eq!("0e999999999999999999999 B".parse(), Ok(Bytes::ZERO));
    assert!("1e-999999999999999999999 B".parse::<Bytes>().is_err());
    assert_eq!("1.7976931348623157e296 Tb/s".parse(), Ok(Rate::clamped(f64::INFINITY)));
}

#[test]
fn errors_name_the_problem_and_the_allowed_values() {
    let rate = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
    let allowed = "write a number and a unit, e.g. \"10 Mb/s\" (units: b/s, kb/s, Mb/s, Gb/s, Tb/s)";
    assert_eq!(rate("10 Mbs"), format!("\"10 Mbs\" is not a rate; {allowed}"));
    assert_eq!(rate("10"), format!("\"10\" has no unit; {allowed}"));
    assert_eq!(
        rate("-1 Mb/s"),
        format!("\"-1 Mb/s\" has a sign, but a rate must not have one; {allowed}")
    );
    assert_eq!(rate("nan b/s"), format!("\"nan b/s\" is not a rate; {allowed}"));
    assert_eq!(rate("1.\n b/s"), format!("\"1.\\n b/s\" is not a rate; {allowed}"));
    assert_eq!(
        rate("1e400 b/s"),
        format!("\"1e400 b/s\" is too large: a rate is at most 1.7976931348623157e296 Tb/s; {allowed}")
    );
    assert_eq!(
        rate("1e-400 b/s"),
        format!("\"1e-400 b/s\" is too small: a rate is at least 5e-324 b/s; {allowed}")
    );
    let starts = |error: String, start: &str| assert!(error.starts_with(start), "{error}");
    starts(
        "0.5 B".parse::<Bytes>().unwrap_err().to_string(),
        "\"0.5 B\" is not a whole number of bytes; ",
    );
    starts(
        "214 days".parse::<Duration>().unwrap_err().to_string(),
        "\"214 days\" is not a duration; ",
    );
    starts(
        "6000 h".parse::<Time>().unwrap_err().to_string(),
        "\"6000 h\" is too large: a time is at most about 213 days; ",
    );
    starts(
        "0 /s".parse::<Frequency>().unwrap_err().to_string(),
        "\"0 /s\" is zero, but a frequency must be above zero; ",
    );
    starts(
        "1.00000000000000000000001 s".parse::<Time>().unwrap_err().to_string(),
        "\"1.00000000000000000000001 s\" has more than 22 ",
    );
    starts(
        "é".repeat(99).parse::<Bytes>().unwrap_err().to_string(),
        &format!("\"{}\" (and more) is not", "é".repeat(24)),
    );
}

#[test]
fn rates_outside_the_range_are_refused() {
    for bps in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Rate::new(bps), None);
        assert_eq!(Frequency::new(bps), None);
        assert_eq!(Duration::from_secs_f64(bps), None);
    }
    assert_eq!(Frequency::new(0.0), None);
    assert_eq!(Duration::from_secs_f64(2e7), None);
    assert_eq!(Duration::from_secs_f64(0.49e-12), Some(Duration::ZERO));
    assert_eq!(Rate::new(-0.0).unwrap().to_string(), "0 b/s");
    assert_eq!(Rate::new(1e-300).unwrap().time_to_send(Bytes::new(1)), None);
    assert_eq!(Rate::new(1e300).unwrap().scaled(1e300), None);
}

#[cfg(feature = "serde")]
mod serde_form {
    use super::*;

    #[test]
    fn quantities_are_text_in_json() {
        let capacity: Rate = serde_json::from_str("\"10 Mb/s\"").unwrap();
        assert_eq!(serde_json::to_string(&capacity).unwrap(), "\"10 Mb/s\"");
        let unit = serde_json::from_str::<Rate>("\"10\"").unwrap_err().to_string();
        assert!(unit.starts_with("\"10\" has no unit; "), "{unit}");
        let bare = serde_json::from_str::<Rate>("10").unwrap_err().to_string();
        assert!(
            bare.contains("expected a rate as text with its unit, e.g. \"10 Mb/s\""),
            "{bare}"
        );
    }
}

#[test]
fn units_are_read_as_people_write_them() {
    for text in [
        "10 Mbit/s",
        "10Mbit/s",
        "10 Mbps",
        "10mbit",
        "10 Mbit",
        "10000 kbps",
        "0.01 Gbps",
        "10000000 bit/s",
    ] {
        assert_eq!(text.parse::<Rate>(), Ok(Rate::new(1e7).unwrap()), "{text}");
    }
    for text in ["7 us", "7 \u{b5}s", "7\u{3bc}s"] {
        assert_eq!(text.parse(), Ok(Duration::from_us(7)), "{text}");
    }
}

#[test]
fn ambiguous_units_are_rejected_with_a_hint() {
    let said = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
    assert!(said("10 MB/s").starts_with("\"10 MB/s\" counts bytes, and a rate counts bits: 1 MB/s is 8 Mb/s; "));
    assert!(said("10 mbps").contains("may mean bits or, as in tc, bytes: write Mb/s for bits"));
    assert!(said("10 mb/s").contains("has a unit that is written Mb/s; "));
    assert!(said("10 MBIT/S").contains("has a unit that is written Mb/s; "));
    assert!(said("10 furlongs").contains("is not a rate; "));
    assert!(
        "7 MS"
            .parse::<Duration>()
            .unwrap_err()
            .to_string()
            .contains("written ms")
    );
}

#[cfg(feature = "schemars")]
mod json_schema {
    use super::*;
    use proptest::string::string_regex;

    fn pattern<T: schemars::JsonSchema>() -> String {
        let schema = schemars::schema_for!(T);
        let pattern = schema.get("pattern").and_then(|value| value.as_str()).unwrap();
        pattern.trim_start_matches('^').trim_end_matches('$').into()
    }

    proptest! {
        #[test]
        fn texts_of_the_pattern_are_rates_or_out_of_range(
            text in string_regex(&pattern::<Rate>()).unwrap(),
        ) {
            if let Err(error) = text.parse::<Rate>() {
                let error = error.to_string();
                let range = ["is too large", "is too small", "significant digits"];
                prop_assert!(range.iter().any(|reason| error.contains(reason)), "{}", error);
            }
        }
    }
}

/// Returns the spellings of data units, each with its size in bits. If `per_second` is true, these are units of data
/// rates.
fn data_units(per_second: bool) -> impl Iterator<Item = (String, f64)> {
    let prefixes = [
        ("", 0),
        ("k", 1),
        ("K", 1),
        ("m", 2),
        ("M", 2),
        ("g", 3),
        ("G", 3),
        ("t", 4),
        ("T", 4),
    ];
    let words = [
        ("b", 1.0),
        ("bit", 1.0),
        ("BITS", 1.0),
        ("B", 8.0),
        ("byte", 8.0),
        ("Bytes", 8.0),
    ];
    let suffixes: &[&str] = if per_second {
        &["/s", "ps", "PS", "/sec", "/second"]
    } else {
        &[""]
    };
    prefixes.into_iter().flat_map(move |(prefix, power)| {
        let bases = [("", 1000.0), ("i", 1024.0)];
        let bases = bases.into_iter().filter(move |(i, _)| i.is_empty() || power > 0);
        bases.flat_map(move |(i, base): (&str, f64)| {
            words.into_iter().flat_map(move |(word, bits)| {
                let one = bits * base.powi(power);
                suffixes
                    .iter()
                    .map(move |suffix| (format!("{prefix}{i}{word}{suffix}"), one))
            })
        })
    })
}

/// Returns the number and unit that follow `words` in an error message, up to the next punctuation mark.
fn after<'a>(error: &'a str, words: &str) -> Option<&'a str> {
    let rest = &error[error.find(words)? + words.len()..];
    Some(&rest[..rest.find([';', ':', ','])?])
}

#[test]
fn a_hint_on_a_unit_of_a_rate_is_the_right_factor() {
    let mut hints = 0;
    for (unit, bits) in data_units(true) {
        let read = format!("1 {unit}").parse::<Rate>();
        let bps = |text: &str| text.parse::<Rate>().unwrap().bps();
        let error = match read {
            Ok(rate) => {
                assert!((rate.bps() - bits).abs() <= 1e-12 * bits, "{unit}: {rate}");
                continue;
            }
            Err(error) => error.to_string(),
        };
        let advised = after(&error, " is written ").map(|symbol| bps(&format!("1 {symbol}")));
        let factor = after(&error, ": 1 ").and_then(|hint| hint.split_once(" is "));
        for found in [advised, factor.map(|(_, rate)| bps(rate))].into_iter().flatten() {
            assert!((found - bits).abs() <= 1e-12 * bits, "{unit}, {bits} b/s: {error}");
            hints += 1;
        }
    }
    assert!(hints > 100, "{hints}");
}

#[test]
fn bytes_per_second_are_refused_with_the_factor_however_they_are_spelled() {
    for unit in ["MB/s", "MBps", "MBPS", "MByte/s", "mbytes/sec", "mB/s"] {
        let error = format!("10 {unit}").parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("1 MB/s is 8 Mb/s"), "{error}");
    }
}

#[test]
fn a_hint_on_a_unit_of_an_amount_is_the_right_factor() {
    for (unit, bits) in data_units(false) {
        let Err(error) = format!("8 {unit}").parse::<Bytes>() else {
            continue;
        };
        let error = error.to_string();
        let bytes = |text: &str| text.parse::<Bytes>().unwrap().as_bits_f64();
        if let Some(symbol) = after(&error, " is written ") {
            assert_eq!(bytes(&format!("1 {symbol}")), bits, "{unit}: {error}");
        }
        if let Some((_, amount)) = after(&error, ": 8 ").and_then(|hint| hint.split_once(" is ")) {
            assert_eq!(bytes(amount), 8.0 * bits, "{unit}: {error}");
        }
    }
}
