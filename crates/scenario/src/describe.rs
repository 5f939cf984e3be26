//! Descriptions of resolved scenarios, laws, queues and buffer algorithms, and the schema of scenario files.

use levelflow_laws::aqm::{QUEUES, QueueInfo};
use levelflow_laws::buffers::BUFFER_ALGORITHMS;
use levelflow_laws::header::{Bits, Field, Values, Writer};
use levelflow_laws::params::Shown;
use levelflow_laws::{Any, LAWS, LawInfo, Opening, ParamSpec, Protocol, Signal, Unit};
use levelflow_units::{Buffer, Rate, Time};
use serde_json::{Map, Value, json};

use crate::buffers::sized_in_force;
use crate::context::target;
use crate::format::{OwnLaws, Scenario};
use crate::laws::{InForce, rows_of};
use crate::lie::Lie;
use crate::network::{FlowSpec, LinkSpec, LinkState, RouteSpec};
use crate::profile::Profile;
use crate::queues::{queue_in_force, queue_of};
use crate::record::{
    BitsRecord, BufferRecord, FieldRecord, FlowRecord, LawRecord, LinkRecord, LinkStateRecord, ParameterRecord,
    Parameters, PathRecord, PlanRecord, QueueRecord, ScenarioRecord,
};
use crate::resolve::Resolved;
use crate::rules::RULES;
use crate::traffic::Arrivals;

impl Resolved {
    /// Describes the network, including default values. Manifests and tools that need the topology use the description.
    #[must_use]
    pub fn describe(&self, scenario: &Scenario) -> ScenarioRecord {
        let network = &self.network;
        let in_force = InForce::new(scenario, network);
        let links = network
            .links
            .iter()
            .zip(&self.ends)
            .zip(in_force.links)
            .zip(scenario.queue_choices())
            .zip(scenario.buffer_choices())
            .zip(network.offered_loads())
            .map(
                |(((((link, (from, to)), laws), queue), (_, _, buffer)), offered)| LinkRecord {
                    name: link.name.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    capacity_bps: link.capacity.bps(),
                    service_bps: link.service_rate(link.capacity).bps(),
                    delay_s: link.wire.delay.as_secs_f64(),
                    buffer: match link.buffer {
                        Buffer::Unlimited => "unlimited".to_owned(),
                        Buffer::Bytes(b) => b.to_string(),
                        Buffer::Packets(n) => format!("{n} packets"),
                    },
                    sizing: sized_in_force(buffer),
                    queue: queue_in_force(queue),
                    loss: link.wire.loss.mean(),
                    laws,
                    target_bps: target(link, link.capacity).bps(),
                    offered_bps: offered.bps,
                    offered_load: Some(offered.load).filter(|load| load.is_finite()),
                    changes: link.changes.iter().map(|state| describe_state(link, state)).collect(),
                    measured: link.measured,
                    police: link.police,
                },
            );
        let flows = network
            .flows
            .iter()
            .zip(in_force.flows)
            .zip(&scenario.flow)
            .map(|((f, params), flow)| self.describe_flow(f, params, flow.lie.clone()));
        ScenarioRecord {
            name: scenario.name.clone(),
            duration_s: network.duration.as_secs_f64(),
            sample_s: network.sample.as_secs_f64(),
            seed: network.seed,
            profile: scenario.profile,
            links: links.collect(),
            flows: flows.collect(),
            memories: scenario.memory.clone(),
            random: self.is_random(),
            warnings: self.warnings(),
        }
    }

