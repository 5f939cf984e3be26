//! Report of a measurement, as text, as JSON, and as a scenario.

use levelflow_host::format::{bytes, short_rate};
use serde::Serialize;

use crate::estimate::{Idle, Loaded, Queue, ms};
use crate::l4s::L4s;
use crate::probe::Outcome;
use crate::responsive::TcpOutcome;

/// Upper limit on the added latency for each grade, ms, as in common bufferbloat tests.
const GRADES: [(f64, &str); 5] = [(5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D")];
const WORST_GRADE: &str = "F";
const NO_GRADE: &str = "-";
/// Largest median of the added delay that people in a call do not notice, s.
const NOTICEABLE_DELAY_S: f64 = 0.005;

/// Results of one direction, for JSON. Times are in seconds, rates in bit/s, sizes in bytes on the wire.
#[derive(Debug, Clone, Serialize)]
pub struct Way {
    /// Capacity of the direction.
    pub capacity_bps: f64,
    /// Buffer of the direction.
    pub buffer_bytes: Option<u64>,
    /// Type of the queue in front of the line.
    pub queue: Queue,
    /// Largest queueing delay of load packets.
    pub wait_s: f64,
    /// Increase of the median round-trip time of small packets under load.
    pub added_s: f64,
    /// Round-trip times of small packets under load.
    pub loaded: Option<Idle>,
    /// Fraction of load packets lost while the buffer was kept full.
    pub loss: f64,
    /// Grade by `added_s`, A+ to F.
    pub grade: &'static str,
}

/// Report on both directions of a line.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Grade of the worse direction, or of TCP load in both directions; `-` if other traffic disturbed the idle line.
    pub grade: &'static str,
    /// One-sentence summary.
    pub sentence: String,
    /// Round-trip times on the idle line.
    pub idle: Idle,
    /// Results under load from the client to the reflector.
    pub up: Way,
    /// Results under load from the reflector to the client.
    pub down: Way,
    /// Results of the test for L4S.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l4s: Option<L4s>,
    /// Results under TCP load in both directions at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpOutcome>,
    /// Datagrams rejected.
    pub garbage: u64,
}

fn grade(added: f64) -> &'static str {
    let found = GRADES.iter().find(|(limit, _)| added * 1e3 < *limit);
    found.map_or(WORST_GRADE, |(_, grade)| grade)
}

impl Way {
    fn new(loaded: &Loaded) -> Self {
        Self {
            capacity_bps: loaded.capacity,
            buffer_bytes: loaded.buffer,
            queue: loaded.queue,
            wait_s: loaded.wait,
            added_s: loaded.added,
            loaded: loaded.trips,
            loss: loaded.loss,
            grade: grade(loaded.added),
        }
    }

    fn line(&self, name: &str) -> String {
        let least = if self.queue == Queue::Unseen { "at least " } else { "" };
        let rate = short_rate(self.capacity_bps);
        let room = self.buffer_bytes.map(bytes).unwrap_or_default();
        let queue = match self.queue {
            Queue::Unseen => "the load did not exceed its capacity; raise --max-rate".to_owned(),
            Queue::Larger => format!("a buffer of more than {room}, not yet full at the end of the test; raise --time"),
            Queue::DropTail => format!("a drop-tail buffer of {room}"),
            Queue::Aqm => format!("a queue discipline shortens the queue; its peak was {room}"),
            Queue::Fair => format!(
                "each flow has its queue: load waits up to {}, small packets do not",
                ms(self.wait_s)
            ),
            Queue::Policer => "no buffer: a policer drops the excess at once".to_owned(),
        };
        let trips = self.loaded.map_or_else(
            || "not measured".to_owned(),
            |trips| format!("{} (95 % within {})", ms(trips.median), ms(trips.p95)),
        );
        format!("{name:<6}{least}{rate}; round trip under load {trips}; {queue}\n")
    }
}

impl Report {
    /// Creates a report with grades and a one-sentence summary.
    #[must_use]
    pub fn new(outcome: &Outcome) -> Self {
        let [up, down] = outcome.loaded.each_ref().map(Way::new);
        let worse = if up.added_s >= down.added_s { &up } else { &down };
        let grade = worse.grade;
        let disturbed = disturbance(&outcome.idle, [&up, &down]);
        Self {
            grade: if disturbed.is_some() { NO_GRADE } else { grade },
            sentence: disturbed.unwrap_or_else(|| sentence(&up, &down)),
            idle: outcome.idle,
            up,
            down,
            l4s: None,
            tcp: None,
            garbage: outcome.garbage,
        }
    }

