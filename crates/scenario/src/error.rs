//! Mistakes in scenarios. The message for a mistake is one line with place, problem and allowed values.

use std::fmt;
use std::ops::RangeInclusive;

use derive_more::{Display, Error};
use levelflow_laws::params::{self, ParamError, Shown};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// Mistakes that prevent a run. The message has one line for each mistake.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("{}", _0.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ScenarioError(#[error(not(source))] Vec<Mistake>);

/// A value, or the mistakes in a scenario.
pub type Fallible<T> = Result<T, ScenarioError>;

/// One mistake and its location.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("{}", one_line(&format!("{place}: {problem}")))]
pub struct Mistake {
    /// Location of the wrong value, or of the table that lacks a key.
    pub place: Place,
    /// Class of the mistake, and its details.
    pub problem: Problem,
}

/// Location in a scenario: an entry such as `link 1 (R1->R2)`, followed by keys. An empty location denotes the top
/// level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Display)]
#[display("{}", if _0.is_empty() { "top level".into() } else { _0.join(", ") })]
pub struct Place(Vec<String>);

/// Classes of mistakes. A text without a description is the complete message.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
pub enum Problem {
    /// Value outside its range.
    #[display("{value} is out of range; allowed: {allowed}")]
    Range {
        /// Rejected value.
        value: String,
        /// Allowed values.
        allowed: String,
    },
    /// Value of the wrong type.
    #[display("needs {needed}, not {found}")]
    Type {
        /// Allowed type.
        needed: String,
        /// Value in the scenario, or its type.
        found: String,
    },
    /// Value that is wrong for another reason.
    Value(String),
    /// Unknown key, or unknown name.
    #[display("{}", unknown(kind, name, known))]
    Unknown {
        /// Kind of the name, such as `the law`; empty for a key.
        kind: &'static str,
        /// Unknown key or name.
        name: String,
        /// Known keys or names.
        known: Vec<String>,
    },
    /// Missing key or entry.
    Missing(String),
    /// Name or value that occurs twice.
    Duplicate(String),
    /// Value that contradicts another value, or needs another value.
    Conflict(String),
    /// Path that does not exist in the topology.
    Route(String),
    /// Text that is not TOML; the place is the line and column.
    #[display("not valid TOML: {_0}")]
    Syntax(String),
    /// Unreadable file with the values of a key.
    File(String),
    /// Assignment (`--set`) that is malformed, or whose path does not exist.
    Assignment(String),
}

impl Place {
    /// Creates the location of an entry in a list. `index` counts from 0. The text counts from 1.
    pub(crate) fn entry(kind: &str, index: usize, name: &str) -> Self {
        Self(vec![format!("{kind} {} ({name})", index + 1)])
    }

    /// Returns the location of a key in the table at this place.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(self.0.iter().cloned().chain([key.to_owned()]).collect())
    }

    /// Returns the error for a problem at this place.
    #[must_use]
    pub fn error(&self, problem: Problem) -> ScenarioError {
        ScenarioError(vec![Mistake {
            place: self.clone(),
            problem,
        }])
    }
}

impl<T: Into<String>> From<T> for Place {
    fn from(text: T) -> Self {
        Self(vec![text.into()])
    }
}

impl Problem {
    /// Creates the problem of a value outside its range.
    pub(crate) fn range(value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self::Range {
            value: value.to_string(),
            allowed: allowed.to_string(),
        }
    }

    /// Checks that a value is within a range.
    pub(crate) fn check<T: PartialOrd + fmt::Display>(value: &T, range: &RangeInclusive<T>) -> Result<(), Self> {
        let problem = || Self::range(value, format!("{} to {}", range.start(), range.end()));
        range.contains(value).then_some(()).ok_or_else(problem)
    }

    /// Creates the problem of an unknown name. `kind` describes the name, as in `the law`; empty for a key.
    #[must_use]
    pub fn unknown(kind: &'static str, name: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&name| name.to_owned()).collect();
        Self::Unknown {
            kind,
            name: name.to_owned(),
            known,
        }
    }
}

