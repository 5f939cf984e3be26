//! Parameters of laws: conversion of scenario tables to values, and of values to complete tables.

use std::collections::BTreeMap;

use levelflow_laws::params::{ParamError, ParamSpec, Problem, Raw, Shown};
use levelflow_laws::{Any, AnyParams, LAWS, LawInfo, params};
use serde_json::Value;

use crate::choice::{LawChoice, LawTables};
use crate::context::Fallible;
use crate::error::{ScenarioError, unknown_key};
use crate::format::Scenario;
use crate::network::Network;
use crate::profile::Profile;

/// Returns the parameters that a link sets, by law; `None` if the link has a plain queue.
pub fn link_tables(place: &str, choice: Option<&LawChoice>) -> Fallible<Option<LawTables>> {
    let place = format!("{place}, law");
    match choice {
        None => Ok(Some(BTreeMap::new())),
        Some(LawChoice::Name(name)) if name == "none" => Ok(None),
        Some(LawChoice::Name(name)) => {
            let hint = "a link runs the laws of the flows that cross it; write \"none\", or parameters by law";
            Err(ScenarioError::at(
                place,
                format!("{name:?} is not allowed here: {hint}"),
            ))
        }
        Some(LawChoice::Tables(tables)) => {
            for (name, table) in tables {
                read_params(Profile::default(), &place, name, &[table])?;
            }
            Ok(Some(tables.clone()))
        }
    }
}

pub fn law_named(place: &str, name: &str) -> Fallible<&'static LawInfo> {
    LAWS.iter().find(|l| l.name == name).ok_or_else(|| {
        let known: Vec<&str> = LAWS.iter().map(|l| l.name).collect();
        let problem = if name.eq_ignore_ascii_case("tcp") {
            format!(
                "{name:?} has several versions; write \"cubic\", that of Linux, or \"newreno\" (known: {})",
                known.join(", ")
            )
        } else {
            format!("the law {}", unknown_key(name, &known))
        };
        ScenarioError::at(place, problem)
    })
}

/// Returns the parameters of a law from a table. Missing parameters have the defaults of Linux.
///
/// # Errors
/// When the law or a parameter is unknown, or a value is not allowed.
pub fn law_params(law: &str, table: &BTreeMap<String, Value>) -> Fallible<AnyParams> {
    read_params(Profile::default(), "law", law, &[table])
}

/// Returns the parameters of a law as values in base units, in the order of the law's parameter table. Missing
/// parameters have the defaults of Linux.
///
/// # Errors
/// As [`law_params`].
pub fn law_values(law: &str, table: &BTreeMap<String, Value>) -> Fallible<Vec<f64>> {
    law_params(law, table)?;
    Ok(read_values(Profile::default(), "law", law, &[table])?.1)
}

/// Returns the values of all parameters in `rows`: their defaults, overridden by each table of `layers` in turn.
pub fn read_table(
    profile: Profile,
    place: &str,
    rows: &[ParamSpec],
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<Vec<f64>> {
    let mut values: Vec<f64> = rows.iter().map(|p| profile.default_of(p)).collect();
    for (key, value) in layers.iter().flat_map(|table| table.iter()) {
        let index = rows.iter().position(|p| p.name == key).ok_or_else(|| {
            let known: Vec<&str> = rows.iter().map(|p| p.name).collect();
            ScenarioError::at(place, unknown_key(key, &known))
        })?;
        let raw = match value {
            Value::Bool(on) => Raw::Flag(*on),
            Value::String(text) => Raw::Text(text),
            Value::Number(n) => Raw::Number(n.as_f64().unwrap_or(f64::NAN)),
            _ => Raw::Text(""),
        };
        let wrong = |e: ParamError| {
            let problem = match e.problem {
                Problem::Range { .. } => e.to_string(),
                Problem::Kind(_) | Problem::Conflict(_) => format!("{value}: {e}"),
            };
            ScenarioError::at(format!("{place}, {key}"), problem)
        };
        values[index] = rows[index].read(raw).map_err(wrong)?;
    }
    Ok(values)
}

/// Formats parameter values as scenarios write them, by name of the parameter.
pub fn shown(rows: &[ParamSpec], values: &[f64]) -> Value {
    let row = |(row, value): (&ParamSpec, &f64)| (row.name.to_owned(), Shown(row.unit, *value).to_string());
    rows.iter().zip(values).map(row).collect()
}

/// Returns the values of a law's parameters.
fn read_values(
    profile: Profile,
    place: &str,
    law: &str,
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<(&'static LawInfo, Vec<f64>)> {
    let info = law_named(place, law)?;
    Ok((
        info,
        read_table(profile, &format!("{place}, {law}"), info.params, layers)?,
    ))
}

pub fn read_params(
    profile: Profile,
    place: &str,
    law: &str,
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<AnyParams> {
    let (_, values) = read_values(profile, place, law, layers)?;
    params(law, &values).map_err(|e| ScenarioError::at(format!("{place}, {law}, {}", e.name), e.to_string()))
}

/// Parameters in force, as scenarios write them.
pub struct InForce {
    pub flows: Vec<Value>,
    pub links: Vec<Value>,
}

impl InForce {
    /// Collects the parameters of a resolved scenario.
    pub fn new(scenario: &Scenario, network: &Network<Any>) -> Self {
        let text = |law: &str, choice: Option<&LawChoice>| {
            let own = match choice {
                Some(LawChoice::Tables(tables)) => tables.get(law),
                _ => None,
            };
            let layers: Vec<_> = [scenario.law.get(law), own].into_iter().flatten().collect();
            read_values(scenario.profile, "", law, &layers)
                .map_or(Value::Null, |(info, values)| shown(info.params, &values))
        };
        let flows = scenario.flow.iter().zip(&network.flows);
        let flows = flows.map(|(flow, spec)| text(spec.params.law().name, Some(&flow.law)));
        let links = scenario.link_choices().zip(&network.links).map(|((.., choice), spec)| {
            let names = spec.routers.iter().map(|p| p.law().name);
            names.map(|law| (law.to_owned(), text(law, choice))).collect()
        });
        Self {
            flows: flows.collect(),
            links: links.collect(),
        }
    }
}
