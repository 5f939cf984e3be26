//! Parameters of laws and signallings. Converts tables of a scenario to values, and values to complete tables.
//!
//! A law and a signalling with the same name have one common table with the rows of both.

use std::collections::BTreeMap;
use std::sync::Arc;

use levelflow_laws::params::{ParamError, ParamSpec, Raw, Shown};
use levelflow_laws::{
    Any, AnyParams, AnyRouterParams, LAWS, LawInfo, SIGNALLINGS, SignallingInfo, external, on_the_wire, params,
    router_params,
};
use levelflow_units::Bytes;
use serde_json::Value;

use crate::choice::{LawChoice, LawTables};
use crate::encapsulation::Encapsulation;
use crate::error::{Fallible, Place, Problem, ScenarioError};
use crate::format::{OwnLaws, Scenario};
use crate::network::Network;
use crate::profile::Profile;
use crate::record::{ParameterTables, Parameters};

/// Returns the router parameters of a link as written in the scenario: one table per signalling. Returns `None` if no
/// router runs on the link.
pub fn link_tables(place: &Place, choice: Option<&LawChoice>) -> Fallible<Option<LawTables>> {
    let place = place.key("law");
    let wrong = |problem| Err(place.error(Problem::Value(problem)));
    match choice {
        None => Ok(Some(BTreeMap::new())),
        Some(LawChoice::Name(name)) if name == "none" => Ok(None),
        Some(LawChoice::Name(name)) => {
            let hint = "a link runs the laws of the flows that cross it; write \"none\", or parameters by law";
            wrong(format!("{name:?} is not allowed here: {hint}"))
        }
        Some(LawChoice::Tables(tables)) => {
            for (name, table) in tables {
                let signalling = signalling_named(&place, name)?;
                if signalling.name != name {
                    let own = signalling.name;
                    return wrong(format!(
                        "the routers of {name} are those of {own}; write {{ {own} = {{ ... }} }}"
                    ));
                }
                read_table(Profile::default(), &place.key(name), signalling.params, &[table])?;
                read_router_params(Profile::default(), &place, name, &[table])?;
            }
            Ok(Some(tables.clone()))
        }
    }
}

/// Returns all laws that a scenario may name: the registered laws, and the laws of the caller.
pub fn all_laws(own: &OwnLaws) -> impl Iterator<Item = &'static LawInfo> {
    LAWS.iter().chain(own.iter().map(|law| law.info()))
}

pub fn law_named(own: &OwnLaws, place: &Place, name: &str) -> Fallible<&'static LawInfo> {
    all_laws(own).find(|l| l.name == name).ok_or_else(|| {
        let known: Vec<&str> = all_laws(own).map(|l| l.name).collect();
        let problem = if name.eq_ignore_ascii_case("tcp") {
            Problem::Value(format!(
                "{name:?} has several versions; write \"cubic\", that of Linux, or \"newreno\" (known: {})",
                known.join(", ")
            ))
        } else {
            Problem::unknown("the law", name, &known)
        };
        place.error(problem)
    })
}

/// Returns the signalling with this name, or the signalling of the law with this name.
///
/// # Errors
/// Returns an error if the signalling has no routers, or if the name is unknown.
pub fn signalling_named(place: &Place, name: &str) -> Fallible<&'static SignallingInfo> {
    let mut laws = LAWS.iter().filter(|law| law.name == name).map(|law| law.signalling);
    let found = SIGNALLINGS.iter().find(|own| own.name == name).or_else(|| laws.next());
    let known: Vec<&str> = on_the_wire().map(|own| own.name).collect();
    match found {
        Some(found) if found.is_explicit() => Ok(found),
        Some(_) => {
            let problem = format!("routers take no part in {name} (allowed: {})", known.join(", "));
            Err(place.error(Problem::Value(problem)))
        }
        None => Err(place.error(Problem::unknown("the signalling", name, &known))),
    }
}