impl From<ParamError> for Problem {
    fn from(error: ParamError) -> Self {
        match error.problem {
            params::Problem::Kind(_) => Self::Value(error.to_string()),
            params::Problem::Conflict(why) => Self::Conflict(why.into()),
            params::Problem::Range { value, range, unit } => {
                let [value, low, high] = [value, range.0, range.1].map(|value| Shown(unit, value));
                Self::range(value, format!("{low} to {high}"))
            }
        }
    }
}

impl ScenarioError {
    /// Returns the mistakes in the order of the lines of the message.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.0
    }

    /// Returns all values. If any result is an error, returns all mistakes instead.
    pub(crate) fn collect<T>(results: impl IntoIterator<Item = Fallible<T>>) -> Fallible<Vec<T>> {
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
            range if range.contains("out of range") => Problem::range("the number", format!("up to {}", i64::MAX)),
            problem => Problem::Syntax(problem),
        };
        Place(vec![format!("line {line}"), format!("column {column}")]).error(problem)
    }

    /// Creates an error for a value in `raw` that has the wrong type, or for an unknown or missing key. `within` is the
    /// location of `raw`.
    pub(crate) fn structure(
        within: &Place,
        raw: &Value,
        error: &serde_path_to_error::Error<serde_json::Error>,
    ) -> Self {
        let problem = of_serde(&one_line(&error.inner().to_string()));
        let mut place = Place([&within.0[..], &parts(raw, error.path())].concat());
        if let Problem::Unknown { name, .. } = &problem {
            place.0.pop_if(|last| last == name);
        }
        place.error(problem)
    }
}

/// Returns the lines of a scenario file to which error messages refer. For `link 1 (A->B), capacity: ...`, this is the
/// line of the key `capacity`. If the key is missing, it is the first line of the entry. For `duration: ...`, it is the
/// line of the key `duration`.
#[must_use]
pub fn lines<'a>(text: &str, errors: impl IntoIterator<Item = &'a str>) -> Vec<Option<usize>> {
    let file = DeTable::parse(text).ok();
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |error| {
        let file = file.as_ref()?.get_ref();
        let start = in_entry(file, error).or_else(|| at_top(file, error))?;
        Some(breaks.partition_point(|&at| at < start) + 1)
    };
    errors.into_iter().map(line).collect()
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

/// Returns the name in quotes at the start of a problem, as in `"colour" is not known here`.
fn quoted(problem: &str) -> Option<&str> {
    problem.strip_prefix('"')?.split('"').next()
}

type Spans<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

fn named<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<Spans<'a, 'i>> {
    table.get_key_value(key)
}

/// Formats the message for an unknown name: `"capcity" is not known here; did you mean "capacity"? (known: ...)`.
fn unknown(kind: &str, name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = nearest(name, &known).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    let text = format!("{kind} {name:?} is not known here{hint} (known: {})", known.join(", "));
    text.trim_start().to_owned()
}

/// Returns the known key that is most similar to the unknown key in a message of serde.
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

/// Determines the class of a message of serde, and rewrites the message in the style of Levelflow.
fn of_serde(message: &str) -> Problem {
    if message == "expected map with a single key" {
        return Problem::Value("needs a table with exactly one key, which selects the form".into());
    }
    if let Some((name, known)) = unknown_name(message) {
        return Problem::unknown("", name, &known);
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return Problem::Missing(format!("the key {} is missing", key.replace('`', "\"")));
    }
    let mut starts = ["invalid type: ", "invalid value: ", "invalid length "].iter();
    let parts = starts.find_map(|start| message.strip_prefix(start)?.split_once(", expected "));
    let Some((found, needed)) = parts else {
        return Problem::Value(message.to_owned());
    };
    let needed = match needed {
        "u64" => format!("a whole number from 0 to {}", u64::MAX),
        "f64" => "a number without a unit".into(),
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
    Problem::Type { needed, found }
}

/// Extracts the unknown name and the known names from a message of serde. The message is about an unknown field or
/// variant.
fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message
        .strip_prefix("unknown field ")
        .or_else(|| message.strip_prefix("unknown variant "))?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// Returns the parts of a location. Entries are counted from 1, so `flow[0].start` becomes `flow 1 (x1)` and `start`.
fn parts(raw: &Value, path: &serde_path_to_error::Path) -> Vec<String> {
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
    parts
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
