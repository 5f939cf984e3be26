//! Parameters of laws and routers as texts of the form `name=value`. An example on a command line is `--law jetmax
//! --set tau=0.6`.

use std::collections::BTreeMap;

use levelflow_laws::{AnyParams, AnyRouterParams, LAWS, LawInfo};
use serde_json::Value;

use crate::edit::value_of;
use crate::error::{Fallible, Place, Problem};
use crate::laws::{law_params, law_values, signalling_params, signalling_values};

/// Returns the parameters of a law. Each `name=value` in `sets` overrides a default.
///
/// # Errors
/// Returns an error if the law or a parameter is unknown, or if a value is invalid.
pub fn params(law: &str, sets: &[String]) -> Fallible<AnyParams> {
    law_params(law, &table(sets)?)
}

/// Parses `--set` options into a table.
///
/// # Errors
/// Returns an error if an option does not have the form `name=value`.
pub fn table(sets: &[String]) -> Fallible<BTreeMap<String, Value>> {
    let mut table = BTreeMap::new();
    for set in sets {
        let Some((name, value)) = set.split_once('=') else {
            let problem = Problem::Assignment("write name=value, such as --set tau=0.6".into());
            return Err(Place::from(format!("--set {set}")).error(problem));
        };
        table.insert(name.trim().to_owned(), value_of(value.trim()));
    }
    Ok(table)
}

/// Returns the values of a law's parameters, in the order and base units of its table, as in logs.
///
/// # Errors
/// Same as for [`params`].
pub fn values(law: &str, sets: &[String]) -> Fallible<Vec<f64>> {
    law_values(law, &table(sets)?)
}

/// Returns the names of the laws for which `which` is true. Help texts and errors contain these names.
#[must_use]
pub fn law_names(which: impl Fn(&LawInfo) -> bool) -> String {
    let names: Vec<_> = LAWS.iter().filter(|law| which(law)).map(|law| law.name).collect();
    names.join(", ")
}

/// Returns the parameters of the routers of a signalling. `name` is the signalling, or a law with this signalling. Each
/// `name=value` in `sets` overrides a default.
///
/// # Errors
/// Returns an error if the signalling has no routers, if the name or a parameter is unknown, or if a value is invalid.
pub fn router_params(name: &str, sets: &[String]) -> Fallible<AnyRouterParams> {
    signalling_params(name, &table(sets)?)
}

/// Returns the values of the parameters of [`router_params`], in the order and base units of the signalling's table, as
/// in logs.
///
/// # Errors
/// Same as for [`router_params`].
pub fn router_values(name: &str, sets: &[String]) -> Fallible<Vec<f64>> {
    signalling_values(name, &table(sets)?)
}

#[cfg(test)]
mod tests {
    use levelflow_laws::explicit_laws;

    use super::*;

    #[test]
    fn options_parse_as_in_a_scenario() {
        let sets = |text: &[&str]| text.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let same = params("jetmax", &sets(&["tau=0.5", "interval=30 ms", "clamp_n=true"])).unwrap();
        assert_ne!(same, params("jetmax", &[]).unwrap());
        for (law, wrong, says) in [
            ("jetmax", "tau", "name=value"),
            ("jetmax", "tua=1", "did you mean \"tau\""),
            ("jetmax", "tau=no", "tau"),
            ("jetmax", "interval=3", "interval"),
            ("jetmacs", "tau=1", "jetmax"),
        ] {
            let error = params(law, &sets(&[wrong])).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(says) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn routers_take_part_in_signallings_with_a_number() {
        for law in explicit_laws() {
            let (params, values) = (
                router_params(law.name, &[]).unwrap(),
                router_values(law.name, &[]).unwrap(),
            );
            assert_eq!(params.signalling().name, law.signalling.name);
            assert_eq!(values.len(), law.signalling.params.len());
        }
        assert!(router_params("cubic", &[]).unwrap_err().to_string().contains("jetmax"));
    }
}
