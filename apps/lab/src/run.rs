//! Run of a scenario in a web page.

use levelflow_laws::AnyParams;
use levelflow_results::Table;
use levelflow_scenario::Scenario;
use levelflow_sim::{Any, Sim, Stay, Trace, check_memory};
use levelflow_units::{Duration, Rate, Time};

use crate::limits;

/// Smallest rate of a steered flow, bit/s. A packet of 1000 bytes leaves every 0.08 s.
const MIN_RATE_BPS: f64 = 100_000.0;

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The run has not reached the requested time.
    More,
    /// The run has reached the requested time or its end.
    There,
    /// The run has reached the limit of events.
    Cut,
}

/// Run in progress, with the description of its network.
#[derive(Debug)]
pub struct LabRun {
    sim: Sim<Any>,
    end: Time,
    /// Scenario with all defaults, in JSON.
    pub resolved: String,
}

impl LabRun {
    /// Starts the run of a scenario in JSON; `trace` enables the positions of packets.
    ///
    /// # Errors
    /// When the scenario is invalid or exceeds a limit. The message has a line per error.
    pub fn new(json: &str, trace: bool) -> Result<Self, String> {
        let value = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let scenario = Scenario::from_value(&value).map_err(|e| e.to_string())?;
        let mut resolved = scenario.resolve().map_err(|e| e.to_string())?;
        let described = serde_json::json!(resolved.describe(&scenario)).to_string();
        limits::apply(&mut resolved.network)?;
        check_memory(&resolved.network).map_err(|e| e.to_string())?;
        let end = Time::ZERO + resolved.network.duration;
        let mut sim = Sim::new(resolved.network);
        sim.trace = trace.then(Box::<Trace>::default);
        Ok(Self {
            sim,
            end,
            resolved: described,
        })
    }

    /// Advances to `until_s`, but by at most `events` events.
    ///
    /// # Errors
    /// When flows and packets need more memory than allowed.
    pub fn advance(&mut self, until_s: f64, events: u64) -> Result<Progress, String> {
        let until = Duration::from_secs_f64(until_s).map_or(self.end, |after| Time::ZERO + after);
        let until = until.min(self.end);
        let left = limits::MAX_EVENTS.saturating_sub(self.sim.events());
        let over = self.sim.advance(until, events.min(left)).map_err(|e| e.to_string())?;
        let there = over || (until < self.end && self.sim.now() == until);
        Ok(if there {
            Progress::There
        } else if self.sim.events() >= limits::MAX_EVENTS {
            Progress::Cut
        } else {
            Progress::More
        })
    }

    /// Changes the sending rate of a CBR flow entry from now on, bit/s. Returns false for other laws.
    pub fn steer(&mut self, entry: usize, bps: f64) -> bool {
        let mut steered = false;
        self.sim.restart_law(entry, |params| {
            if let AnyParams::Cbr(params) = params {
                params.rate = Rate::clamped(bps.max(MIN_RATE_BPS));
                steered = true;
            }
        });
        steered
    }