/// Returns the rows of the table with this name: first the rows of the law, then further rows of the signalling.
pub fn rows_of(own: &OwnLaws, name: &str) -> Vec<ParamSpec> {
    let law = all_laws(own)
        .find(|law| law.name == name)
        .map_or(&[][..], |law| law.params);
    let routers = SIGNALLINGS
        .iter()
        .find(|own| own.name == name)
        .map_or(&[][..], |own| own.params);
    let others = routers.iter().filter(|row| law.iter().all(|own| own.name != row.name));
    law.iter().chain(others).copied().collect()
}

/// Checks a table of the scenario.
///
/// # Errors
/// Returns an error if no law has this name, if a parameter is unknown, or if a value is not allowed.
pub fn check_table(own: &OwnLaws, profile: Profile, name: &str, table: &BTreeMap<String, Value>) -> Fallible<()> {
    if on_the_wire().any(|signalling| signalling.name == name) {
        read_router_params(profile, &"law".into(), name, &[table])?;
    }
    read_params(own, profile, Encapsulation::None, &"law".into(), name, &[table]).map(drop)
}

/// Returns the parameters of a law from a table. Missing parameters have the defaults of Linux.
///
/// # Errors
/// Returns an error if the law or a parameter is unknown, or if a value is not allowed.
pub fn law_params(law: &str, table: &BTreeMap<String, Value>) -> Fallible<AnyParams> {
    let (none, place) = (OwnLaws::new(), "law".into());
    read_params(&none, Profile::default(), Encapsulation::None, &place, law, &[table])
}

/// Returns the parameters of a law as values in base units, in the order of the law's parameter table. Missing
/// parameters have the defaults of Linux.
///
/// # Errors
/// The same as for [`law_params`].
pub fn law_values(law: &str, table: &BTreeMap<String, Value>) -> Fallible<Vec<f64>> {
    law_params(law, table)?;
    let (none, place) = (OwnLaws::new(), "law".into());
    let info = law_named(&none, &place, law)?;
    read_values(&none, Profile::default(), &place, law, info.params, &[table])
}

/// Returns the parameters of routers from a table. `name` is a signalling, or a law with its own signalling. Missing
/// parameters have their defaults.
///
/// # Errors
/// Returns an error if the signalling or a parameter is unknown, or if a value is not allowed.
pub fn signalling_params(name: &str, table: &BTreeMap<String, Value>) -> Fallible<AnyRouterParams> {
    read_router_params(Profile::default(), &"law".into(), name, &[table])
}

/// Returns the values of the parameters of [`signalling_params`] in base units, in the order of the signalling's table.
///
/// # Errors
/// The same as for [`signalling_params`].
pub fn signalling_values(name: &str, table: &BTreeMap<String, Value>) -> Fallible<Vec<f64>> {
    let info = signalling_params(name, table)?.signalling();
    let (none, place) = (OwnLaws::new(), "law".into());
    read_values(&none, Profile::default(), &place, info.name, info.params, &[table])
}

