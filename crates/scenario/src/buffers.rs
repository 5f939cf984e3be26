//! How large a buffer is: as written, by a published rule from the flows on the link, or by a sizer while the run goes on.

use std::collections::BTreeMap;

use levelflow_laws::buffers::{AnySizerParams, SIZERS, sizer_params};
use levelflow_laws::params::Shown;
use levelflow_laws::{Any, ParamSpec, Unit};
use levelflow_units::{Buffer, Bytes, Packets};
use serde_json::{Value, json};

use crate::choice::BufferChoice;
use crate::context::{Fallible, LARGEST_PACKET, largest_packet, link_place, propagation};
use crate::error::{ScenarioError, unknown_key};
use crate::format::Scenario;
use crate::laws::read_table;
use crate::network::{FlowSpec, LinkSpec};
use crate::quantity::{BufferSize, Size};
use crate::traffic::{Arrivals, Dist};

impl Scenario {
    /// Works out every buffer; those in bandwidth-delay products, or by a rule, need the flows' round trips.
    pub(crate) fn size_buffers(&self, links: &mut [LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<()> {
        let longest: Vec<Option<f64>> = flows.iter().map(|f| longest_rtt(f, links)).collect();
        for (index, (i, link, choice)) in self.buffer_choices().enumerate() {
            let place = format!("{}, buffer", link_place(i, link));
            let crosses = |f: &FlowSpec<Any>| {
                f.route.forward.contains(&(index as u32)) || f.route.reverse.contains(&(index as u32))
            };
            let size = match choice {
                BufferChoice::Size(size) => *size,
                BufferChoice::Tables(tables) => match read_sized(&place, tables)? {
                    Sized::Sizer(params) => {
                        links[index].sizer = Some(params);
                        continue;
                    }
                    Sized::Rule(rule, values) => {
                        let crossing: Vec<_> = flows
                            .iter()
                            .zip(&longest)
                            .filter(|(f, _)| crosses(f))
                            .map(|(f, rtt)| (f, *rtt))
                            .collect();
                        let packets = by_rule(&place, rule, &values, &links[index], &crossing)?;
                        BufferSize::Fixed(Size::Packets(Packets::new(packets)))
                    }
                },
            };
            links[index].buffer = match size {
                BufferSize::Unlimited => Buffer::Unlimited,
                BufferSize::Fixed(Size::Bytes(b)) => Buffer::Bytes(b),
                BufferSize::Fixed(Size::Packets(n)) => Buffer::Packets(n.get()),
                BufferSize::Bdp(times) => {
                    let all: Vec<_> = flows.iter().zip(&longest).map(|(f, rtt)| (crosses(f), *rtt)).collect();
                    let rtt = base_rtt(&all).map_err(|problem| ScenarioError::at(&place, problem))?;
                    Buffer::Bytes(Bytes::new(
                        (times * links[index].capacity.bps() * rtt / 8.0).ceil() as u64
                    ))
                }
            };
            let room = match links[index].buffer {
                Buffer::Unlimited => continue,
                Buffer::Bytes(b) => b,
                Buffer::Packets(n) => Bytes::new(n.saturating_mul(LARGEST_PACKET)),
            };
            let largest = flows.iter().filter_map(|f| largest_packet(f, index as u32)).max();
            if room == Bytes::ZERO || largest.is_some_and(|packet| room < packet) {
                let packet = largest.unwrap_or(Bytes::new(1));
                let problem = format!("must have room for at least one packet, here {packet}");
                return Err(ScenarioError::at(place, problem));
            }
        }
        Ok(())
    }
}

/// The longest round trip, s, of the flows that cross a link; of all flows where none does.
fn base_rtt(flows: &[(bool, Option<f64>)]) -> Result<f64, &'static str> {
    let idle = flows.iter().all(|(crosses, _)| !crosses);
    let rtts = flows
        .iter()
        .filter(|(crosses, _)| idle || *crosses)
        .map(|(_, rtt)| *rtt);
    let longest = rtts
        .collect::<Option<Vec<f64>>>()
        .map(|rtts| rtts.into_iter().reduce(f64::max));
    match longest {
        Some(Some(rtt)) => Ok(rtt),
        Some(None) => Err("BDP needs flows, whose round trips it is made of"),
        None => Err("BDP needs flows whose round trips have a largest value"),
    }
}

/// Largest buffer that a rule may give, packets: that of sizers, too.
const LARGEST_BUFFER: f64 = 1e9;

/// A published rule: packets from what is known of a link.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub params: &'static [ParamSpec],
    /// Takes the values of the table from the third on.
    size: fn(&Known, &[f64]) -> f64,
}