    /// Returns the simulated time, s.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.sim.now().as_secs_f64()
    }

    /// Returns the number of link crossings, summed over all packets.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.sim.packet_hops()
    }

    /// Returns the rows since the last call.
    pub fn take(&mut self) -> [(&'static str, Table); 4] {
        self.sim.recorder.take()
    }

    /// Returns exact counters, in JSON.
    ///
    /// # Errors
    /// When packets are not conserved.
    pub fn summary(&mut self) -> Result<String, String> {
        let summary = self.sim.summary().map_err(|e| e.to_string())?;
        serde_json::to_string(&summary).map_err(|e| e.to_string())
    }

    /// Returns the stays that ended since the last call, and the stays in progress. A stay is the time that one packet
    /// spends at one link.
    pub fn stays(&mut self) -> Vec<Stay> {
        let mut stays = self.sim.trace.as_mut().map(|trace| trace.take()).unwrap_or_default();
        stays.extend(self.sim.present());
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_sim::Fate;
    use serde_json::{Value, json};

    fn scenario(flow: Value, link: Value) -> String {
        let mut first = json!({ "from": "A", "to": "B", "capacity": "1 Mb/s", "delay": "50 ms", "duplex": true });
        let mut x = json!({ "name": "x", "law": "cbr", "from": "A", "to": "B" });
        for (to, from) in [(&mut first, link), (&mut x, flow)] {
            let more = from.as_object().cloned().unwrap_or_default();
            to.as_object_mut().expect("a table").extend(more);
        }
        json!({ "name": "n", "profile": "paper", "duration": "10 s", "link": [first], "flow": [x] }).to_string()
    }

    fn finish(run: &mut LabRun) -> Progress {
        loop {
            match run.advance(1e9, 100_000).expect("it fits") {
                Progress::More => {}
                done => return done,
            }
        }
    }

    #[test]
    fn a_stay_is_transmission_then_propagation() {
        // Packets of 1000 B at 0.5 Mb/s: one every 16 ms, with 8 ms of transmission and 50 ms of propagation.
        let law = json!({ "law": { "cbr": { "rate": "0.5 Mb/s" } } });
        let mut run = LabRun::new(&scenario(law, json!({})), true).expect("a valid scenario");
        assert_eq!(run.advance(2.0, 1_000_000), Ok(Progress::There));
        let stays = run.stays();
        let data = stays.iter().filter(|s| !s.ack);
        for stay in data.clone() {
            assert_eq!((stay.departed - stay.arrived).as_secs_f64(), 0.008);
            assert_eq!((stay.ends - stay.departed).as_secs_f64(), 0.05);
            assert_eq!(
                stay.fate == Fate::Present,
                stay.ends > Time::ZERO + Duration::from_ms(2000)
            );
        }
        let sent = 2.0 / 0.016;
        assert!((data.count() as f64 - sent).abs() <= 1.0);
    }

    #[test]
    fn a_steered_flow_sends_at_its_new_rate_and_others_are_unchanged() {
        // A link of 1 Mb/s carries 0.5 Mb/s in the first 4 s, and then 0.8 Mb/s for 5 s.
        let law = json!({ "law": { "cbr": { "rate": "0.5 Mb/s" } } });
        let mut run = LabRun::new(&scenario(law, json!({})), false).expect("a valid scenario");
        let sent = |run: &mut LabRun| {
            let summary: Value = serde_json::from_str(&run.summary().expect("packets are conserved")).expect("JSON");
            summary["flows"][0]["sent_packets"].as_u64().expect("a number") as f64
        };
        run.advance(4.0, 1_000_000).expect("it fits");
        let first = sent(&mut run);
        assert!((first * 8000.0 / 4.0 / 0.5e6 - 1.0).abs() < 0.01, "{first}");
        assert!(run.steer(0, 0.8e6));
        run.advance(9.0, 1_000_000).expect("it fits");
        let second = sent(&mut run) - first;
        assert!((second * 8000.0 / 5.0 / 0.8e6 - 1.0).abs() < 0.01, "{second}");
        let mut other = LabRun::new(&scenario(json!({ "law": "cubic" }), json!({})), false).expect("a valid scenario");
        assert!(!other.steer(0, 1e6));
        assert!(!other.steer(7, 1e6));
    }

    #[test]
    fn each_arrived_packet_was_delivered_dropped_or_lost_or_is_present() {
        let law = json!({ "law": { "cbr": { "rate": "2 Mb/s" } } });
        let link = json!({ "buffer": "5 packets", "loss": 0.1, "queue": "codel" });
        for (link, until) in [(json!({ "buffer": "5 packets" }), 1.0), (link, 3.0)] {
            let mut run = LabRun::new(&scenario(law.clone(), link), true).expect("a valid scenario");
            run.advance(until, 1_000_000).expect("it fits");
            let stays = run.stays();
            let count = |fate| stays.iter().filter(|s| s.link == 0 && s.fate == fate).count() as u64;
            let summary: Value = serde_json::from_str(&run.summary().expect("packets are conserved")).expect("JSON");
            let of = |key: &str| summary["links"][0][key].as_u64().expect("a number");
            assert_eq!(count(Fate::Dropped), of("dropped_packets"));
            assert_eq!(count(Fate::Lost), of("lost_packets"));
            assert_eq!(
                stays.iter().filter(|s| s.link == 0).count() as u64,
                of("arrived_packets")
            );
            assert!(count(Fate::Dropped) > 0 && count(Fate::Present) > 0);
        }
    }

    // **Invariant** (The lab): a trace does not change the results. Each packet that arrived at a link was delivered,
    // dropped or lost, or is still at the link. See
    // `each_arrived_packet_was_delivered_dropped_or_lost_or_is_present`.
    #[test]
    fn a_trace_changes_nothing() {
        let law = json!({ "law": "cubic" });
        let link = json!({ "buffer": "9 packets", "loss": 0.01 });
        let ended = [true, false].map(|trace| {
            let mut run = LabRun::new(&scenario(law.clone(), link.clone()), trace).expect("a valid scenario");
            assert_eq!(finish(&mut run), Progress::There);
            (run.summary(), format!("{:?}", run.take()))
        });
        assert_eq!(ended[0], ended[1]);
    }

    #[test]
    fn a_run_beyond_the_limits_is_rejected_or_cut() {
        let rejected = |json: &str| LabRun::new(json, false).expect_err("a scenario beyond the limits");
        let fine = scenario(json!({}), json!({}));
        let many = fine.replace("\"10 s\"", "\"10 s\",\"sample\":\"1 us\"");
        assert!(rejected(&many).starts_with("sample: 1 us makes"), "{}", rejected(&many));
        let crowd = scenario(json!({ "count": 5_000_000, "law": "jetmax" }), json!({}));
        let slow = crowd.replace("\"10 s\"", "\"10 s\",\"sample\":\"10 s\"");
        assert!(rejected(&slow).contains("rows"), "{}", rejected(&slow));
        let window = scenario(json!({ "law": { "scalable": { "initial_window": 1e6 } } }), json!({}));
        assert!(
            rejected(&window).contains("memory_limit is 256 MB"),
            "{}",
            rejected(&window)
        );
        let busy = scenario(
            json!({ "law": { "cbr": { "rate": "90 Gb/s" } } }),
            json!({ "capacity": "100 Gb/s", "delay": "1 us" }),
        );
        let mut run = LabRun::new(&busy, false).expect("the number of events is unknown in advance");
        assert_eq!(finish(&mut run), Progress::Cut);
        assert!(run.now() < 10.0 && run.summary().is_ok());
    }

    #[test]
    fn error_messages_equal_those_of_the_command() {
        let wrong = scenario(json!({}), json!({ "capacity": "10 apples" }));
        let line = LabRun::new(&wrong, false).expect_err("an invalid rate");
        assert!(
            line.starts_with("link 1 (A->B), capacity: \"10 apples\" is not a rate"),
            "{line}"
        );
    }
}