    /// Adds results under TCP load. They determine grade and summary, because TCP reacts to marks and drops as most
    /// traffic does.
    pub fn add_tcp(&mut self, tcp: TcpOutcome) {
        if let Some(trips) = tcp.loaded {
            let added = (trips.median - self.idle.median).max(0.0);
            if self.grade != NO_GRADE {
                self.grade = grade(added);
                self.sentence = if added < NOTICEABLE_DELAY_S {
                    "TCP in both directions adds less than 5 ms: nothing to fix".to_owned()
                } else {
                    format!("your buffers add {} when TCP uploads and downloads at once", ms(added))
                };
            }
        }
        self.tcp = Some(tcp);
    }

    /// Formats the report for the terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let idle = &self.idle;
        let (median, p95, jitter) = (ms(idle.median), ms(idle.p95), ms(idle.jitter));
        let lost = 100.0 * idle.loss;
        let mut text = format!("idle  round trip {median} (95 % within {p95}), jitter {jitter}, {lost:.1} % lost\n");
        text += &self.up.line("up");
        text += &self.down.line("down");
        text += &self.tcp.as_ref().map(TcpOutcome::text).unwrap_or_default();
        text += &self.l4s.as_ref().map(L4s::text).unwrap_or_default();
        text += &format!("Grade {}: {}\n", self.grade, self.sentence);
        text
    }

    /// Formats the line as a scenario, with the traffic of a household.
    #[must_use]
    pub fn scenario(&self) -> String {
        let half = self.idle.median / 2.0;
        let wire = |way: &Way| (half - SMALL_ON_WIRE * 8.0 / way.capacity_bps.max(1.0)).max(0.0) * 1e3;
        let link = |way: &Way| {
            let buffer = way.buffer_bytes.map_or_else(
                || "\"1 BDP\"".to_owned(), // the buffer is unknown; one BDP is the rule of thumb
                |room| format!("\"{} B\"", room.max(MIN_BUFFER_BYTES)),
            );
            let (capacity, delay) = (way.capacity_bps.round(), wire(way));
            format!("capacity = \"{capacity} b/s\", delay = \"{delay:.3} ms\", buffer = {buffer}")
        };
        let up = link(&self.up).replace(", ", "\n");
        let mut text = format!("# {}\n{HEAD}{up}\nduplex = true\n", self.sentence);
        if self.idle.loss > 0.0 {
            text += &format!(
                "loss = {:.4}                                 # on the idle line, each way\n",
                self.idle.loss / 2.0
            );
        }
        text += &format!("reverse = {{ {} }}\n{FLOWS}", link(&self.down));
        text
    }
}

/// Size of the probe's small packets on the wire, bytes.
const SMALL_ON_WIRE: f64 = 138.0;
/// Smallest buffer of a scenario, bytes: one packet.
const MIN_BUFFER_BYTES: u64 = 1514;

const HEAD: &str = "# Written by levelflow-net probe. Sizes and rates count from the Ethernet header on.
name = \"my line\"
description = \"A line as measured, with a household on it: an upload, a download and a call\"
duration = \"60 s\"
sample = \"100 ms\"

[[link]]
from = \"home\"
to = \"net\"
";

const FLOWS: &str = "
[[flow]]
name = \"upload\"
law = \"cubic\"
from = \"home\"
to = \"net\"
packet = \"1500 B\"

[[flow]]
name = \"download\"
law = \"cubic\"
from = \"net\"
to = \"home\"
packet = \"1500 B\"

