//! Scenario files: the structure that users write, as TOML or as the same structure in JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use levelflow_laws::external::ExternalLaw;
use levelflow_units::{Bytes, Duration, Frequency, Rate, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changes::Changes;
use crate::choice::{BufferChoice, LawChoice, LawTables, QueueChoice};
use crate::encapsulation::Encapsulation;
use crate::error::{Place, Problem, ScenarioError, meant_key, nickname};
use crate::lie::Lie;
use crate::loss::LossChoice;
use crate::profile::Profile;
use crate::quantity::{Count, Share, Size, Varying};

/// Scenario of a simulation.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table with name, duration, [[link]] and [[flow]]"
)]
pub struct Scenario {
    /// Name of the run and of its results directory.
    pub name: String,
    /// Description of what the run shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Simulated time.
    pub duration: Duration,
    /// Seed of every random stream.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Limit on memory for flows and packets. A run that needs more is rejected at the start, or ends early and keeps
    /// the results up to then.
    #[serde(default = "default_memory_limit")]
    pub memory_limit: Bytes,
    /// Limit on the number of events in each simulated second. A run that needs more ends early and keeps the results
    /// up to then. The default is 16 million, plus 1 million per link, plus 20 per packet that the links can send in a
    /// second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_limit: Option<u64>,
    /// Time between samples in the results.
    #[serde(default = "default_sample")]
    pub sample: Duration,
    /// Set of default values for hosts: those of Linux, or those of the papers.
    #[serde(default, skip_serializing_if = "Profile::is_linux")]
    pub profile: Profile,
    /// Headers of packets. The default is "ethernet+ipv4+udp", and "none" in the profile "paper". Sizes of packets
    /// include headers. Sizes of transfers, completion times and goodputs count only payload. An ACK has at least the
    /// size of its headers plus 16 bytes, and `min_packet` of a law is at least the size of the headers plus one byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<Encapsulation>,
    /// Upper bound of the random processing time per packet at its sender. The default is the transmission time of one
    /// packet on the slowest link of its path. Clocks of hosts and links also have errors of up to 100 parts per
    /// million. A value of "0 s" disables both, as does the profile "paper".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Duration>,
    /// Parameters of laws for the whole run; a link or a flow may override them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub law: LawTables,
    /// Links. A node exists if a link names it.
    pub link: Vec<Link>,
    /// Memories, each shared by several buffers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// Choice of paths for flows.
    #[serde(default, skip_serializing_if = "Routing::is_shortest")]
    pub routing: Routing,
    /// Time between the failure or repair of a link and the resulting change of routes. By default, routes never
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute: Option<Duration>,
    /// Next hops that replace those of weight-based routing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<NextHop>,
    /// Traffic.
    #[serde(default)]
    pub flow: Vec<Flow>,
    /// Laws of the caller, which flows name like the registered laws.
    #[serde(skip)]
    #[schemars(skip)]
    pub own_laws: OwnLaws,
}

/// Laws of the caller of this crate, in addition to the registered laws.
pub type OwnLaws = Vec<Arc<dyn ExternalLaw>>;

fn default_seed() -> u64 {
    1
}

fn default_memory_limit() -> Bytes {
    Bytes::new(4_000_000_000)
}

fn default_sample() -> Duration {
    Duration::from_ms(100)
}

