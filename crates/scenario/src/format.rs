//! Scenario files: the structure that users write, as TOML or as the same structure in JSON.

use std::collections::BTreeMap;

use levelflow_units::{Bytes, Duration, Frequency, Rate, Time};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changes::Changes;
use crate::choice::{BufferChoice, LawChoice, LawTables, QueueChoice};
use crate::error::{ScenarioError, meant_key, nickname};
use crate::loss::LossChoice;
use crate::profile::Profile;
use crate::quantity::{Count, Share, Size, Varying};

/// What to simulate.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table with name, duration, [[link]] and [[flow]]"
)]
pub struct Scenario {
    /// Name of the run; it names the directory of its results.
    pub name: String,
    /// What it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long to simulate.
    pub duration: Duration,
    /// Seed of every random stream.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Most memory that flows and packets may take; a run that needs more is refused, or ends with what it has.
    #[serde(default = "default_memory_limit")]
    pub memory_limit: Bytes,
    /// Time between samples in the results.
    #[serde(default = "default_sample")]
    pub sample: Duration,
    /// Defaults of hosts: those of Linux, or those of the papers.
    #[serde(default, skip_serializing_if = "Profile::is_linux")]
    pub profile: Profile,
    /// Longest random processing time of a packet at its sender; by default one transmission on the slowest link of its path.
    /// Clocks of hosts and links are off by up to 100 parts in a million. "0 s" makes both ideal, as does the profile "paper".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Duration>,
    /// Parameters of laws for the whole run; a link or a flow may override them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub law: LawTables,
    /// Links; nodes exist because a link names them.
    pub link: Vec<Link>,
    /// Memories that several buffers share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// How flows choose among paths.
    #[serde(default, skip_serializing_if = "Routing::is_shortest")]
    pub routing: Routing,
    /// How long after a link fails or is repaired routes have changed to avoid or to use it; by default, routes stay as
    /// they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute: Option<Duration>,
    /// Exceptions from routing by weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<NextHop>,
    /// Traffic.
    #[serde(default)]
    pub flow: Vec<Flow>,
}

fn default_seed() -> u64 {
    1
}

fn default_memory_limit() -> Bytes {
    Bytes::new(4_000_000_000)
}

fn default_sample() -> Duration {
    Duration::from_ms(100)
}

/// One direction of a link, or both.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with from, to, capacity and delay")]
pub struct Link {
    /// Name in results; by default "from->to".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Node at this end.
    pub from: String,
    /// Node at the far end.
    pub to: String,
    /// Line rate.
    pub capacity: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What it adds to the weight of a path, of which routes have the least: 1, which counts links, to 16777215.
    #[serde(default = "default_weight", skip_serializing_if = "is_default_weight")]
    pub weight: u32,
    /// Capacity for waiting packets: a size, a rule, or an algorithm that adapts it during the run; unlimited by default.
    #[serde(default)]
    pub buffer: BufferChoice,
    /// The queue discipline, with its parameters if they differ; drop-tail by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueChoice>,
    /// Random further delay of each packet, up to this much, uniformly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// Whether a packet that jitter delays lets others overtake it; by default, it holds them up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// Packets reach the far end in batches, so far apart, as from a radio or a DOCSIS modem: with ACKs, ACK aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Which packets the wire loses: a probability, or a model of bursts.
    #[serde(default)]
    pub loss: LossChoice,
    /// What changes while the run goes on, in order of time.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// Whether routers measure a changed capacity from the packets that they send; by default, they are notified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measured: bool,
    /// "none" for a plain queue, or parameters of laws at this link. By default every law whose data crosses the
    /// link runs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<LawChoice>,
    /// Adds the opposite direction, with the same values.
    #[serde(default)]
    pub duplex: bool,
    /// What differs in the opposite direction of a duplex link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

fn default_weight() -> u32 {
    1
}

fn is_default_weight(weight: &u32) -> bool {
    *weight == default_weight()
}

/// What differs in the opposite direction of a duplex link.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of what differs in the opposite direction")]
pub struct Reverse {
    /// Name in results; by default "to->from".
    pub name: Option<String>,
    /// Line rate.
    pub capacity: Option<Rate>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// What it adds to the weight of a path.
    pub weight: Option<u32>,
    /// Room for waiting packets.
    pub buffer: Option<BufferChoice>,
    /// The queue discipline.
    pub queue: Option<QueueChoice>,
    /// Random further delay of each packet.
    pub jitter: Option<Duration>,
    /// Packets reach the far end in batches, so far apart.
    pub slot: Option<Duration>,
    /// Which packets the wire loses.
    pub loss: Option<LossChoice>,
    /// What changes while the run goes on.
    pub changes: Option<Changes>,
    /// See the link's `law`.
    pub law: Option<LawChoice>,
}

/// One memory that the buffers of several links share, each of which has a buffer-sizing algorithm.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with total and links")]
pub struct Memory {
    /// What there is for all of them.
    pub total: Size,
    /// Names of the links; what they ask for beyond the total is divided max-min fairly by capacity.
    pub links: Vec<String>,
}

/// How flows choose among paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Routing {
    /// All take the path of least weight; of several, that of least delay.
    #[default]
    Shortest,
    /// Each flow takes one of the paths of least weight, by its hash.
    Ecmp,
}

