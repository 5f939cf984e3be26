//! Records that describe resolved scenarios, laws, queue disciplines and buffer sizing, serialised by name.
//!
//! Their schemas are the source of `python/levelflow/records.py`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::Memory;
use crate::lie::Lie;
use crate::profile::Profile;

/// Parameter values by name, as scenarios write them.
pub type Parameters = BTreeMap<&'static str, String>;
/// Parameter tables by name of a law, signalling, queue discipline or buffer algorithm.
pub type ParameterTables = BTreeMap<&'static str, Parameters>;

/// Resolved scenario: network, traffic and parameters, with every default filled in.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScenarioRecord {
    /// Name of the scenario.
    pub name: String,
    /// Simulated time, s.
    pub duration_s: f64,
    /// Time between two samples, s.
    pub sample_s: f64,
    /// Seed of the random streams.
    pub seed: u64,
    /// Set of defaults.
    pub profile: Profile,
    /// Links, one per direction.
    pub links: Vec<LinkRecord>,
    /// Flow entries, in the order of the scenario.
    pub flows: Vec<FlowRecord>,
    /// Memories shared by the buffers of links.
    pub memories: Vec<Memory>,
    /// True if the results depend on the seed.
    pub random: bool,
    /// Likely mistakes, one line each.
    pub warnings: Vec<String>,
}

/// One direction of a link.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LinkRecord {
    /// Name in results.
    pub name: String,
    /// Node at the sending end.
    pub from: String,
    /// Node at the receiving end.
    pub to: String,
    /// Line rate, b/s.
    pub capacity_bps: f64,
    /// Rate at which the queue is served, b/s; less than the line rate under a policer.
    pub service_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Buffer size, or the initial size if an algorithm changes it.
    pub buffer: String,
    /// Parameters of the buffer rule or buffer-sizing algorithm.
    pub sizing: Option<ParameterTables>,
    /// Parameters of the queue discipline.
    pub queue: ParameterTables,
    /// Mean packet loss on the wire, 0 to 1.
    pub loss: f64,
    /// Parameters of the routers, by signalling.
    pub laws: ParameterTables,
    /// Rate to which routers control the link, b/s.
    pub target_bps: f64,
    /// Offered rate in the busiest period, b/s.
    pub offered_bps: f64,
    /// Offered load in the busiest period; null if it is infinite.
    pub offered_load: Option<f64>,
    /// Changes during the run, in order of time.
    pub changes: Vec<LinkStateRecord>,
    /// True if routers measure the capacity from transmitted packets.
    pub measured: bool,
    /// True if the routers police headers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub police: bool,
}

/// State of a link from the time of a change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LinkStateRecord {
    /// Time of the change, s.
    pub at_s: f64,
    /// Line rate, b/s; 0 during an outage.
    pub capacity_bps: f64,
    /// Rate at which the queue is served, b/s.
    pub service_bps: f64,
    /// Rate to which routers control the link, b/s.
    pub target_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Mean packet loss on the wire, 0 to 1.
    pub loss: f64,
}

/// Flow entry. Times that are drawn at random are null.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FlowRecord {
    /// Name of the entry.
    pub name: String,
    /// Law of the senders.
    pub law: &'static str,
    /// Signalling that the law reacts to.
    pub signalling: &'static str,
    /// Kind of signal that the law reacts to.
    pub signal: &'static str,
    /// Parameters of the senders.
    pub params: Parameters,
    /// True if a flow opens with a handshake.
    pub handshake: bool,
    /// Links from source to destination, for the first flow at time 0.
    pub path: Vec<String>,
    /// Links back to the source.
    pub reverse_path: Vec<String>,
    /// Round-trip time without queueing, s.
    pub base_rtt_s: Option<f64>,
    /// Start time, s.
    pub start_s: Option<f64>,
    /// Time at which flows stop sending, s; null if there is none.
    pub stop_s: Option<f64>,
    /// Latest time at which a flow may arrive, s; null if there is none.
    pub last_arrival_s: Option<f64>,
    /// Number of flows; null if they arrive during the run.
    pub count: Option<u32>,
    /// True if flows end by themselves.
    pub finite: bool,
    /// True if flows carry a limited amount of data.
    pub transfers: bool,
    /// True if an application supplies the data.
    pub application: bool,
    /// Lies of the hosts; absent if they are honest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Lie")]
    pub lie: Option<Lie>,
    /// Maximum size of data packets, bytes.
    pub packet_bytes: u64,
    /// Size of the headers of each packet, bytes. The rest of a data packet is payload.
    pub header_bytes: u64,
    /// Size of ACKs and of packets that open and close flows, bytes.
    pub ack_bytes: u64,
    /// Paths that flows of the entry take at some time; absent if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<PathRecord>")]
    pub paths: Option<Vec<PathRecord>>,
    /// Assignments of flows to paths, in order of time; absent if there is only one path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<PlanRecord>")]
    pub plans: Option<Vec<PlanRecord>>,
}