[[flow]]
name = \"call\"                                  # 50 packets a second
law = { cbr = { rate = \"85.6 kb/s\", acks = true } }
from = \"home\"
to = \"net\"
packet = \"214 B\"
";

/// Returns a sentence if other traffic used the line during the idle measurement. In this case, round-trip times were
/// longer before the load than under load.
fn disturbance(idle: &Idle, ways: [&Way; 2]) -> Option<String> {
    let loaded = ways.iter().filter_map(|way| way.loaded).map(|trips| trips.median);
    let shortest = loaded.fold(f64::INFINITY, f64::min);
    let unnoticed = ways.iter().all(|way| way.added_s < NOTICEABLE_DELAY_S);
    (unnoticed && shortest + NOTICEABLE_DELAY_S <= idle.median).then(|| {
        let (before, after) = (ms(idle.median), ms(shortest));
        format!(
            "other traffic disturbed the idle line: a round trip took {before}, and {after} under load; measure again"
        )
    })
}

fn sentence(up: &Way, down: &Way) -> String {
    let seen = |way: &Way| way.added_s >= NOTICEABLE_DELAY_S;
    match (seen(up), seen(down)) {
        (true, true) => format!(
            "your buffers add {} when you upload and {} when you download",
            ms(up.added_s),
            ms(down.added_s)
        ),
        (true, false) => format!("your buffer adds {} when you upload", ms(up.added_s)),
        (false, true) => format!("your buffer adds {} when you download", ms(down.added_s)),
        (false, false) if up.queue == Queue::Unseen || down.queue == Queue::Unseen => {
            "load adds less than 5 ms; a larger --max-rate may fill the line".to_owned()
        }
        (false, false) => "load adds less than 5 ms: nothing to fix".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use levelflow_scenario::Scenario;

    use super::*;

    fn loaded(added: f64, queue: Queue) -> Loaded {
        Loaded {
            capacity: 9.9996e6,
            buffer: (queue != Queue::Unseen).then_some(125_000),
            queue,
            wait: added,
            trips: None,
            added,
            loss: 0.05,
        }
    }

    fn report(up: f64, down: f64, queue: Queue) -> Report {
        let outcome = Outcome {
            idle: Idle::of(&[Some(0.02), Some(0.022), None, Some(0.02)]).unwrap(),
            loaded: [loaded(up, queue), loaded(down, queue)],
            garbage: 0,
        };
        Report::new(&outcome)
    }

    #[test]
    fn the_grade_is_that_of_the_worse_direction() {
        for (added, grade) in [
            (0.004, "A+"),
            (0.029, "A"),
            (0.059, "B"),
            (0.06, "C"),
            (0.399, "D"),
            (0.4, "F"),
        ] {
            assert_eq!(report(0.001, added, Queue::DropTail).grade, grade);
            assert_eq!(report(added, 0.001, Queue::DropTail).grade, grade);
        }
    }

    #[test]
    fn the_summary_states_the_delay_added_by_load() {
        let said = |up, down| report(up, down, Queue::DropTail).sentence;
        assert_eq!(said(0.41, 0.001), "your buffer adds 410 ms when you upload");
        assert_eq!(said(0.001, 0.041), "your buffer adds 41 ms when you download");
        assert_eq!(said(0.001, 0.002), "load adds less than 5 ms: nothing to fix");
        assert!(report(0.0, 0.0, Queue::Unseen).sentence.contains("--max-rate"));
    }

    #[test]
    fn a_line_that_was_not_idle_has_no_grade() {
        let of = |median: f64, added: f64| {
            let idle = Idle::of(&[Some(0.032)]).unwrap();
            let one = Loaded {
                trips: Idle::of(&[Some(median)]),
                ..loaded(added, Queue::Fair)
            };
            Report::new(&Outcome {
                idle,
                loaded: [one, one],
                garbage: 0,
            })
        };
        let disturbed = of(0.021, 0.0);
        assert_eq!(disturbed.grade, "-");
        assert!(
            disturbed
                .sentence
                .contains("a round trip took 32 ms, and 21 ms under load; measure again")
        );
        assert_eq!(of(0.03, 0.0).grade, "A+", "too small to notice");
        assert_eq!(of(0.032 + 0.5, 0.5).grade, "F");
    }

    #[test]
    fn every_line_is_a_scenario() {
        for queue in [
            Queue::Unseen,
            Queue::Larger,
            Queue::DropTail,
            Queue::Aqm,
            Queue::Fair,
            Queue::Policer,
        ] {
            let text = report(0.1, 0.2, queue).scenario();
            let scenario = Scenario::from_value(&Scenario::parse(&text).unwrap()).unwrap();
            let links = scenario.resolve().unwrap().network.links;
            assert_eq!((links.len(), links[0].capacity.bps()), (2, 9_999_600.0), "{text}");
        }
    }

    #[test]
    fn lost_packets_of_an_idle_line_are_a_share_and_no_time() {
        let idle = Idle::of(&[Some(0.02), None, Some(0.03), Some(0.02)]).unwrap();
        assert_eq!((idle.min, idle.max, idle.loss), (0.02, 0.03, 0.25));
        assert!((idle.jitter - 0.01).abs() < 1e-12);
        assert_eq!(Idle::of(&[None, None]), None);
    }
}