impl Routing {
    fn is_shortest(&self) -> bool {
        *self == Self::Shortest
    }
}

/// An exception from routing by weight.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with at, to and via")]
pub struct NextHop {
    /// At this node,
    pub at: String,
    /// packets for that node
    pub to: String,
    /// go to this neighbour.
    pub via: String,
}

/// One flow, or a source of flows.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with name, law, from and to")]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// The law that the sender follows, with its parameters if they differ.
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
    /// Base round trip. What the links' propagation delays lack of it is added at the hosts, so that access links
    /// need not be written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Varying<Duration>>,
    /// When it starts: its first packet comes to its first link then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Varying<Duration>>,
    /// Time at which it stops sending; transfers that have not finished are aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// No flow arrives after this time; those that have started go on, so that transfers can finish before the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_arrival: Option<Duration>,
    /// How long each flow sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Varying<Duration>>,
    /// What each flow carries; by default there is no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Varying<Size>>,
    /// Retransmits lost data; by default true if the size is given and the law has ACKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reliable: Option<bool>,
    /// How many flows start; by default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Flows that arrive again and again, instead of `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// What each arrival brings instead of one flow: a user who reads pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// The application, if it has less to send than the flow may; by default, there is always something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationChoice>,
    /// Most arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Largest data packet, everything included.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// Size of acknowledgements and of packets that open and close a flow.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// Random delay of acknowledgements at the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_delay: Option<AckDelay>,
}

fn default_packet() -> Bytes {
    Bytes::new(1000)
}

fn default_ack() -> Bytes {
    Bytes::new(40)
}

/// How flows arrive.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "Arrivals")]
pub enum ArrivalProcess {
    /// Poisson arrivals at this rate.
    Poisson(Frequency),
    /// Poisson arrivals whose data is this share of the service rate of the slowest link on the path, 0.5 or "50 %". Entries
    /// that share a link add up.
    Load(Share),
    /// With such times between them, the first at `start`.
    Interval(Varying<Duration>),
    /// `batch` flows at a time, with such times between them, the first at `start`.
    Batches {
        /// Flows at a time.
        batch: u64,
        /// Time between two batches.
        interval: Varying<Duration>,
    },
    /// At these times.
    Times(Vec<Duration>),
}

/// A user who reads pages: each page's objects arrive at once, each as a flow of the entry's size; when all are there, the
/// user thinks, then asks for the next page.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with pages, objects and think")]
pub struct Session {
    /// Pages that the user reads, rounded up.
    pub pages: Varying<Count>,
    /// Objects on each page, rounded up.
    pub objects: Varying<Count>,
    /// Time between the last object of a page and the next page.
    pub think: Varying<Duration>,
}

/// When an application has something to send.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "Application")]
pub enum ApplicationChoice {
    /// A packet at a time, at this rate, as voice and video do.
    Rate(Rate),
    /// The same in periods, with pauses between them.
    OnOff(OnOff),
    /// Responses to requests, one after the other on one flow.
    Responses(Responses),
}

/// An application that sends at a rate, and pauses.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with rate, on and off")]
pub struct OnOff {
    /// While it sends.
    pub rate: Rate,
    /// How long it sends.
    pub on: Varying<Duration>,
    /// How long it pauses.
    pub off: Varying<Duration>,
}