/// What rules start from.
#[derive(Debug)]
struct Known {
    flows: f64,
    /// Packets that the link sends in a second.
    rate: f64,
    /// `C R`, packets.
    pipe: f64,
}

const FLOWS: ParamSpec = ParamSpec {
    name: "flows",
    doc: "flows on the link, N, at least 1; 0 for those of the scenario",
    unit: Unit::Number,
    default: 0.0,
    range: (0.0, 1e9),
    source: "the scenario",
};

const RTT: ParamSpec = ParamSpec {
    name: "rtt",
    doc: "their round-trip time, R; 0 for the harmonic mean of those of the scenario",
    unit: Unit::Duration,
    default: 0.0,
    range: (0.0, 1000.0),
    source: "the scenario",
};

const fn number(
    name: &'static str,
    doc: &'static str,
    default: f64,
    range: (f64, f64),
    source: &'static str,
) -> ParamSpec {
    ParamSpec {
        name,
        doc,
        unit: Unit::Number,
        default,
        range,
        source,
    }
}

/// Chapter II.2 of Zhang 2008; the same formulas as `levelflow.theory.queues.buffers`.
pub const RULES: &[Rule] = &[
    Rule {
        name: "thumb",
        title: "rule of thumb: C R",
        source: "Villamizar, Song 1994",
        params: &[FLOWS, RTT],
        size: |known, _| known.pipe,
    },
    Rule {
        name: "stanford",
        title: "Stanford: C R / sqrt(N), times a factor",
        source: "Appenzeller, Keslassy, McKeown 2004; Zhang 2008, section VII.3.2 for the factor",
        params: &[
            FLOWS,
            RTT,
            number("times", "factor", 2.0, (1e-6, 1e6), "Zhang 2008, section VII.3.2"),
        ],
        size: |known, rest| rest[0] * known.pipe / known.flows.sqrt(),
    },
    Rule {
        name: "avrachenkov",
        title: "Avrachenkov: (C R)^2 / (32 N^3)",
        source: "Avrachenkov, Ayesta, Piunovskiy 2005",
        params: &[FLOWS, RTT],
        size: |known, _| known.pipe.powi(2) / (32.0 * known.flows.powi(3)),
    },
    Rule {
        name: "enachescu",
        title: "Enachescu: 10 to 20 packets, for paced traffic",
        source: "Enachescu, Ganjali, Goel, McKeown, Roughgarden 2006",
        params: &[
            FLOWS,
            RTT,
            number("packets", "the buffer", 20.0, (1.0, 1e6), "Enachescu et al. 2006"),
        ],
        size: |_, rest| rest[0],
    },
    Rule {
        name: "bscl",
        title: "BSCL: full use, or a loss, whichever needs more",
        source: "Dhamdhere, Jiang, Dovrolis 2005; Zhang 2008, eq 9 and 10",
        params: &[
            FLOWS,
            RTT,
            number(
                "loss",
                "share that may be lost, p*",
                0.02,
                (1e-6, 1.0),
                "Zhang 2008, table II",
            ),
            number(
                "lost_per_flow",
                "packets lost in a congestion event, per flow",
                0.6,
                (1e-6, 1e3),
                "Zhang 2008, section VII.3.2",
            ),
            ParamSpec {
                name: "part",
                doc: "which of the two: for full use (eq 9), for the loss (eq 10), or whichever needs more",
                unit: Unit::Choice(&["both", "use", "loss"]),
                default: 0.0,
                range: (0.0, 2.0),
                source: "Zhang 2008, section II.2: both",
            },
            ParamSpec {
                name: "propagation",
                doc: "round trip without waits, R_p of eq 10; 0 for rtt",
                unit: Unit::Duration,
                default: 0.0,
                range: (0.0, 1000.0),
                source: "the scenario",
            },
        ],
        size: bscl,
    },
    Rule {
        name: "eun_wang",
        title: "Eun and Wang: between C R / sqrt(N) and C R N, for queues that mark",
        source: "Eun, Wang 2008",
        params: &[
            FLOWS,
            RTT,
            number(
                "between",
                "where between the two, by the logarithm: 0 to 1",
                0.0,
                (0.0, 1.0),
                "own choice: the smallest",
            ),
        ],
        size: |known, rest| known.pipe * known.flows.powf(1.5 * rest[0] - 0.5),
    },
];