/// Path of a flow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PathRecord {
    /// Links from source to destination.
    pub path: Vec<String>,
    /// Links back to the source.
    pub reverse_path: Vec<String>,
}

/// Assignment of the flows of an entry to its paths.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlanRecord {
    /// Time from which the plan holds, s.
    pub from_s: f64,
    /// Indices of paths. Flow `n` takes the path at index `n` modulo the length of the list.
    pub path_of: Vec<u32>,
}

/// Law, with its parameters and header.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LawRecord {
    /// Name in scenarios.
    pub name: &'static str,
    /// Short description.
    pub title: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Kind of signal that the law reacts to.
    pub signal: &'static str,
    /// Signalling that the law reacts to.
    pub signalling: &'static str,
    /// Operations of a router per packet.
    pub cost: &'static str,
    /// Number of the signalling on the wire; 0 if it has none.
    pub number: u8,
    /// Length of the header, bytes.
    pub header_bytes: usize,
    /// Description of the header.
    pub header_doc: &'static str,
    /// Fields of the header, in order.
    pub header: Vec<FieldRecord>,
    /// Two fields that are 0 together or not at all.
    pub zero_together: Option<(&'static str, &'static str)>,
    /// True if a router in the kernel implements the signalling.
    pub kernel_router: bool,
    /// True if rates scale with capacities.
    pub scale_invariant: bool,
    /// Parameters of senders, and of the routers of the signalling with this name.
    pub params: Vec<ParameterRecord>,
}

/// Field of a header.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct FieldRecord {
    /// Name in the dissector and in errors.
    pub name: &'static str,
    /// Meaning, with the unit.
    pub doc: &'static str,
    /// Length, bytes.
    pub bytes: usize,
    /// Writer: sender, router or receiver.
    pub writer: &'static str,
    /// Allowed values.
    pub allowed: &'static str,
    /// Groups of bits; absent if the field is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<BitsRecord>")]
    pub bits: Option<Vec<BitsRecord>>,
    /// Only allowed value; absent if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8")]
    pub only: Option<u8>,
    /// Bounds of a float, null if infinite; absent for integers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(Option<f32>, Option<f32>)")]
    pub range: Option<(Option<f32>, Option<f32>)>,
}

/// Group of bits in a header field.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BitsRecord {
    /// Name in the dissector.
    pub name: &'static str,
    /// Mask of the bits.
    pub mask: u32,
    /// Meaning.
    pub doc: &'static str,
}

/// Parameter of a law, queue discipline, buffer rule or buffer-sizing algorithm. Values are as scenarios write them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterRecord {
    /// Name in scenarios.
    pub name: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Source of the default.
    pub source: &'static str,
    /// Kind of the value: number, time, rate, size, packets, switch or choice.
    pub kind: &'static str,
    /// Default.
    pub default: String,
    /// Default in the profile `paper`; null if it is the same.
    pub paper: Option<String>,
    /// Smallest value.
    pub low: String,
    /// Largest value.
    pub high: String,
    /// Allowed words; null unless `kind` is choice.
    pub choices: Option<&'static [&'static str]>,
    /// Senders, routers or both; absent outside laws.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub read_by: Option<&'static str>,
}

/// Queue discipline, with its parameters.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueueRecord {
    /// Name in scenarios.
    pub name: &'static str,
    /// Short description.
    pub title: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Meaning of the recorded signal.
    pub signal: &'static str,
    /// True if it schedules several queues.
    pub schedules: bool,
    /// Parameters.
    pub params: Vec<ParameterRecord>,
}

/// Buffer rule or buffer-sizing algorithm, with its parameters.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BufferRecord {
    /// Name in scenarios.
    pub name: &'static str,
    /// Short description.
    pub title: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// True if it changes the buffer during the run.
    pub adapts: bool,
    /// Parameters.
    pub params: Vec<ParameterRecord>,
}
