//! Queue disciplines. Converts the table of a link to parameters.

use std::collections::BTreeMap;

use levelflow_laws::aqm::{AnyQueueParams, QUEUES, QueueInfo, queue_params};

use crate::choice::QueueChoice;
use crate::edit::value_of;
use crate::error::{Fallible, Place, Problem};
use crate::laws::{read_table, refused, shown};
use crate::profile::Profile;
use crate::record::ParameterTables;

/// Returns the parameters of the queue discipline of a link. The default is drop-tail.
pub fn read_queue(place: &Place, choice: Option<&QueueChoice>) -> Fallible<AnyQueueParams> {
    let place = place.key("queue");
    let (info, values) = read_values(&place, choice)?;
    queue_params(info.name, &values).map_err(|e| refused(&place, info.name, e))
}

/// Parses a queue discipline in the notation of scenarios. The text is a name, or a table with a name and its
/// parameters.
///
/// # Errors
/// Returns an error if the name or a parameter is unknown, or if a value is not allowed.
pub fn queue_of(text: &str) -> Fallible<AnyQueueParams> {
    let wrong = |e: serde_json::Error| Place::from("queue").error(Problem::Value(e.to_string()));
    let choice = serde_json::from_value(value_of(text)).map_err(wrong)?;
    read_queue(&"link".into(), Some(&choice))
}

/// Returns the queue discipline of a link in the notation of scenarios, including default values.
pub fn queue_in_force(choice: Option<&QueueChoice>) -> ParameterTables {
    let known = read_values(&Place::default(), choice).into_iter();
    known
        .map(|(info, values)| (info.name, shown(info.params, &values)))
        .collect()
}

fn read_values(place: &Place, choice: Option<&QueueChoice>) -> Fallible<(&'static QueueInfo, Vec<f64>)> {
    let empty = BTreeMap::new();
    let (name, table) = match choice {
        None => ("drop_tail", &empty),
        Some(QueueChoice::Name(name)) => (name.as_str(), &empty),
        Some(QueueChoice::Tables(tables)) => match tables.first_key_value() {
            Some((name, table)) if tables.len() == 1 => (name.as_str(), table),
            _ => return Err(place.error(Problem::Value("a link has exactly one queue discipline".into()))),
        },
    };
    let info = discipline_named(place, name)?;
    let values = read_table(Profile::default(), &place.key(name), info.params, &[table])?;
    Ok((info, values))
}

fn discipline_named(place: &Place, name: &str) -> Fallible<&'static QueueInfo> {
    QUEUES.iter().find(|q| q.name == name).ok_or_else(|| {
        let known: Vec<&str> = QUEUES.iter().map(|q| q.name).collect();
        place.error(Problem::unknown("the queue discipline", name, &known))
    })
}