/// Link, in one direction or both.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with from, to, capacity and delay")]
pub struct Link {
    /// Name in results; by default "from->to".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Node at which the link begins.
    pub from: String,
    /// Node at which the link ends.
    pub to: String,
    /// Line rate.
    pub capacity: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Routing weight, 1 to 16777215. Routes minimise the sum of weights; the default 1 minimises hops.
    #[serde(default = "default_weight", skip_serializing_if = "is_default_weight")]
    pub weight: u32,
    /// Buffer for queued packets: a size, a rule, or an algorithm that adapts it during the run; unlimited by default.
    #[serde(default)]
    pub buffer: BufferChoice,
    /// Queue discipline, by name or with parameters that differ from the defaults; drop-tail by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueChoice>,
    /// Upper bound of the random extra delay per packet, which is drawn uniformly from 0 to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// True if packets may overtake a packet that is delayed by jitter. By default, packets keep their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// Interval between the batches in which packets reach the far end, as on a radio or DOCSIS link. On the path of
    /// ACKs, it models ACK aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Packet loss on the wire: a probability, or a model of bursts.
    #[serde(default)]
    pub loss: LossChoice,
    /// Changes of the link during the run, in order of time.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// True if routers measure the capacity of a changing link from transmitted packets. By default, the link notifies
    /// its routers of each change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measured: bool,
    /// "none" if no router signals at the queue of this link. Otherwise a table of router parameters for each
    /// signalling. By default, a link has one router for each signalling that the flows across it use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<LawChoice>,
    /// True if the routers police headers: they correct false values, and limit flows that lie.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub police: bool,
    /// True to add the opposite direction with the same values.
    #[serde(default)]
    pub duplex: bool,
    /// Values that differ in the opposite direction of a duplex link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

fn default_weight() -> u32 {
    1
}

fn is_default_weight(weight: &u32) -> bool {
    *weight == default_weight()
}

/// Values that differ in the opposite direction of a duplex link.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of values for the opposite direction")]
pub struct Reverse {
    /// Name in results; by default "to->from".
    pub name: Option<String>,
    /// Line rate.
    pub capacity: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// Routing weight, 1 to 16777215.
    pub weight: Option<u32>,
    /// Buffer for queued packets.
    pub buffer: Option<BufferChoice>,
    /// Queue discipline.
    pub queue: Option<QueueChoice>,
    /// Upper bound of the random extra delay per packet.
    pub jitter: Option<Duration>,
    /// Interval between the batches in which packets reach the far end.
    pub slot: Option<Duration>,
    /// Packet loss on the wire.
    pub loss: Option<LossChoice>,
    /// Changes of this direction during the run, in order of time.
    pub changes: Option<Changes>,
    /// "none" if no router signals at the queue of this direction. Otherwise router parameters, as for a link. By
    /// default those of the link.
    pub law: Option<LawChoice>,
}

/// Memory shared by the buffers of several links, each of which has a buffer-sizing algorithm.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with total and links")]
pub struct Memory {
    /// Size of the shared memory.
    pub total: Size,
    /// Names of the links that share the memory. If their demands exceed the total, it is divided max-min fairly, with
    /// link capacities as weights.
    pub links: Vec<String>,
}

/// Choice of paths for flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Routing {
    /// All flows take the path of least weight. Among paths of equal weight, they take the one of least delay.
    #[default]
    Shortest,
    /// Each flow takes one of the paths of least weight, selected by a hash of the flow.
    Ecmp,
}

impl Routing {
    fn is_shortest(&self) -> bool {
        *self == Self::Shortest
    }
}

/// Next hop that replaces that of weight-based routing.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with at, to and via")]
pub struct NextHop {
    /// Node whose next hop is replaced.
    pub at: String,
    /// Destination of the packets.
    pub to: String,
    /// Neighbour to which the node forwards them.
    pub via: String,
}

/// Flow entry: one flow, or a source of many flows.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with name, law, from and to")]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Law of the sender, by name or with parameters that differ from the defaults.
    pub law: LawChoice,
    /// Sending node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Receiving node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Nodes from sender to receiver, instead of the shortest path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// Nodes from receiver to sender, instead of the shortest path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_path: Option<Vec<String>>,
    /// Base round-trip time. The hosts add the difference between this time and the propagation delays of the links, so
    /// access links may be omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Varying<Duration>>,
    /// Time at which the first packet of the flow reaches its first link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Varying<Duration>>,
    /// Time at which the flow stops sending. Unfinished transfers are aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Latest time at which a flow may arrive. Flows that have started continue, so that transfers can finish before
    /// the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_arrival: Option<Duration>,
    /// Time for which each flow sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Varying<Duration>>,
    /// Data that each flow carries; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Varying<Size>>,
    /// True to retransmit lost data. The default is true if the law has ACKs and the flow has a size or sends
    /// responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliable: Option<bool>,
    /// Number of flows that start; by default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Arrival process of flows, instead of `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// File of another simulator with the ends, sizes and start times of transfers, instead of `from`, `to`, `size` and
    /// `arrivals`. Each pair of hosts becomes one entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransferFile>,
    /// Session of a user who reads pages. Each arrival starts a session instead of one flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// Application that limits the data to send; by default, the flow always has data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationChoice>,
    /// Limit on the number of arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Maximum size of data packets, headers included.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// Size of ACKs and of packets that open and close a flow.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// Random delay of ACKs at the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_delay: Option<AckDelay>,
    /// Lies of the hosts: header fields that the sender or the receiver falsifies, withheld ACKs, hidden marks. To
    /// model a host with several identities, set `count` to their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lie: Option<Lie>,
}