    fn describe_flow(&self, flow: &FlowSpec<Any>, params: Parameters, lie: Option<Lie>) -> FlowRecord {
        let links = &self.network.links;
        let names = |path: &[u32]| path.iter().map(|&l| links[l as usize].name.clone()).collect::<Vec<_>>();
        let first = flow.routes.first();
        let there_and_back = first.forward.iter().chain(&first.reverse);
        let on_links: f64 = there_and_back
            .map(|&l| links[l as usize].wire.delay.as_secs_f64())
            .sum();
        let law = flow.params.law();
        let path = |path: &RouteSpec| PathRecord {
            path: names(&path.forward),
            reverse_path: names(&path.reverse),
        };
        let plan = |(from, path_of): &(Time, Vec<u32>)| PlanRecord {
            from_s: from.as_secs_f64(),
            path_of: path_of.clone(),
        };
        let several = !flow.routes.is_single();
        FlowRecord {
            name: flow.name.clone(),
            law: law.name,
            signalling: law.signalling.name,
            signal: signal(law.signal),
            params,
            handshake: Any::transport(&flow.params).opening == Opening::Handshake,
            path: names(&first.forward),
            reverse_path: names(&first.reverse),
            base_rtt_s: flow.rtt.as_ref().map_or(Some(on_links), crate::traffic::Dist::constant),
            start_s: flow.start.constant(),
            stop_s: flow.stop.map(Time::as_secs_f64),
            last_arrival_s: flow.last_arrival.map(Time::as_secs_f64),
            count: match flow.arrivals {
                Arrivals::Once { count } => Some(count),
                _ => None,
            },
            finite: flow.size.is_some() || flow.lifetime.is_some(),
            transfers: flow.size.is_some(),
            application: flow.application.is_some(),
            lie,
            packet_bytes: flow.packet.get(),
            header_bytes: flow.headers.get(),
            ack_bytes: flow.control.get(),
            paths: several.then(|| flow.routes.paths.iter().map(path).collect()),
            plans: several.then(|| flow.routes.plans.iter().map(plan).collect()),
        }
    }
}

fn describe_state(link: &LinkSpec<Any>, state: &LinkState) -> LinkStateRecord {
    let none = state.capacity == Rate::ZERO;
    LinkStateRecord {
        at_s: state.at.as_secs_f64(),
        capacity_bps: state.capacity.bps(),
        service_bps: link.service_rate(state.capacity).bps(),
        target_bps: if none { 0.0 } else { target(link, state.capacity).bps() },
        delay_s: state.wire.delay.as_secs_f64(),
        loss: state.wire.loss.mean(),
    }
}

/// Describes every law and its parameter table.
#[must_use]
pub fn describe_laws() -> Vec<LawRecord> {
    LAWS.iter().map(describe_law).collect()
}

fn describe_law(law: &LawInfo) -> LawRecord {
    let signalling = law.signalling;
    LawRecord {
        name: law.name,
        title: law.title,
        source: law.source,
        signal: signal(law.signal),
        signalling: signalling.name,
        cost: signalling.cost,
        number: signalling.number,
        header_bytes: signalling.header_bytes(),
        header_doc: signalling.header.doc.trim(),
        header: signalling.header.fields.iter().map(describe_field).collect(),
        zero_together: signalling.header.zero_together,
        kernel_router: signalling.routers.kernel.is_some(),
        scale_invariant: law.scale_invariant,
        params: law_rows(law),
    }
}

/// Returns the rows of a law's table. These are the parameters of its senders, and of the routers of the signalling
/// with its name.
fn law_rows(law: &LawInfo) -> Vec<ParameterRecord> {
    let mut rows = describe_params(&rows_of(&OwnLaws::new(), law.name));
    let routers = if law.signalling.name == law.name {
        law.signalling.params
    } else {
        &[]
    };
    for row in &mut rows {
        let has = |table: &[ParamSpec]| table.iter().any(|own| row.name == own.name);
        row.read_by = Some(match (has(law.params), has(routers)) {
            (true, true) => "senders and routers",
            (true, false) => "senders",
            _ => "routers",
        });
    }
    rows
}

fn describe_field(field: &Field) -> FieldRecord {
    let mut row = FieldRecord {
        name: field.name,
        doc: field.doc,
        bytes: field.bytes,
        writer: match field.writer {
            Writer::Sender => "sender",
            Writer::Router => "router",
            Writer::Receiver => "receiver",
        },
        allowed: field.values.text(),
        ..FieldRecord::default()
    };
    let bits = |group: &Bits| BitsRecord {
        name: group.name,
        mask: group.mask,
        doc: group.doc,
    };
    let bound = |value: f32| Some(value).filter(|value| value.is_finite());
    match field.values {
        Values::Number => {}
        Values::Bits(groups) => row.bits = Some(groups.iter().map(bits).collect()),
        Values::Only { value, .. } => row.only = Some(value),
        Values::Float { low, high, .. } => row.range = Some((bound(low), bound(high))),
    }
    row
}

/// Describes every queue discipline and its parameter table.
#[must_use]
pub fn describe_queues() -> Vec<QueueRecord> {
    let describe = |queue: &QueueInfo| QueueRecord {
        name: queue.name,
        title: queue.title,
        source: queue.source,
        signal: queue.signal,
        schedules: queue_of(queue.name).is_ok_and(|defaults| defaults.schedules()),
        params: describe_params(queue.params),
    };
    QUEUES.iter().map(describe).collect()
}