/// Eq 9 and 10, by the values from the share that may be lost on.
fn bscl(known: &Known, rest: &[f64]) -> f64 {
    let &Known { flows, rate, pipe } = known;
    let &[loss, lost_per_flow, part, propagation] = rest else {
        panic!("one value per row of the table");
    };
    let lose = 1.0 - (1.0 - 1.0 / flows).powf(lost_per_flow * flows);
    let for_use = (lose * pipe - 2.0 * flows * (1.0 - lose)) / (2.0 - lose);
    let empty = if propagation > 0.0 { rate * propagation } else { pipe };
    let for_loss = 0.87 / loss.sqrt() * flows - empty;
    match part as u8 {
        0 => for_use.max(for_loss),
        1 => for_use,
        _ => for_loss,
    }
}

/// What a table of a buffer stands for.
pub enum Sized {
    Rule(&'static Rule, Vec<f64>),
    Sizer(AnySizerParams),
}

/// Reads a table with one rule or sizer.
pub fn read_sized(place: &str, tables: &BTreeMap<String, BTreeMap<String, Value>>) -> Fallible<Sized> {
    let (name, table, rows) = named(place, tables)?;
    let values = read_table(&format!("{place}, {name}"), rows, &[table])?;
    if let Some(rule) = RULES.iter().find(|rule| rule.name == name) {
        return Ok(Sized::Rule(rule, values));
    }
    let params = sizer_params(name, &values)
        .map_err(|e| ScenarioError::at(format!("{place}, {name}, {}", e.name), e.to_string()))?;
    Ok(Sized::Sizer(params))
}

/// Parameters of a sizer from a table of those that differ from the defaults.
///
/// # Errors
/// When the sizer or a parameter is unknown, or a value is not allowed.
pub fn sizer_named(name: &str, table: &BTreeMap<String, Value>) -> Fallible<AnySizerParams> {
    match read_sized("sizer", &BTreeMap::from([(name.to_owned(), table.clone())]))? {
        Sized::Sizer(params) => Ok(params),
        Sized::Rule(..) => Err(ScenarioError::at(
            "sizer",
            format!("{name} is a rule: it does not adapt"),
        )),
    }
}

type Named<'a> = (&'a str, &'a BTreeMap<String, Value>, &'static [ParamSpec]);

fn named<'a>(place: &str, tables: &'a BTreeMap<String, BTreeMap<String, Value>>) -> Fallible<Named<'a>> {
    let Some((name, table)) = tables.first_key_value().filter(|_| tables.len() == 1) else {
        return Err(ScenarioError::at(place, "a buffer has exactly one rule or sizer"));
    };
    let sizers = SIZERS.iter().map(|sizer| (sizer.name, sizer.params));
    let all: Vec<_> = sizers
        .chain(RULES.iter().map(|rule| (rule.name, rule.params)))
        .collect();
    match all.iter().find(|(known, _)| known == name) {
        Some((_, rows)) => Ok((name, table, rows)),
        None => {
            let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            Err(ScenarioError::at(
                place,
                format!("the rule or sizer {}", unknown_key(name, &known)),
            ))
        }
    }
}