fn default_packet() -> Bytes {
    Bytes::new(1000)
}

fn default_ack() -> Bytes {
    Bytes::new(40)
}

/// Arrival process of flows.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "Arrivals")]
pub enum ArrivalProcess {
    /// Poisson arrivals at this rate.
    Poisson(Frequency),
    /// Poisson arrivals whose offered load is this fraction of the service rate of the slowest link on the path, such
    /// as 0.5 or "50 %". The loads of entries that use the same link add up.
    Load(Share),
    /// Arrivals separated by these times, the first at `start`.
    Interval(Varying<Duration>),
    /// Batches of `batch` flows separated by these times, the first at `start`.
    Batches {
        /// Flows per batch.
        batch: u64,
        /// Time between two batches.
        interval: Varying<Duration>,
    },
    /// Arrivals at these times.
    Times(Vec<Duration>),
    /// Transfers at these times and of these sizes, instead of `size`.
    Transfers(Vec<(Duration, Size)>),
}

/// File of another simulator with transfers. Host number N is the node "hN".
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TransferFile {
    /// Connection matrix of htsim with start times in picoseconds.
    HtsimPs(String),
    /// Connection matrix of htsim with start times in microseconds.
    HtsimUs(String),
    /// Flow file of HPCC's ns-3.
    Hpcc(String),
}

/// Session of a user who reads pages one by one. All objects of a page arrive at once, each as its own flow.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with pages, objects and think")]
pub struct Session {
    /// Number of pages that the user reads, rounded up.
    pub pages: Varying<Count>,
    /// Number of objects on each page, rounded up.
    pub objects: Varying<Count>,
    /// Time between the delivery of the last object of a page and the request for the next page.
    pub think: Varying<Duration>,
}

/// Pattern by which an application supplies data.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "Application")]
pub enum ApplicationChoice {
    /// Constant rate, one packet at a time, such as voice or video.
    Rate(Rate),
    /// Constant rate in sending periods, which alternate with pauses.
    OnOff(OnOff),
    /// Responses to requests, one after the other on one flow.
    Responses(Responses),
}

/// Application that alternates between sending at a rate and pausing.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with rate, on and off")]
pub struct OnOff {
    /// Rate in a sending period.
    pub rate: Rate,
    /// Duration of a sending period.
    pub on: Varying<Duration>,
    /// Duration of a pause.
    pub off: Varying<Duration>,
}

/// Server that sends one response per request of a client. The client sends its next request after it has received the
/// response.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with size and think")]
pub struct Responses {
    /// Size of a response.
    pub size: Varying<Size>,
    /// Time between the arrival of a response and the next request.
    pub think: Varying<Duration>,
}

/// Random delay of ACKs at the receiver. ACKs keep their order.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with every and hold")]
pub struct AckDelay {
    /// Number of ACKs between two delayed ACKs.
    pub every: Varying<Count>,
    /// Delay of a delayed ACK.
    pub hold: Varying<Duration>,
    /// Minimum time between two ACKs.
    #[serde(default = "default_spacing")]
    pub spacing: Duration,
}

fn default_spacing() -> Duration {
    Duration::from_us(10)
}

/// Removes the invalid entries of a list from the scenario. Returns the mistakes in these entries.
fn take_broken<T: DeserializeOwned>(scenario: &mut Value, kind: &str) -> Vec<ScenarioError> {
    let mut mistakes = Vec::new();
    let Some(entries) = scenario.get_mut(kind).and_then(Value::as_array_mut) else {
        return mistakes;
    };
    let mut number = 0;
    entries.retain_mut(|entry| {
        number += 1;
        let within = Place::from(format!("{kind} {number}{}", nickname(entry)));
        let before = mistakes.len();
        mistakes.extend(take_mistakes::<T>(&within, entry));
        mistakes.len() == before
    });
    mistakes
}

