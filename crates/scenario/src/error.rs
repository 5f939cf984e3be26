//! Error messages: one line per mistake, with place, problem and allowed values.

use derive_more::{Display, Error};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// Reasons why a scenario cannot be run; prints one line for each mistake.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{}", _0.join("\n"))]
pub struct ScenarioError(#[error(not(source))] Vec<String>);

impl ScenarioError {
    /// Creates an error for `problem` at `place`, such as "link 1 (R1->R2), capacity".
    pub fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self(vec![one_line(&format!("{}: {}", place.into(), problem.into()))])
    }

    /// Returns all values, or all mistakes if any result is an error.
    pub(crate) fn collect<T>(results: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let (mut values, mut mistakes) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(value) => values.push(value),
                Err(error) => mistakes.extend(error.0),
            }
        }
        if mistakes.is_empty() {
            Ok(values)
        } else {
            Err(Self(mistakes))
        }
    }

    pub(crate) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(text.len(), |span| span.start.min(text.len()));
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        let problem = match one_line(error.message()) {
            range if range.contains("out of range") => {
                format!("the number is out of range; allowed: up to {}", i64::MAX)
            }
            problem => format!("not valid TOML: {problem}"),
        };
        Self::at(format!("line {line}, column {column}"), problem)
    }

    /// Creates an error for a value of the wrong type, or for an unknown or missing key, in `raw`. `within` is the
    /// place of `raw`.
    pub(crate) fn structure(within: &str, raw: &Value, error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let problem = wording(&one_line(&error.inner().to_string()));
        let inside = place(raw, error.path());
        let separator = if within.is_empty() || inside.is_empty() {
            ""
        } else {
            ", "
        };
        let mut place = format!("{within}{separator}{inside}");
        if let Some((unknown, known)) = unknown_name(&problem) {
            let tail = format!(", {unknown}");
            place.truncate(place.strip_suffix(&tail).map_or(place.len(), str::len));
            if place == unknown {
                place = "top level".into();
            }
            return Self::at(place, unknown_key(unknown, &known));
        }
        Self::at(if place.is_empty() { "top level".into() } else { place }, problem)
    }
}

/// Returns the line of a scenario file that an error refers to. For `link 1 (A->B), capacity: ...` this is the line of
/// the key, or that of the entry if the key is missing. For `duration: ...` it is the line of the key.
#[must_use]
pub fn line(text: &str, error: &str) -> Option<usize> {
    let file = DeTable::parse(text).ok()?;
    let start = in_entry(file.get_ref(), error).or_else(|| at_top(file.get_ref(), error))?;
    Some(text.get(..start)?.matches('\n').count() + 1)
}

fn in_entry(file: &DeTable, error: &str) -> Option<usize> {
    let (place, problem) = error.split_once(": ")?;
    let (kind, rest) = place.split_once(' ')?;
    let number: usize = rest.split([' ', ',']).next()?.parse().ok()?;
    let (_, entries) = named(file, kind)?;
    let entry = entries.get_ref().as_array()?.get(number.checked_sub(1)?)?;
    let key = rest
        .split_once(", ")
        .and_then(|(_, key)| key.split(',').next())
        .or_else(|| quoted(problem));
    let key = key.and_then(|key| named(entry.get_ref().as_table()?, key));
    Some(key.map_or(entry.span().start, |(key, _)| key.span().start))
}

fn at_top(file: &DeTable, error: &str) -> Option<usize> {
    let (place, problem) = error.split_once(": ")?;
    let (key, inner) = match place.split_once(", ") {
        None if place == "top level" => (quoted(problem)?, None),
        None => (place, quoted(problem)),
        Some((key, rest)) => (key, rest.split(", ").next()),
    };
    let (key, value) = named(file, key)?;
    let inner = inner.and_then(|inner| named(value.get_ref().as_table()?, inner));
    Some(inner.map_or(key, |(inner, _)| inner).span().start)
}

/// Returns the name at the start of a problem, as in `"colour" is not known here`.
fn quoted(problem: &str) -> Option<&str> {
    problem.strip_prefix('"')?.split('"').next()
}

type Spans<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

fn named<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<Spans<'a, 'i>> {
    table.iter().find(|(name, _)| name.get_ref() == key)
}

/// Formats `"capcity" is not known here; did you mean "capacity"? (known: ...)`
#[must_use]
pub fn unknown_key(name: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match nearest(name, known) {
        Some(near) => format!("{name:?} is not known here; did you mean {near:?}? (known: {list})"),
        None => format!("{name:?} is not known here (known: {list})"),
    }
}

/// Returns the known key that most resembles the unknown key in a message of serde.
pub(crate) fn meant_key(message: &str) -> Option<&str> {
    let (unknown, known) = unknown_name(message)?;
    nearest(unknown, &known)
}

pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = &name.to_lowercase();
    let score = |k: &str| {
        let k = &k.to_lowercase();
        strsim::jaro_winkler(name, k).max(strsim::normalized_damerau_levenshtein(name, k))
    };
    let best = known.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
    best.filter(|k| score(k) > 0.66).copied()
}

/// Rewrites a message of serde in the style of Levelflow's messages: first the needed value, then the found value.
fn wording(message: &str) -> String {
    if message == "expected map with a single key" {
        return "needs exactly one key, the form to take, with what belongs to it inside".into();
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.replace('`', "\""));
    }
    let mut starts = ["invalid type: ", "invalid value: ", "invalid length "].iter();
    let parts = starts.find_map(|start| message.strip_prefix(start)?.split_once(", expected "));
    let Some((found, needed)) = parts else {
        return message.to_owned();
    };
    let needed = match needed {
        "u64" => format!("a whole number from 0 to {}", u64::MAX),
        "f64" => "a plain number".into(),
        "a string" => "a text in quotes".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        needed => match needed.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length} values"),
            None => needed.to_owned(),
        },
    };
    let found = match found {
        "map" => "a table".into(),
        "sequence" => "a list".into(),
        "null" => "nan or inf".into(),
        found if found.parse::<usize>().is_ok() => format!("of {found}"),
        found => ["string ", "integer ", "floating point ", "boolean "]
            .iter()
            .find_map(|kind| found.strip_prefix(kind))
            .unwrap_or(found)
            .replace('`', ""),
    };
    format!("needs {needed}, not {found}")
}

/// Extracts the unknown name and the known names from serde's message for an unknown field or variant.
fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message
        .strip_prefix("unknown field ")
        .or_else(|| message.strip_prefix("unknown variant "))?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// Formats a path with entries counted from 1: `flow[0].start` becomes `flow 1 (x1), start`.
fn place(raw: &Value, path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut here = Some(raw);
    let mut parts: Vec<String> = Vec::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                here = here.and_then(|v| v.get(index));
                let number = format!(" {}{}", index + 1, here.map(nickname).unwrap_or_default());
                match parts.last_mut() {
                    Some(last) => last.push_str(&number),
                    None => parts.push(number),
                }
            }
            Segment::Map { key } => {
                here = here.and_then(|v| v.get(key));
                parts.push(key.clone());
            }
            Segment::Enum { variant } => parts.push(variant.clone()),
            Segment::Unknown => {}
        }
    }
    parts.join(", ")
}

pub(crate) fn nickname(member: &Value) -> String {
    let text = |key| member.get(key).and_then(Value::as_str);
    match (text("name"), text("from"), text("to")) {
        (Some(name), ..) => format!(" ({name})"),
        (None, Some(from), Some(to)) => format!(" ({from}->{to})"),
        _ => String::new(),
    }
}

fn one_line(message: &str) -> String {
    let words = message.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