/// Describes every buffer rule and every buffer-sizing algorithm, with their parameter tables.
#[must_use]
pub fn describe_buffer_algorithms() -> Vec<BufferRecord> {
    let describe = |name, title, source, adapts, params| BufferRecord {
        name,
        title,
        source,
        adapts,
        params: describe_params(params),
    };
    let algorithms = BUFFER_ALGORITHMS
        .iter()
        .map(|s| describe(s.name, s.title, s.source, true, s.params));
    let rules = RULES
        .iter()
        .map(|r| describe(r.name, r.title, r.source, false, r.params));
    algorithms.chain(rules).collect()
}

fn describe_params(rows: &[ParamSpec]) -> Vec<ParameterRecord> {
    let row = |p: &ParamSpec| ParameterRecord {
        name: p.name,
        doc: p.doc,
        source: p.source,
        kind: kind(p.unit),
        default: Shown(p.unit, Profile::Linux.default_of(p)).to_string(),
        paper: p.linux.map(|_| Shown(p.unit, p.default).to_string()),
        low: Shown(p.unit, p.range.0).to_string(),
        high: Shown(p.unit, p.range.1).to_string(),
        choices: match p.unit {
            Unit::Choice(words) => Some(words),
            _ => None,
        },
        read_by: None,
    };
    rows.iter().map(row).collect()
}

fn signal(signal: Signal) -> &'static str {
    match signal {
        Signal::Price => "price",
        Signal::Rate => "rate",
        Signal::Change => "change of window",
        Signal::Mark => "marks",
        Signal::Loss => "loss",
        Signal::Delay => "delay",
        Signal::Delivery => "deliveries",
        Signal::Nothing => "nothing",
    }
}

fn kind(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "number",
        Unit::Duration => "time",
        Unit::Rate => "rate",
        Unit::Size => "size",
        Unit::Packets => "packets",
        Unit::Switch => "switch",
        Unit::Choice(_) => "choice",
    }
}

/// Returns the JSON Schema of scenario files. The schema includes the parameter tables of laws.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    let tables: Map<String, Value> = LAWS
        .iter()
        .map(|law| {
            (
                law.name.to_owned(),
                table_schema(law.title, &rows_of(&OwnLaws::new(), law.name)),
            )
        })
        .collect();
    let laws = json!({ "type": "object", "properties": tables, "additionalProperties": false });
    let names: Vec<&str> = LAWS.iter().map(|l| l.name).chain(["none"]).collect();
    if let Some(law) = schema.pointer_mut("/properties/law") {
        let description = law.get("description").cloned();
        *law = json!({ "$ref": "#/$defs/LawTables", "description": description });
    }
    if let Some(defs) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        defs.insert("LawTables".into(), laws);
        let description = "a law by name, or by name with parameters; \"none\" only at a link";
        let choice = json!({
            "description": description,
            "anyOf": [{ "enum": names }, { "$ref": "#/$defs/LawTables" }],
        });
        defs.insert("LawChoice".into(), choice);
        let tables: Map<String, Value> = QUEUES
            .iter()
            .map(|queue| (queue.name.to_owned(), table_schema(queue.title, queue.params)))
            .collect();
        let names: Vec<&str> = QUEUES.iter().map(|q| q.name).collect();
        let table = json!({
            "type": "object", "properties": tables, "additionalProperties": false,
            "minProperties": 1, "maxProperties": 1,
        });
        let choice = json!({
            "description": "a queue discipline by name, or by name with parameters",
            "anyOf": [{ "enum": names }, table],
        });
        defs.insert("QueueChoice".into(), choice);
    }
    schema
}

fn table_schema(title: &str, params: &[ParamSpec]) -> Value {
    let rows: Map<String, Value> = params.iter().map(|p| (p.name.to_owned(), param_schema(p))).collect();
    json!({ "type": "object", "description": title, "properties": rows, "additionalProperties": false })
}

fn param_schema(p: &ParamSpec) -> Value {
    let value = Profile::Linux.default_of(p);
    let default = Shown(p.unit, value).to_string();
    let mut schema = match p.unit {
        Unit::Number => json!({ "type": "number", "minimum": p.range.0, "maximum": p.range.1, "default": value }),
        Unit::Switch => json!({ "type": "boolean", "default": value != 0.0 }),
        Unit::Choice(words) => json!({ "enum": words, "default": default }),
        Unit::Duration | Unit::Rate | Unit::Size | Unit::Packets => json!({ "type": "string", "default": default }),
    };
    schema["description"] = json!(format!("{} ({})", p.doc, p.source));
    schema
}