/// Returns all mistakes in a table. After each mistake, removes the wrong value to find the next mistake.
fn take_mistakes<T: DeserializeOwned>(within: &Place, table: &mut Value) -> Vec<ScenarioError> {
    let (mut mistakes, mut taken) = (Vec::new(), Vec::new());
    while let Err(error) = serde_path_to_error::deserialize::<_, T>(&*table) {
        let message = error.inner().to_string();
        let missing = message
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next());
        // A missing key is no mistake if this loop has removed its wrong value. The same holds if the table contains a
        // misspelt name of the key.
        if !missing.is_some_and(|key| taken.iter().any(|one| one == key)) {
            mistakes.push(ScenarioError::structure(within, table, &error));
        }
        taken.extend(meant_key(&message).map(str::to_owned));
        match take(table, error.path()) {
            Some(key) => taken.push(key),
            None => break,
        }
    }
    mistakes
}

/// Removes the value at the end of a path. If this value cannot be removed, removes the innermost table around it.
/// Returns the key of the removed value.
fn take(table: &mut Value, path: &serde_path_to_error::Path) -> Option<String> {
    let (mut here, mut keys) = (&*table, Vec::new());
    for segment in path {
        let serde_path_to_error::Segment::Map { key } = segment else {
            break;
        };
        let Some(next) = here.get(key) else { break };
        keys.push(key.clone());
        here = next;
    }
    let key = keys.pop()?;
    let parent = keys.iter().try_fold(table, |at, key| at.get_mut(key))?;
    parent.as_object_mut()?.remove(&key)?;
    Some(key)
}

impl Scenario {
    /// Parses TOML into the structure that [`from_value`](Self::from_value) reads.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML. The error contains line and column.
    pub fn parse(text: &str) -> Result<Value, ScenarioError> {
        toml::from_str(text).map_err(|e| ScenarioError::syntax(text, &e))
    }

    /// Reads a scenario from the value that [`parse`](Self::parse) returns.
    ///
    /// # Errors
    /// Returns an error if keys are unknown or missing, or if values have the wrong type. The error contains all such
    /// mistakes.
    pub fn from_value(value: &Value) -> Result<Self, ScenarioError> {
        if let Ok(scenario) = Self::deserialize(value) {
            return Ok(scenario);
        }
        let mut rest = value.clone();
        let mistakes = [
            take_broken::<Link>(&mut rest, "link"),
            take_broken::<Memory>(&mut rest, "memory"),
            take_broken::<NextHop>(&mut rest, "route"),
            take_broken::<Flow>(&mut rest, "flow"),
        ];
        let top = take_mistakes::<Self>(&Place::default(), &mut rest);
        ScenarioError::collect(top.into_iter().chain(mistakes.into_iter().flatten()).map(Err::<(), _>))?;
        Self::deserialize(&rest).map_err(|e| Place::default().error(Problem::Value(e.to_string())))
    }

    /// Returns the law choice of each direction of each link. Also returns the link and its index in the scenario.
    pub(crate) fn link_choices(&self) -> impl Iterator<Item = (usize, &Link, Option<&LawChoice>)> {
        self.link.iter().enumerate().flat_map(|(i, link)| {
            let own = (i, link, link.law.as_ref());
            let reverse = link.reverse.as_ref().and_then(|r| r.law.as_ref()).or(link.law.as_ref());
            std::iter::once(own).chain(link.duplex.then_some((i, link, reverse)))
        })
    }

    /// Returns the queue choice of each direction of each link.
    pub(crate) fn queue_choices(&self) -> impl Iterator<Item = Option<&QueueChoice>> {
        self.link.iter().flat_map(|link| {
            let reverse = link.reverse.as_ref().and_then(|r| r.queue.as_ref());
            let reverse = link.duplex.then_some(reverse.or(link.queue.as_ref()));
            std::iter::once(link.queue.as_ref()).chain(reverse)
        })
    }

    /// Returns the buffer choice of each direction of each link. Also returns the link and its index in the scenario.
    pub(crate) fn buffer_choices(&self) -> impl Iterator<Item = (usize, &Link, &BufferChoice)> {
        self.link.iter().enumerate().flat_map(|(i, link)| {
            let reverse = link.reverse.as_ref().and_then(|r| r.buffer.as_ref());
            let reverse = link.duplex.then_some((i, link, reverse.unwrap_or(&link.buffer)));
            std::iter::once((i, link, &link.buffer)).chain(reverse)
        })
    }

    /// Returns the time at which the run ends.
    #[must_use]
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }
}
