//! Buffer sizes: a fixed size, a published sizing rule, or a buffer-sizing algorithm. A rule is applied to the flows on
//! the link.

use std::collections::{BTreeMap, BTreeSet};

use levelflow_laws::buffers::{AnyBufferParams, BUFFER_ALGORITHMS, algorithm_params};
use levelflow_laws::{Any, ParamSpec};
use levelflow_units::{Buffer, Bytes, Duration};
use serde_json::Value;

use crate::choice::BufferChoice;
use crate::context::{LARGEST_PACKET, largest_packets, link_place, propagation};
use crate::error::{Fallible, Place, Problem};
use crate::format::Scenario;
use crate::laws::{read_table, refused, shown};
use crate::network::{FlowSpec, LinkSpec};
use crate::profile::Profile;
use crate::quantity::{BufferSize, Size};
use crate::record::ParameterTables;
use crate::rules::{RULES, Rule, by_rule};

/// Flow entry that crosses a link, and its longest base round-trip time, s. The time is `None` if it is unbounded.
pub type Crossing<'a> = (&'a FlowSpec<Any>, Option<f64>);

impl Scenario {
    /// Computes the size of every buffer. Bandwidth-delay products and sizing rules need the round-trip times of the
    /// flows.
    pub(crate) fn size_buffers(&self, links: &mut [LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<()> {
        let longest: Vec<Option<f64>> = flows.iter().map(|f| longest_rtt(f, links)).collect();
        let mut crossing: Vec<Vec<Crossing<'_>>> = vec![Vec::new(); links.len()];
        for (flow, rtt) in flows.iter().zip(longest.iter().copied()) {
            let there_and_back = flow
                .routes
                .paths
                .iter()
                .flat_map(|path| path.forward.iter().chain(&path.reverse));
            for &l in there_and_back.collect::<BTreeSet<_>>() {
                crossing[l as usize].push((flow, rtt));
            }
        }
        let largest = largest_packets(flows, links.len());
        let of_all: Option<Vec<f64>> = longest.iter().copied().collect();
        let of_all: Option<Vec<f64>> = of_all.map(|rtts| rtts.into_iter().reduce(f64::max).into_iter().collect());
        for ((index, crossing), (i, link, choice)) in crossing.iter().enumerate().zip(self.buffer_choices()) {
            let place = link_place(i, link).key("buffer");
            let link = &mut links[index];
            match choice {
                BufferChoice::Size(size) => link.buffer = fixed(&place, *size, link, crossing, of_all.as_deref())?,
                BufferChoice::Tables(tables) => match read_sized(&place, tables)? {
                    Sized::Algorithm(_) if !link.changes.is_empty() => {
                        let problem = "algorithms need a link that does not change; give the buffer a size, \
                                       or remove the changes of the link";
                        return Err(place.error(Problem::Conflict(problem.into())));
                    }
                    Sized::Algorithm(params) => link.algorithm = Some(params),
                    Sized::Rule(rule, values) => {
                        link.buffer = Buffer::Packets(by_rule(&place, rule, &values, link, crossing)?);
                    }
                },
            }
            check_capacity(&place, link.buffer, largest[index])?;
        }
        Ok(())
    }
}

/// Returns a buffer of a fixed size. A bandwidth-delay product uses the longest round-trip time of the flows that cross
/// the link. If no flow crosses the link, it uses `of_all`, the longest round-trip time of all flows.
fn fixed(
    place: &Place,
    size: BufferSize,
    link: &LinkSpec<Any>,
    crossing: &[Crossing<'_>],
    of_all: Option<&[f64]>,
) -> Fallible<Buffer> {
    Ok(match size {
        BufferSize::Unlimited => Buffer::Unlimited,
        BufferSize::Fixed(Size::Bytes(b)) => Buffer::Bytes(b),
        BufferSize::Fixed(Size::Packets(n)) => Buffer::Packets(n.get()),
        BufferSize::Bdp(times) => {
            let rtts: Option<Vec<f64>> = match crossing {
                [] => of_all.map(<[f64]>::to_vec),
                crossing => crossing.iter().map(|(_, rtt)| *rtt).collect(),
            };
            let problem = match &rtts {
                Some(_) => "BDP needs flows with a round-trip time",
                None => "BDP needs flows whose round-trip times are bounded",
            };
            let rtt = rtts.and_then(|rtts| rtts.into_iter().reduce(f64::max));
            let rtt = rtt.ok_or_else(|| place.error(Problem::Conflict(problem.into())))?;
            Buffer::Bytes(Bytes::new(
                (times * link.service_rate(link.capacity).bps() * rtt / 8.0).ceil() as u64,
            ))
        }
    })
}

/// Checks that a buffer holds at least the largest packet that crosses its link.
fn check_capacity(place: &Place, buffer: Buffer, largest: Option<Bytes>) -> Fallible<()> {
    let capacity = match buffer {
        Buffer::Unlimited => return Ok(()),
        Buffer::Bytes(b) => b,
        Buffer::Packets(n) => Bytes::new(n.saturating_mul(LARGEST_PACKET)),
    };
    let least = largest.unwrap_or(Bytes::new(1));
    if capacity < least {
        let problem = format!("must have room for at least one packet, here {least}");
        return Err(place.error(Problem::Value(problem)));
    }
    Ok(())
}

/// Contents of a buffer table: a sizing rule and its parameter values, or a buffer-sizing algorithm.
pub enum Sized {
    Rule(&'static Rule, Vec<f64>),
    Algorithm(AnyBufferParams),
}

/// Reads a buffer table. The table names one sizing rule or one buffer-sizing algorithm.
pub fn read_sized(place: &Place, tables: &BTreeMap<String, BTreeMap<String, Value>>) -> Fallible<Sized> {
    let (name, table, rows) = named(place, tables)?;
    let values = read_table(Profile::default(), &place.key(name), rows, &[table])?;
    if let Some(rule) = RULES.iter().find(|rule| rule.name == name) {
        return Ok(Sized::Rule(rule, values));
    }
    let params = algorithm_params(name, &values).map_err(|e| refused(place, name, e))?;
    Ok(Sized::Algorithm(params))
}

/// Returns the parameters of a buffer-sizing algorithm. Missing parameters have their defaults.
///
/// # Errors
/// Returns an error if the algorithm or a parameter is unknown, or if a value is not allowed.
pub fn buffer_algorithm_named(name: &str, table: &BTreeMap<String, Value>) -> Fallible<AnyBufferParams> {
    let place = Place::from("buffer");
    match read_sized(&place, &BTreeMap::from([(name.to_owned(), table.clone())]))? {
        Sized::Algorithm(params) => Ok(params),
        Sized::Rule(..) => Err(place.error(Problem::Value(format!("{name} is a rule, not an algorithm")))),
    }
}

type Named<'a> = (&'static str, &'a BTreeMap<String, Value>, &'static [ParamSpec]);

fn named<'a>(place: &Place, tables: &'a BTreeMap<String, BTreeMap<String, Value>>) -> Fallible<Named<'a>> {
    let Some((name, table)) = tables.first_key_value().filter(|_| tables.len() == 1) else {
        return Err(place.error(Problem::Value("a buffer has exactly one rule or algorithm".into())));
    };
    let algorithms = BUFFER_ALGORITHMS
        .iter()
        .map(|algorithm| (algorithm.name, algorithm.params));
    let all: Vec<_> = algorithms
        .chain(RULES.iter().map(|rule| (rule.name, rule.params)))
        .collect();
    match all.iter().find(|(known, _)| known == name) {
        Some((name, rows)) => Ok((name, table, rows)),
        None => {
            let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            Err(place.error(Problem::unknown("the rule or algorithm", name, &known)))
        }
    }
}

/// Returns a buffer table in the notation of scenarios. The table includes parameters with default values.
pub fn sized_in_force(choice: &BufferChoice) -> Option<ParameterTables> {
    let BufferChoice::Tables(tables) = choice else {
        return None;
    };
    let (name, table, rows) = named(&Place::default(), tables).ok()?;
    let values = read_table(Profile::default(), &Place::default(), rows, &[table]).ok()?;
    Some(BTreeMap::from([(name, shown(rows, &values))]))
}

/// Returns the longest base round-trip time of an entry's flows, s. Returns `None` if this time is unbounded.
fn longest_rtt(flow: &FlowSpec<Any>, links: &[LinkSpec<Any>]) -> Option<f64> {
    match &flow.rtt {
        None => {
            let paths = flow.routes.paths.iter();
            paths
                .filter_map(|path| propagation(path, links))
                .max()
                .map(Duration::as_secs_f64)
        }
        Some(rtt) => Some(rtt.max()).filter(|rtt| rtt.is_finite()),
    }
}
