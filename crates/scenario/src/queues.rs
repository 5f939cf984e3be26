//! Queue disciplines: conversion of a link's table to parameters.

use std::collections::BTreeMap;

use levelflow_laws::aqm::{AnyQueueParams, QUEUES, QueueInfo, queue_params};

use crate::choice::QueueChoice;
use crate::context::Fallible;
use crate::edit::value_of;
use crate::error::{ScenarioError, unknown_key};
use crate::laws::{read_table, shown};
use crate::profile::Profile;
use crate::record::ParameterTables;

/// Returns the parameters of the queue discipline at a link; drop-tail if the scenario chooses none.
pub fn read_queue(place: &str, choice: Option<&QueueChoice>) -> Fallible<AnyQueueParams> {
    let place = format!("{place}, queue");
    let (info, values) = read_values(&place, choice)?;
    let name = info.name;
    queue_params(name, &values).map_err(|e| ScenarioError::at(format!("{place}, {name}, {}", e.name), e.to_string()))
}

/// Parses a queue discipline as scenarios write it: a name, or a table of a name and its parameters.
///
/// # Errors
/// One line with the mistake and the allowed values.
pub fn queue_of(text: &str) -> Result<AnyQueueParams, ScenarioError> {
    let choice = serde_json::from_value(value_of(text)).map_err(|e| ScenarioError::at("queue", e.to_string()))?;
    read_queue("link", Some(&choice))
}

/// Returns the queue discipline of a link with all parameters in force, as scenarios write it.
pub fn queue_in_force(choice: Option<&QueueChoice>) -> ParameterTables {
    let known = read_values("", choice).into_iter();
    known
        .map(|(info, values)| (info.name, shown(info.params, &values)))
        .collect()
}

fn read_values(place: &str, choice: Option<&QueueChoice>) -> Fallible<(&'static QueueInfo, Vec<f64>)> {
    let empty = BTreeMap::new();
    let (name, table) = match choice {
        None => ("drop_tail", &empty),
        Some(QueueChoice::Name(name)) => (name.as_str(), &empty),
        Some(QueueChoice::Tables(tables)) => match tables.first_key_value() {
            Some((name, table)) if tables.len() == 1 => (name.as_str(), table),
            _ => return Err(ScenarioError::at(place, "a link has exactly one queue discipline")),
        },
    };
    let info = discipline_named(place, name)?;
    Ok((
        info,
        read_table(Profile::default(), &format!("{place}, {name}"), info.params, &[table])?,
    ))
}

fn discipline_named(place: &str, name: &str) -> Fallible<&'static QueueInfo> {
    QUEUES.iter().find(|q| q.name == name).ok_or_else(|| {
        let known: Vec<&str> = QUEUES.iter().map(|q| q.name).collect();
        ScenarioError::at(place, format!("the queue discipline {}", unknown_key(name, &known)))
    })
}
