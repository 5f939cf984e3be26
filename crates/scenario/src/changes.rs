//! Links that change during the run: steps and ramps of capacity, delay, jitter and loss.

use levelflow_path::{Propagation, WireLoss};
use levelflow_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{Fallible, Place, Problem};
use crate::loss::LossChoice;
use crate::network::{LinkState, check_delay, check_rate};

/// Number of steps in a ramp.
const RAMP_STEPS: u32 = 100;
/// Latest time of a change. It is later than the end of the longest run.
const MAX_TIME: Duration = Duration::from_secs(101 * 24 * 3600);
/// Limit on the changes of a link. Each step of a ramp counts as one change.
pub const MOST_CHANGES: usize = 1_000_000;

/// Changes of a link as users write them: a list of changes, or a file that contains them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Changes {
    /// `[{ at = "10 s", capacity = "5 Mb/s" }]`
    List(Vec<Change>),
    /// `{ csv = "line.csv" }`
    Trace(Trace),
}

/// File that describes the changes of a link. Its path is relative to the scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trace {
    /// Time series with the columns `t_s` and some of `capacity_bps`, `delay_s`, `jitter_s` and `loss`, named in the
    /// first line.
    Csv(String),
    /// Mahimahi trace. Each line is a millisecond at which a packet of 1504 bytes may pass; the trace repeats. The
    /// capacity is the mean over 100 ms.
    Mahimahi(String),
}

impl Default for Changes {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Changes {
    /// Returns true if there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the changes that the opposite direction inherits. They exclude the quantities in `own`, which the
    /// opposite direction sets itself.
    #[must_use]
    pub(crate) fn without(&self, own: &Change) -> Self {
        let Self::List(changes) = self else { return self.clone() };
        let left = changes.iter().map(|change| Change {
            capacity: change.capacity.filter(|_| own.capacity.is_none()),
            delay: change.delay.filter(|_| own.delay.is_none()),
            jitter: change.jitter.filter(|_| own.jitter.is_none()),
            loss: change.loss.filter(|_| own.loss.is_none()),
            ..change.clone()
        });
        Self::List(left.filter(|change| !change.is_nothing()).collect())
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            trace @ Value::Object(_) => Trace::deserialize(trace).map(Self::Trace),
            list => Vec::deserialize(list).map(Self::List),
        }
        .map_err(D::Error::custom)
    }
}

/// Change of a link. Quantities that the change omits keep their values.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with at and the changed values")]
pub struct Change {
    /// Time of the change.
    pub at: Duration,
    /// Duration of a linear transition in a hundred steps; by default, the change is immediate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Duration>,
    /// Line rate; zero is an outage, during which packets are queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Rate>,
    /// Propagation delay of packets that leave the queue after the change. Packets keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Upper bound of the random extra delay per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// Packet loss on the wire, for packets that leave the queue after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossChoice>,
    /// True if the link fails and loses every packet; false if it is repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<bool>,
}

impl Change {
    /// Returns a change that sets no quantity.
    #[must_use]
    pub const fn nothing(at: Duration) -> Self {
        Self {
            at,
            over: None,
            capacity: None,
            delay: None,
            jitter: None,
            loss: None,
            down: None,
        }
    }

    fn is_nothing(&self) -> bool {
        *self
            == Self {
                over: self.over,
                ..Self::nothing(self.at)
            }
    }

    /// Checks that all values are in range. Otherwise returns the first wrong key and its allowed values.
    pub(crate) fn check(&self) -> Result<(), (&'static str, Problem)> {
        let capacity = self.capacity.filter(|&rate| rate != Rate::ZERO);
        if let Some(Err(Problem::Range { value, allowed })) = capacity.map(check_rate) {
            return Err((
                "capacity",
                Problem::range(value, format!("0 b/s for an outage, or {allowed}")),
            ));
        }
        for (key, time) in [("delay", self.delay), ("jitter", self.jitter)] {
            time.map_or(Ok(()), check_delay).map_err(|problem| (key, problem))?;
        }
        if let Some(Err(problem)) = self.loss.map(LossChoice::read) {
            return Err(("loss", problem));
        }
        for (key, time) in [("at", Some(self.at)), ("over", self.over)] {
            if time.is_some_and(|time| time > MAX_TIME) {
                return Err((key, Problem::Value(format!("allowed: up to {MAX_TIME}"))));
            }
        }
        Ok(())
    }
}