/// A server that sends a response when the client, who has had the one before, asks for it.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with size and think")]
pub struct Responses {
    /// Of a response.
    pub size: Varying<Size>,
    /// Time between the arrival of a response and the next request.
    pub think: Varying<Duration>,
}

/// A receiver that delays acknowledgements at random, without changing their order.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with every and hold")]
pub struct AckDelay {
    /// Acknowledgements between two that are held.
    pub every: Varying<Count>,
    /// How long one is held.
    pub hold: Varying<Duration>,
    /// Least time between two.
    #[serde(default = "default_spacing")]
    pub spacing: Duration,
}

fn default_spacing() -> Duration {
    Duration::from_us(10)
}

/// Takes the entries that cannot be read out of a list; what is wrong with them.
fn take_broken<T: DeserializeOwned>(scenario: &mut Value, kind: &str) -> Vec<ScenarioError> {
    let mut mistakes = Vec::new();
    let Some(entries) = scenario.get_mut(kind).and_then(Value::as_array_mut) else {
        return mistakes;
    };
    let mut number = 0;
    entries.retain_mut(|entry| {
        number += 1;
        let within = format!("{kind} {number}{}", nickname(entry));
        let before = mistakes.len();
        mistakes.extend(take_mistakes::<T>(&within, entry));
        mistakes.len() == before
    });
    mistakes
}

/// All that is wrong with a table: each mistake is taken out to see the next.
fn take_mistakes<T: DeserializeOwned>(within: &str, table: &mut Value) -> Vec<ScenarioError> {
    let (mut mistakes, mut taken) = (Vec::new(), Vec::new());
    while let Err(error) = serde_path_to_error::deserialize::<_, T>(&*table) {
        let message = error.inner().to_string();
        let missing = message
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next());
        // What was taken out was there, and wrong; what a wrong key means is there under another name.
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

/// Takes out what stands at the end of a path, or the innermost table around it that can go; its key.
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
    /// Reads TOML into the structure that [`from_value`](Self::from_value) takes.
    ///
    /// # Errors
    /// When the text is not TOML, with line and column.
    pub fn parse(text: &str) -> Result<Value, ScenarioError> {
        toml::from_str(text).map_err(|e| ScenarioError::syntax(text, &e))
    }

    /// Reads the structure.
    ///
    /// # Errors
    /// When keys are unknown or missing, or values are not of their kind: all such mistakes.
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
        let top = take_mistakes::<Self>("", &mut rest);
        ScenarioError::collect(top.into_iter().chain(mistakes.into_iter().flatten()).map(Err::<(), _>))?;
        Self::deserialize(&rest).map_err(|e| ScenarioError::at("top level", e.to_string()))
    }

    /// What each direction of each link says of laws, with the link's place in the scenario.
    pub(crate) fn link_choices(&self) -> impl Iterator<Item = (usize, &Link, Option<&LawChoice>)> {
        self.link.iter().enumerate().flat_map(|(i, link)| {
            let own = (i, link, link.law.as_ref());
            let reverse = link.reverse.as_ref().and_then(|r| r.law.as_ref()).or(link.law.as_ref());
            std::iter::once(own).chain(link.duplex.then_some((i, link, reverse)))
        })
    }

    /// What each direction of each link says of its queue.
    pub(crate) fn queue_choices(&self) -> impl Iterator<Item = Option<&QueueChoice>> {
        self.link.iter().flat_map(|link| {
            let reverse = link.reverse.as_ref().and_then(|r| r.queue.as_ref());
            let reverse = link.duplex.then_some(reverse.or(link.queue.as_ref()));
            std::iter::once(link.queue.as_ref()).chain(reverse)
        })
    }

    /// What each direction of each link says of its buffer, with the link's number and the link.
    pub(crate) fn buffer_choices(&self) -> impl Iterator<Item = (usize, &Link, &BufferChoice)> {
        self.link.iter().enumerate().flat_map(|(i, link)| {
            let reverse = link.reverse.as_ref().and_then(|r| r.buffer.as_ref());
            let reverse = link.duplex.then_some((i, link, reverse.unwrap_or(&link.buffer)));
            std::iter::once((i, link, &link.buffer)).chain(reverse)
        })
    }

    /// End of the run.
    #[must_use]
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }
}