/// A table with every default filled in, as scenarios write it.
pub fn sized_in_force(choice: &BufferChoice) -> Option<Value> {
    let BufferChoice::Tables(tables) = choice else {
        return None;
    };
    let (name, table, rows) = named("", tables).ok()?;
    let values = read_table("", rows, &[table]).ok()?;
    let params: Value = rows
        .iter()
        .zip(values)
        .map(|(row, value)| (row.name.to_owned(), Value::from(Shown(row.unit, value).to_string())))
        .collect();
    Some(json!({ name: params }))
}

/// Packets by a rule, from 1, also where the formula says less, to [`LARGEST_BUFFER`]: of the largest packet of the flows whose data or answers cross the link.
pub fn by_rule(
    place: &str,
    rule: &Rule,
    values: &[f64],
    link: &LinkSpec<Any>,
    crossing: &[(&FlowSpec<Any>, Option<f64>)],
) -> Fallible<u64> {
    let needs = |key: &str, why: &str| ScenarioError::at(format!("{place}, {}, {key}", rule.name), why);
    let flows = match values[0] {
        0.0 => {
            count(crossing).ok_or_else(|| needs("flows", "needs a number of flows: those on the link come and go"))?
        }
        flows if flows < 1.0 => return Err(needs("flows", "must be at least 1, or 0 for those of the scenario")),
        flows => flows,
    };
    let rtt = match values[1] {
        0.0 => harmonic(crossing)
            .ok_or_else(|| needs("rtt", "needs a round-trip time: those on the link vary or are 0"))?,
        rtt => rtt,
    };
    let packet = crossing.iter().map(|(flow, _)| flow.packet).max();
    let packet = packet.ok_or_else(|| needs("flows", "no flow crosses the link"))?;
    let rate = link.capacity.bps() / packet.as_bits_f64();
    let pipe = rate * rtt;
    let packets = (rule.size)(&Known { flows, rate, pipe }, &values[2..]);
    if packets > LARGEST_BUFFER {
        let problem = format!("gives {packets:.3e} packets; must be at most {LARGEST_BUFFER}");
        return Err(ScenarioError::at(format!("{place}, {}", rule.name), problem));
    }
    Ok(packets.max(1.0) as u64)
}

fn count(crossing: &[(&FlowSpec<Any>, Option<f64>)]) -> Option<f64> {
    let mut sum = 0;
    for (flow, _) in crossing {
        let Arrivals::Once { count } = flow.arrivals else {
            return None;
        };
        sum += count;
    }
    (sum > 0).then_some(sum as f64)
}

/// Of round trips that are the same for all flows of an entry, or uniform between two.
fn harmonic(crossing: &[(&FlowSpec<Any>, Option<f64>)]) -> Option<f64> {
    let (mut flows, mut inverse) = (0.0, 0.0);
    for (flow, fixed) in crossing {
        let Arrivals::Once { count } = flow.arrivals else {
            return None;
        };
        let one = match (&flow.rtt, fixed) {
            (None, Some(rtt)) => 1.0 / rtt,
            (Some(Dist::Constant(rtt)), _) => 1.0 / rtt,
            (Some(Dist::Uniform { low, high }), _) if low == high => 1.0 / low,
            (Some(Dist::Uniform { low, high }), _) => (high / low).ln() / (high - low),
            _ => return None,
        };
        flows += count as f64;
        inverse += count as f64 * one;
    }
    let mean = flows / inverse;
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

/// Longest base round trip of a flow, if there is one.
fn longest_rtt(flow: &FlowSpec<Any>, links: &[LinkSpec<Any>]) -> Option<f64> {
    match &flow.rtt {
        None => propagation(&flow.route, links).map(|delay| delay.as_secs_f64()),
        Some(rtt) => Some(rtt.max()).filter(|rtt| rtt.is_finite()),
    }
}
