//! Report of a test for L4S, as text and as JSON.

use serde::Serialize;

use crate::ecn::{EcnOutcome, EcnWay, Fields};
use crate::estimate::{Queue, ms};
use crate::marking::Marking;
use crate::probe::Outcome;

/// Names of the ECN fields.
const FIELDS: [&str; 4] = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
/// Index of ECT(1), the field of L4S senders.
const ECT1: u8 = 1;
/// A ping with ECT(1) bypasses the queue of classic load if its added delay is below this fraction.
const BYPASS_RATIO: f64 = 0.25;
/// Smallest delay that load without ECN must add for a comparison, s.
const MIN_ADDED: f64 = 0.005;

/// Results of one direction. Times are in seconds.
#[derive(Debug, Clone, Serialize)]
pub struct L4sWay {
    /// ECN fields that arrive.
    #[serde(flatten)]
    pub fields: Fields,
    /// Relation between marks and queueing delay.
    pub marking: Marking,
    /// Delay that classic load adds to a ping without ECN.
    pub added_not_ect_s: Option<f64>,
    /// Delay that classic load adds to a ping with ECT(1).
    pub added_ect1_s: Option<f64>,
    /// Summary of the direction.
    pub verdict: &'static str,
}

/// Report of a test for L4S.
#[derive(Debug, Clone, Serialize)]
pub struct L4s {
    /// Results from the client to the reflector.
    pub up: L4sWay,
    /// Results from the reflector to the client.
    pub down: L4sWay,
}

impl L4sWay {
    fn new(way: &EcnWay, idle: f64, queue: Queue) -> Self {
        let [plain, scalable] = way.classic.map(|trip| trip.map(|trip| (trip - idle).max(0.0)));
        let mut report = Self {
            fields: way.fields,
            marking: way.marking,
            added_not_ect_s: plain,
            added_ect1_s: scalable,
            verdict: "",
        };
        report.verdict = report.verdict(queue);
        report
    }

    /// True if pings with ECT(1) bypass the queue that delays pings without ECN.
    fn bypasses(&self) -> bool {
        let (plain, scalable) = (
            self.added_not_ect_s.unwrap_or(0.0),
            self.added_ect1_s.unwrap_or(f64::INFINITY),
        );
        plain >= MIN_ADDED && scalable < BYPASS_RATIO * plain
    }

    fn verdict(&self, queue: Queue) -> &'static str {
        let immediate = matches!(self.marking, Marking::Step { .. } | Marking::Ramp { .. });
        match (self.fields.most(ECT1), self.marking) {
            (None, _) => "packets with ECT(1) are lost: L4S cannot work",
            (Some(ECT1), Marking::None) if queue == Queue::Unseen => {
                "not saturated: marks are unknown; raise --max-rate"
            }
            (Some(ECT1), Marking::None) => "no marks: Prague reacts to losses only, like a classic sender",
            (Some(ECT1), _) if queue == Queue::Fair => "one queue per flow: Prague and CUBIC share by turns",
            (Some(ECT1), _) if immediate && self.bypasses() => "L4S: a low-latency queue with immediate marks",
            (Some(ECT1), _) if immediate => "marks follow the queue, but L4S has no queue of its own",
            (Some(ECT1), _) => "a classic AQM marks ECT(1): Prague takes more than its share from CUBIC in one queue",
            (Some(_), _) => "ECT(1) is rewritten: L4S cannot work",
        }
    }

    fn text(&self, name: &str) -> String {
        let changes: Vec<String> = (0..4_u8)
            .filter_map(|sent| match self.fields.most(sent) {
                None => Some(format!("{} is lost", FIELDS[usize::from(sent)])),
                Some(most) if most != sent => Some(format!(
                    "{} becomes {}",
                    FIELDS[usize::from(sent)],
                    FIELDS[usize::from(most)]
                )),
                Some(_) => None,
            })
            .collect();
        let fields = if changes.is_empty() {
            "all ECN fields arrive".to_owned()
        } else {
            changes.join(", ")
        };
        let marking = match self.marking {
            Marking::None => "no marks".to_owned(),
            Marking::Step { at, resolution } => format!("marks from a step at {} (± {})", ms(at), ms(resolution)),
            Marking::Ramp { from, to: Some(to) } => format!("marks on a ramp from {} to {}", ms(from), ms(to)),
            Marking::Ramp { from, to: None } => format!("marks on a ramp from {}", ms(from)),
            Marking::Smoothed { share } => format!("{:.1} % marked, whatever the current delay", 100.0 * share),
        };
        let pings = [("Not-ECT", self.added_not_ect_s), ("ECT(1)", self.added_ect1_s)];
        let added = pings.map(|(field, delay)| match delay {
            Some(delay) => format!("adds {} to {field}", ms(delay)),
            None => format!("loses all {field} pings"),
        });
        let next_to = added.join(" and ");
        format!(
            "{name:<6}{fields}; {marking}; load without ECN {next_to}\n      {}\n",
            self.verdict
        )
    }
}

impl L4s {
    /// Creates the report from the results of the test and of the measurement before it.
    #[must_use]
    pub fn new(ecn: &EcnOutcome, measured: &Outcome) -> Self {
        let way = |way: usize| L4sWay::new(&ecn[way], measured.idle.median, measured.loaded[way].queue);
        let [up, down] = [way(0), way(1)];
        Self { up, down }
    }

    /// Formats the report for the terminal.
    #[must_use]
    pub fn text(&self) -> String {
        format!("L4S\n{}{}", self.up.text("up"), self.down.text("down"))
    }
}