/// Returns the values of all parameters in `rows`. Tables in `layers` override the defaults. Later tables override
/// earlier tables.
pub fn read_table(
    profile: Profile,
    place: &Place,
    rows: &[ParamSpec],
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<Vec<f64>> {
    let mut values: Vec<f64> = rows.iter().map(|p| profile.default_of(p)).collect();
    for (key, value) in layers.iter().flat_map(|table| table.iter()) {
        let index = rows.iter().position(|p| p.name == key).ok_or_else(|| {
            let known: Vec<&str> = rows.iter().map(|p| p.name).collect();
            place.error(Problem::unknown("", key, &known))
        })?;
        let raw = match value {
            Value::Bool(on) => Raw::Flag(*on),
            Value::String(text) => Raw::Text(text),
            Value::Number(n) => Raw::Number(n.as_f64().unwrap_or(f64::NAN)),
            _ => Raw::Text(""),
        };
        let wrong = |e: ParamError| {
            let problem = match e.into() {
                Problem::Value(text) => Problem::Value(format!("{value}: {text}")),
                other => other,
            };
            place.key(key).error(problem)
        };
        values[index] = rows[index].read(raw).map_err(wrong)?;
    }
    Ok(values)
}

/// Formats parameter values in the notation of scenarios, by parameter name.
pub fn shown(rows: &[ParamSpec], values: &[f64]) -> Parameters {
    let row = |(row, value): (&ParamSpec, &f64)| (row.name, Shown(row.unit, *value).to_string());
    rows.iter().zip(values).map(row).collect()
}

/// Returns the values of the parameters in `own`. `name` is the name of the table that contains these parameters.
fn read_values(
    laws: &OwnLaws,
    profile: Profile,
    place: &Place,
    name: &str,
    own: &[ParamSpec],
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<Vec<f64>> {
    let rows = rows_of(laws, name);
    let values = read_table(profile, &place.key(name), &rows, layers)?;
    let value = |row: &ParamSpec| {
        let of_row = rows.iter().zip(&values).find(|(other, _)| other.name == row.name);
        *of_row
            .expect("a common table contains the rows of the law and of the signalling")
            .1
    };
    Ok(own.iter().map(value).collect())
}

/// Parameter of some laws: the smallest size of data packets.
const MIN_PACKET: &str = "min_packet";

/// Raises the smallest size of data packets to the size of headers plus one byte of payload.
fn make_room(headers: Bytes, rows: &[ParamSpec], values: &mut [f64]) {
    for (row, value) in rows.iter().zip(values) {
        if row.name == MIN_PACKET {
            *value = value.max(headers.get() as f64 + 1.0);
        }
    }
}

/// Returns the parameters of the senders of a law.
pub fn read_params(
    own: &OwnLaws,
    profile: Profile,
    encapsulation: Encapsulation,
    place: &Place,
    law: &str,
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<AnyParams> {
    let info = law_named(own, place, law)?;
    let mut values = read_values(own, profile, place, law, info.params, layers)?;
    make_room(encapsulation.headers(info), info.params, &mut values);
    if let Some(external) = own.iter().find(|own| own.info().name == law) {
        return Ok(AnyParams::External(external::Params {
            law: Arc::clone(external),
            values: values.into(),
        }));
    }
    params(law, &values).map_err(|e| refused(place, law, e))
}

/// Returns the parameters of the routers of a signalling. `name` is the name of the signalling or of a law with this
/// signalling.
pub fn read_router_params(
    profile: Profile,
    place: &Place,
    name: &str,
    layers: &[&BTreeMap<String, Value>],
) -> Fallible<AnyRouterParams> {
    let info = signalling_named(place, name)?;
    let values = read_values(&OwnLaws::new(), profile, place, info.name, info.params, layers)?;
    router_params(info.name, &values).map_err(|e| refused(place, info.name, e))
}

/// Returns the error for a parameter. `name` is the law, signalling, queue discipline or algorithm with this parameter.
pub fn refused(place: &Place, name: &str, error: ParamError) -> ScenarioError {
    place.key(name).key(error.name).error(error.into())
}

/// Parameters of all flows and links in the notation of scenarios, including default values.
pub struct InForce {
    pub flows: Vec<Parameters>,
    pub links: Vec<ParameterTables>,
}

impl InForce {
    /// Collects the parameters of a resolved scenario.
    pub fn new(scenario: &Scenario, network: &Network<Any>) -> Self {
        let text = |name: &str, choice: Option<&LawChoice>, headers: Bytes| {
            let own = match choice {
                Some(LawChoice::Tables(tables)) => tables.get(name),
                _ => None,
            };
            let layers: Vec<_> = [scenario.law.get(name), own].into_iter().flatten().collect();
            let rows = rows_of(&scenario.own_laws, name);
            let mut values = read_table(scenario.profile, &Place::default(), &rows, &layers).unwrap_or_default();
            make_room(headers, &rows, &mut values);
            shown(&rows, &values)
        };
        let flows = scenario.flow.iter().zip(&network.flows);
        let flows = flows.map(|(flow, spec)| text(spec.params.law().name, Some(&flow.law), spec.headers));
        let links = scenario.link_choices().zip(&network.links).map(|((.., choice), spec)| {
            let names = spec.routers.iter().map(|p| p.signalling().name);
            names.map(|name| (name, text(name, choice, Bytes::ZERO))).collect()
        });
        Self {
            flows: flows.collect(),
            links: links.collect(),
        }
    }
}
