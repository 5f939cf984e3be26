//! Published buffer-sizing rules. A rule computes a number of packets from properties of a link and its flows.

use levelflow_laws::{Any, ParamSpec, Unit};

use crate::error::{Fallible, Place, Problem};
use crate::network::{FlowSpec, LinkSpec};
use crate::traffic::{Arrivals, Dist};

/// Limit on buffer sizes that rules and algorithms compute, in packets.
const LARGEST_BUFFER: f64 = 1e9;

/// Published buffer-sizing rule.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub params: &'static [ParamSpec],
    /// Function that computes the buffer size in packets. Its second argument contains the values of all parameters
    /// except the first two, N and R.
    size: fn(&Known, &[f64]) -> f64,
}

/// Inputs of all rules.
#[derive(Debug)]
struct Known {
    flows: f64,
    /// Number of packets that the link sends per second.
    rate: f64,
    /// Bandwidth-delay product `C R`, in packets.
    pipe: f64,
}

const FLOWS: ParamSpec = ParamSpec {
    name: "flows",
    doc: "number of flows on the link, N, at least 1; 0 for that of the scenario",
    unit: Unit::Number,
    default: 0.0,
    linux: None,
    range: (0.0, 1e9),
    source: "the scenario",
};

const RTT: ParamSpec = ParamSpec {
    name: "rtt",
    doc: "round-trip time of the flows, R; 0 for their harmonic mean in the scenario",
    unit: Unit::Duration,
    default: 0.0,
    linux: None,
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
        linux: None,
        range,
        source,
    }
}

/// Rules of Zhang 2008, chapter II.2. `levelflow.theory.queues.buffers` contains the same formulas.
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
            number("packets", "buffer size", 20.0, (1.0, 1e6), "Enachescu et al. 2006"),
        ],
        size: |_, rest| rest[0],
    },
    Rule {
        name: "bscl",
        title: "BSCL: for full utilisation or a loss target, whichever needs more",
        source: "Dhamdhere, Jiang, Dovrolis 2005; Zhang 2008, eq 9 and 10",
        params: &[
            FLOWS,
            RTT,
            number(
                "loss",
                "target share of losses, p*",
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
                doc: "target: full utilisation (eq 9), loss (eq 10), or the one that needs more",
                unit: Unit::Choice(&["both", "use", "loss"]),
                default: 0.0,
                linux: None,
                range: (0.0, 2.0),
                source: "Zhang 2008, section II.2: both",
            },
            ParamSpec {
                name: "propagation",
                doc: "round-trip time without queueing, R_p of eq 10; 0 for rtt",
                unit: Unit::Duration,
                default: 0.0,
                linux: None,
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
                "position between the two, on a logarithmic scale: 0 to 1",
                0.0,
                (0.0, 1.0),
                "own choice: the smallest",
            ),
        ],
        size: |known, rest| known.pipe * known.flows.powf(1.5 * rest[0] - 0.5),
    },
];

/// Returns the buffer size of BSCL, in packets (Zhang 2008, eq 9 and 10). The first value of `rest` is the target loss
/// rate.
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

/// Computes a buffer size by a rule, in packets of the size of the largest packet on the link. The result is at least
/// 1. A result above [`LARGEST_BUFFER`] is an error.
pub fn by_rule(
    place: &Place,
    rule: &Rule,
    values: &[f64],
    link: &LinkSpec<Any>,
    crossing: &[(&FlowSpec<Any>, Option<f64>)],
) -> Fallible<u64> {
    let place = place.key(rule.name);
    let needs = |key, why: &str| place.key(key).error(Problem::Conflict(why.into()));
    let flows = match values[0] {
        0.0 => {
            let why = "needs a number of flows, because the number on the link is zero or varies";
            count(crossing).ok_or_else(|| needs("flows", why))?
        }
        flows if flows < 1.0 => {
            let problem = Problem::Value("must be at least 1, or 0 for the number in the scenario".into());
            return Err(place.key("flows").error(problem));
        }
        flows => flows,
    };
    let rtt = match values[1] {
        0.0 => {
            let why = "needs a round-trip time, because those of the flows on the link vary or are 0";
            harmonic(crossing).ok_or_else(|| needs("rtt", why))?
        }
        rtt => rtt,
    };
    let packet = crossing.iter().map(|(flow, _)| flow.packet).max();
    let packet = packet.ok_or_else(|| needs("flows", "no flow crosses the link"))?;
    let rate = link.service_rate(link.capacity).bps() / packet.as_bits_f64();
    let pipe = rate * rtt;
    let packets = (rule.size)(&Known { flows, rate, pipe }, &values[2..]);
    if packets > LARGEST_BUFFER {
        let problem = format!("gives {packets:.3e} packets; must be at most {LARGEST_BUFFER}");
        return Err(place.error(Problem::Value(problem)));
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
    (sum > 0).then_some(f64::from(sum))
}

/// Returns the harmonic mean of the flows' round-trip times, s. The round-trip times of an entry must be constant or
/// uniformly distributed.
fn harmonic(crossing: &[(&FlowSpec<Any>, Option<f64>)]) -> Option<f64> {
    let (mut flows, mut inverse) = (0.0, 0.0);
    for (flow, fixed) in crossing {
        let Arrivals::Once { count } = flow.arrivals else {
            return None;
        };
        let one = match (&flow.rtt, fixed) {
            (None, Some(rtt)) | (Some(Dist::Constant(rtt)), _) => 1.0 / rtt,
            (Some(Dist::Uniform { low, high }), _) if low == high => 1.0 / low,
            (Some(Dist::Uniform { low, high }), _) => (high / low).ln() / (high - low),
            _ => return None,
        };
        flows += f64::from(count);
        inverse += f64::from(count) * one;
    }
    let mean = flows / inverse;
    (mean.is_finite() && mean > 0.0).then_some(mean)
}