/// Returns the states of a link after its initial state `first`: one per immediate change, and 100 per ramp.
pub fn read_changes(place: &Place, first: LinkState, changes: &Changes) -> Fallible<Vec<LinkState>> {
    let changes = match changes {
        Changes::List(changes) => changes,
        // `read_traces` has already replaced traces by their changes.
        Changes::Trace(_) => {
            let problem = "changes name a file, which cannot be read here";
            return Err(place.error(Problem::File(problem.into())));
        }
    };
    let (mut states, mut now, mut down) = (Vec::new(), first, false);
    for (i, change) in changes.iter().enumerate() {
        let place = place.key(&format!("changes {}", i + 1));
        let at = Time::ZERO + change.at;
        if at <= now.at && i > 0 {
            let before = now.at - Time::ZERO;
            let problem = format!("{} is not after the previous change, which ends at {before}", change.at);
            return Err(place.key("at").error(Problem::Conflict(problem)));
        }
        let then = target(&place, &now, change)?;
        let before = states.len();
        down = change.down.unwrap_or(down);
        let over = change.over.unwrap_or(Duration::ZERO);
        if over == Duration::ZERO {
            states.push(LinkState { at, ..then });
        } else {
            let steps = (1..=RAMP_STEPS).map(|step| between(&now, &then, at, over, step));
            states.extend(steps);
        }
        if states.len() > MOST_CHANGES {
            let problem = format!("more than {MOST_CHANGES} changes; a ramp counts as {RAMP_STEPS} changes");
            return Err(place.error(Problem::Value(problem)));
        }
        now = states.last().copied().unwrap_or(now);
        for state in states[before..].iter_mut().filter(|_| down) {
            state.wire.loss = WireLoss::Independent(1.0);
        }
    }
    Ok(states)
}

/// Returns the state of the link after a change.
fn target(place: &Place, now: &LinkState, change: &Change) -> Fallible<LinkState> {
    if change.is_nothing() {
        let problem = "changes nothing; give it a capacity, a delay, a jitter, a loss or down = true";
        return Err(place.error(Problem::Missing(problem.into())));
    }
    let wrong = |(key, problem)| place.key(key).error(problem);
    let conflict = |key, problem: &str| wrong((key, Problem::Conflict(problem.into())));
    change.check().map_err(wrong)?;
    if change.down.is_some() && change.over.is_some() {
        return Err(conflict(
            "over",
            "cannot go with down: a link fails or recovers without a transition",
        ));
    }
    let mixes = |loss| matches!(loss, WireLoss::Independent(_));
    let to = change
        .loss
        .map_or(Ok(now.wire.loss), LossChoice::read)
        .map_err(|problem| wrong(("loss", problem)))?;
    if change.over.is_some_and(|over| over > Duration::ZERO)
        && change.loss.is_some()
        && !(mixes(now.wire.loss) && mixes(to))
    {
        return Err(conflict(
            "loss",
            "a ramp needs probabilities of loss, not the burst model",
        ));
    }
    Ok(LinkState {
        at: now.at,
        capacity: change.capacity.unwrap_or(now.capacity),
        wire: Propagation {
            delay: change.delay.unwrap_or(now.wire.delay),
            jitter: change.jitter.unwrap_or(now.wire.jitter),
            loss: to,
            ..now.wire
        },
    })
}

