//! Scenario files with invalid TOML, and the line numbers of mistakes.

use levelflow_scenario::{Scenario, read_traces};

use crate::{assert_line, check};

#[track_caller]
fn not_toml(text: &str, texts: &[&str]) {
    let line = Scenario::parse(text).expect_err(text).to_string();
    assert_line(&line, &[texts, &["not valid TOML"]].concat());
}

#[test]
fn broken_files_get_line_and_column() {
    not_toml("name = \"x\"\nduration = \"10 s", &["line 2"]);
    not_toml("name = \"x\"\n[[link]\n", &["line 2"]);
    not_toml("name = 1\nname = 2\n", &["line 2", "duplicate key"]);
    not_toml("\u{0}\u{1}\u{2}", &["line 1, column 4"]);
    let huge = Scenario::parse("seed = 99999999999999999999").unwrap_err().to_string();
    assert_line(
        &huge,
        &[
            "line 1, column 8",
            "the number is out of range; allowed: up to 9223372036854775807",
        ],
    );
}

/// A truncated file is rejected with an error of one line, or is read as a shorter file.
#[test]
fn truncated_files_are_refused_or_read_as_they_stand() {
    let whole = include_str!("../../../../scenarios/dumbbell.toml");
    let mut refusals = 0;
    for (end, _) in whole.char_indices() {
        let line = match Scenario::parse(&whole[..end]) {
            Ok(value) => check(&value).err(),
            Err(error) => Some(error.to_string()),
        };
        refusals += u32::from(line.is_some());
        assert_line(&line.unwrap_or_default(), &[]);
    }
    assert!(refusals > whole.len() as u32 / 2, "{refusals}");
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let n = 100_000;
    let texts = [
        format!("x = {}{}", "[".repeat(n), "]".repeat(n)),
        format!("x = {}1{}", "{a=".repeat(n), "}".repeat(n)),
        format!("{}x = 1", "a.".repeat(n)),
        format!("[{}x]", "a.".repeat(n)),
    ];
    for text in texts {
        let line = match Scenario::parse(&text) {
            Ok(value) => check(&value).expect_err("nothing of a scenario"),
            Err(error) => error.to_string(),
        };
        assert_line(&line, &[]);
    }
}

#[test]
fn every_example_is_accepted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "toml"))
        .collect();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        // In a run, the reader of scenario files replaces the name of a distribution by its points. Here, the test does
        // so.
        let text = text.replace(
            r#"{ cdf = "web-search" }"#,
            r#"{ empirical = [["1 kB", 0.5], ["1 MB", 1.0]] }"#,
        );
        let mut value = Scenario::parse(&text).unwrap();
        read_traces(&mut value, |name| {
            std::fs::read_to_string(file.with_file_name(name)).map_err(|error| error.to_string())
        })
        .unwrap();
        assert_eq!(check(&value), Ok(()), "{}", file.display());
    }
}

/// Twelve mistakes and their lines. They are at the top level, in list entries and in a nested table.
#[test]
fn all_mistakes_of_a_file_are_said_each_with_its_line() {
    let text = r#"name = "ten"
duration = "10 parsecs"
sampel = "1 s"
seed = -3

[[link]]
from = "A"
to = "B"
capacity = "10 Mb"
delay = "10 parsecs"
colour = "red"

[[link]]
from = "B"
to = "C"
delay = "1 ms"
buffer = "ten"

[[flow]]
name = "x"
law = "cubic"
from = "A"
to = "B"
start = "soon"
size = -3
ack_delay = { every = "often", hold = "never" }
"#;
    let value = Scenario::parse(text).unwrap();
    let error = Scenario::from_value(&value).unwrap_err().to_string();
    let mut lines: Vec<usize> = error
        .lines()
        .map(|one| levelflow_scenario::lines(text, [one])[0].expect(one))
        .collect();
    lines.sort_unstable();
    // The second link has no capacity. This mistake is reported at the first line of the link. Line 26 has two
    // mistakes.
    assert_eq!(lines, [2, 3, 4, 9, 10, 11, 13, 17, 24, 25, 26, 26], "{error}");
}

/// A misspelt required key is one mistake. An unrelated key in its place is two mistakes.
#[test]
fn a_misspelt_key_is_not_also_reported_missing() {
    let said = |key: &str| {
        let link = format!("[[link]]\nfrom = 'A'\nto = 'B'\n{key} = '1 Mb/s'\ndelay = '1 ms'");
        let value = Scenario::parse(&format!("name = 'n'\nduration = '1 s'\n{link}")).unwrap();
        Scenario::from_value(&value).unwrap_err().to_string().lines().count()
    };
    assert_eq!((said("capcity"), said("xyz")), (1, 2));
}

#[test]
fn mistakes_of_the_run_do_not_hide_those_of_links() {
    let text = r#"
name = "a/b"
duration = "0 s"
link = [{ from = "A", to = "B", capacity = "1 Mb/s", delay = "1 ms", reverse = {} }]
"#;
    let scenario = Scenario::from_value(&Scenario::parse(text).unwrap()).unwrap();
    let error = scenario.resolve().unwrap_err().to_string();
    let places: Vec<_> = error.lines().map(|one| one.split([':', ' ']).next().unwrap()).collect();
    assert_eq!(places, ["name", "duration", "link"], "{error}");
}

#[test]
fn an_error_is_about_a_line_of_its_file() {
    let text = "name = \"n\"\nduration = \"1 s\"\n\n[[link]]\nfrom = \"A\"\nto = \"B\"\ncapacity = 10\n\n\
                [[flow]]\nname = \"x, y\"\n[flow.size]\npareto = { mean = \"1 B\", shape = 0.1 }\n[[flow]]\nname = \"z\"\n[study]\nseed = -1";
    for (error, line) in [
        ("link 1 (A->B), capacity: needs a rate", Some(7)),
        ("link 1 (A->B): \"capcity\" is not known here", Some(4)),
        ("link 1, delay: is missing", Some(4)),
        ("flow 1 (x, y), law: is missing", Some(9)),
        ("flow 2 (z), name: needs a name of its own", Some(14)),
        ("flow 3 (w), name: needs a name of its own", None),
        ("flow 0: none", None),
        ("duration: 0 s is out of range", Some(2)),
        ("sample: 0 s is out of range", None),
        ("study, seed: is -1", Some(16)),
        ("study: \"seed\" is not known here", Some(16)),
        ("study, scenario: is missing", Some(15)),
    ] {
        assert_eq!(levelflow_scenario::lines(text, [error])[0], line, "{error}");
    }
}