/// Returns the state of the link at one step of a ramp.
fn between(from: &LinkState, to: &LinkState, at: Time, over: Duration, step: u32) -> LinkState {
    let share = f64::from(step) / f64::from(RAMP_STEPS);
    let at = at + Duration::from_ps((over.as_ps() as f64 * share) as u64);
    if step == RAMP_STEPS {
        return LinkState { at, ..*to };
    }
    let mix = |from: f64, to: f64| from + (to - from) * share;
    let ps = |duration: Duration| duration.as_ps() as f64;
    LinkState {
        at,
        capacity: Rate::clamped(mix(from.capacity.bps(), to.capacity.bps())),
        wire: Propagation {
            delay: Duration::from_ps(mix(ps(from.wire.delay), ps(to.wire.delay)) as u64),
            jitter: Duration::from_ps(mix(ps(from.wire.jitter), ps(to.wire.jitter)) as u64),
            loss: match (from.wire.loss, to.wire.loss) {
                (WireLoss::Independent(from), WireLoss::Independent(to)) => WireLoss::Independent(mix(from, to)),
                (from, _) => from,
            },
            ..to.wire
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const INITIAL_STATE: LinkState = LinkState {
        at: Time::ZERO,
        capacity: Rate::ZERO,
        wire: Propagation {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            reorder: false,
            slot: Duration::ZERO,
            loss: WireLoss::NONE,
        },
    };

    fn states(changes: Value) -> Result<Vec<LinkState>, String> {
        let changes = serde_json::from_value(changes).map_err(|e| e.to_string())?;
        read_changes(&"link 1".into(), INITIAL_STATE, &changes).map_err(|e| e.to_string())
    }

    #[test]
    fn a_change_keeps_unnamed_settings() {
        let changes = json!([{ "at": "1 s", "capacity": "5 Mb/s", "delay": "7 ms" }, { "at": "2 s", "loss": "10 %" }]);
        let found = states(changes).unwrap();
        assert_eq!(found[1].capacity, Rate::new(5e6).unwrap());
        assert_eq!(
            (found[1].wire.delay, found[1].wire.loss),
            (Duration::from_ms(7), WireLoss::Independent(0.1))
        );
    }

    #[test]
    fn a_ramp_is_a_hundred_even_steps_and_ends_where_it_leads() {
        let found = states(json!([{ "at": "1 s", "over": "10 s", "capacity": "5 Mb/s" }])).unwrap();
        assert_eq!(found.len(), 100);
        assert_eq!(found[99].at, Time::ZERO + Duration::from_secs(11));
        assert_eq!(found[99].capacity, Rate::new(5e6).unwrap());
        let down = states(json!([{ "at": "1 s", "loss": 0.3 }, { "at": "2 s", "over": "1 s", "loss": 0.1 }])).unwrap();
        assert_eq!(down[100].wire.loss, WireLoss::Independent(0.1));
        assert_eq!(found[49].capacity, Rate::new(2.5e6).unwrap());
    }

    #[test]
    fn mistakes_name_the_change_and_the_allowed_values() {
        for (changes, words) in [
            (
                json!([{ "at": "2 s", "loss": 0 }, { "at": "2 s", "loss": 0 }]),
                "changes 2, at: 2 s is not after",
            ),
            (
                json!([{ "at": "2 s", "over": "2 s", "loss": 0 }, { "at": "3 s", "loss": 0 }]),
                "which ends at 4 s",
            ),
            (json!([{ "at": "2 s" }]), "changes nothing; give it a capacity"),
            (
                json!([{ "at": "2 s", "capacity": "1e-3 b/s" }]),
                "allowed: 0 b/s for an outage",
            ),
            (
                json!([{ "at": "2 s", "delay": "100000 s" }]),
                "delay: 100000 s is out of range",
            ),
            (json!([{ "at": "2 s", "loss": 1.5 }]), "allowed: 0 to 1"),
            (
                json!([{ "at": "2 s", "loss": { "gilbert_elliott": { "p": 0, "r": 0.1 } } }]),
                "loss: p: 0 is out of range; allowed: above 0 to 1",
            ),
            (
                json!([{ "at": "2 s", "over": "1 s", "loss": { "gilbert_elliott": { "p": 0.1, "r": 0.1 } } }]),
                "loss: a ramp needs probabilities",
            ),
            (
                json!([{ "at": "2 s", "loss": { "gilbert_elliott": { "p": 0.1 } } }]),
                "missing field `r`",
            ),
            (
                json!([{ "at": "2 s", "jitter": "48 h" }]),
                "jitter: 48 h is out of range",
            ),
            (json!([{ "at": "2 s", "rate": "1 Mb/s" }]), "unknown field `rate`"),
            (json!({ "csv": "x.csv" }), "name a file"),
            (json!({ "pcap": "x" }), "unknown variant `pcap`"),
            (json!(5), "invalid type"),
        ] {
            let problem = states(changes.clone()).unwrap_err();
            assert!(
                problem.contains(words) && !problem.contains('\n'),
                "{changes}: {problem}"
            );
        }
    }
}
