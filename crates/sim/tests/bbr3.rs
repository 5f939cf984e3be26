//! Test cases of draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases". They check the model of a flow's sender after
//! each event. Some cases change the path when the sender enters a state. These cases run twice: the first run
//! determines the time of the change. Both runs are equal up to the change.

use crate::common::start;
use levelflow_laws::AnySender;
use levelflow_laws::bbr3::{Model, State};
use levelflow_units::Time;

/// Capacity of the link, packets per second.
const LINE: f64 = 1250.0;

#[derive(Debug, Clone, Copy)]
struct Seen {
    t: f64,
    state: State,
    model: Model,
}

/// Returns a scenario with one flow over 10 Mb/s. The delay is 20 ms each way, and packets have 1000 bytes.
fn path(seconds: u32, link: &str, flow: &str) -> String {
    format!(
        r#"
        name = "case"
        duration = "{seconds} s"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "20 ms" {link} }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "20 ms" }}]
        [[flow]]
        name = "x"
        law = "bbr3"
        from = "A"
        to = "B"
        packet = "1000 B"
        {flow}
        "#
    )
}

/// Runs a scenario. Returns a record for each change of the sender's state or model.
fn see(text: &str) -> Vec<Seen> {
    let mut sim = start(text);
    let mut seen: Vec<Seen> = Vec::new();
    while !sim.advance(Time::from_ps(u64::MAX), 1).unwrap() {
        let Some(AnySender::Bbr3(sender)) = sim.law(0) else {
            continue;
        };
        let (state, model) = (sender.state(), sender.model());
        if seen
            .last()
            .is_none_or(|last| last.state != state || last.model != model)
        {
            let t = sim.now().as_secs_f64();
            seen.push(Seen { t, state, model });
        }
    }
    seen
}

/// Finds a change of state. Returns the last record before the change and the first record after it.
fn change(seen: &[Seen], from: State, to: State) -> [Seen; 2] {
    let pair = seen
        .windows(2)
        .find(|pair| pair[0].state == from && pair[1].state == to);
    pair.unwrap_or_else(|| panic!("never from {from:?} to {to:?}: {:?}", states(seen)))
        .try_into()
        .unwrap()
}

fn states(seen: &[Seen]) -> Vec<State> {
    let mut states: Vec<State> = seen.iter().map(|s| s.state).collect();
    states.dedup();
    states
}

fn product(seen: &Seen) -> f64 {
    (seen.model.bandwidth * seen.model.min_rtt).max(4.0)
}

fn within(value: f64, expected: f64, relative: f64) {
    assert!(
        (value / expected - 1.0).abs() <= relative,
        "{value}, expected {expected}"
    );
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let [_, drain] = change(&see(&path(2, "", "")), State::Startup, State::Drain);
    within(drain.model.max_bandwidth, LINE, 0.02);
    assert!(drain.model.full_count == 3 && drain.model.full_now && drain.model.full_reached);
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let lossy = ", changes = [{ at = '1 s', loss = 0.25 }]";
    let text = path(3, lossy, "application = { rate = '8 Mb/s' }").replace("10 Mb/s", "100 Mb/s");
    // Less than a bandwidth-delay product is in flight, so the same ACK ends Drain and Down.
    let [before, after] = change(&see(&text), State::Startup, State::Cruise);
    assert!(before.t > 1.0 && before.model.full_count < 3 && !before.model.full_reached);
    assert!(after.model.full_now && after.model.full_reached && after.model.inflight_longterm.is_finite());
}

#[test]
fn exiting_drain_based_on_inflight() {
    let [drain, down] = change(&see(&path(2, "", "")), State::Drain, State::Cruise);
    within(drain.model.pacing, 0.5 * 0.99 * drain.model.bandwidth, 1e-9);
    assert!(down.model.in_flight <= product(&drain) && drain.model.in_flight > product(&drain) - 2.0);
}

/// The draft reduces the capacity by 10 %. A pacing gain of 0.5 would then still drain the queue. This test therefore
/// reduces the capacity by 80 %.
#[test]
fn exiting_drain_based_on_time() {
    let [_, entry] = change(&see(&path(2, "", "")), State::Startup, State::Drain);
    let slower = format!(
        ", changes = [{{ at = '{:.9} s', capacity = '2 Mb/s' }}]",
        entry.t + 1e-6
    );
    let seen = see(&path(3, &slower, ""));
    let [drain, down] = change(&seen, State::Drain, State::Down);
    assert!(down.model.in_flight > product(&drain), "{down:?}");
    assert_eq!(down.model.rounds, entry.model.rounds + 4);
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let [_, down] = change(&see(&path(5, "", "")), State::Up, State::Down);
    assert!(down.model.full_now && down.model.full_count == 3);
    assert_eq!(down.model.inflight_longterm, f64::INFINITY);
}

/// Returns a scenario with an application-limited flow. Packet losses end its Startup state.
fn limited(seconds: u32, changes: &str) -> String {
    let link = format!(", changes = [{{ at = '1 s', loss = 0.25 }}, {{ at = '1.5 s', loss = 0.0 }} {changes}]");
    let flow = "application = { rate = '8 Mb/s' }";
    path(seconds, &link, flow)
        .replace("10 Mb/s", "100 Mb/s")
        .replace("'bbr3'", "{ bbr3 = { probe_rtt_interval = '1000 s' } }")
        .replace("\"bbr3\"", "{ bbr3 = { probe_rtt_interval = '1000 s' } }")
}

/// The draft's text updates the long-term bound "appropriately". The draft's pseudocode does not change the bound for
/// application-limited flows.
#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let seen = see(&limited(8, ""));
    let [_, up] = change(&seen, State::Refill, State::Up);
    let text = limited(8, &format!(", {{ at = '{:.9} s', loss = 0.25 }}", up.t + 0.1));
    let [before, after] = change(&see(&text), State::Up, State::Down);
    assert!(
        after.t > up.t + 0.1 && after.t < up.t + 0.3,
        "{} after {}",
        after.t,
        up.t
    );
    assert!(!after.model.full_now);
    assert!(after.model.inflight_longterm >= before.model.inflight_longterm * 0.7);
}

#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let seen = see(&limited(15, ""));
    let [_, up] = change(&seen, State::Refill, State::Up);
    assert!(up.t < 10.0 && seen.iter().filter(|s| s.t > up.t).all(|s| s.state == State::Up));
    let startup = path(15, "", "application = { rate = '5 Mb/s' }");
    let startup = startup.replace("\"bbr3\"", "{ bbr3 = { probe_rtt_interval = '1000 s' } }");
    assert_eq!(states(&see(&startup)), [State::Startup]);
}

#[test]
fn exiting_probe_down_on_inflight() {
    let [down, cruise] = change(&see(&path(5, "", "")), State::Down, State::Cruise);
    within(down.model.pacing, 0.9 * 0.99 * down.model.bandwidth, 1e-9);
    assert!(cruise.model.in_flight <= product(&down));
}

/// The draft reduces the capacity by 10 %. Pacing at `0.99 * 0.9` of the old capacity would then still drain the queue.
/// This test therefore reduces the capacity by 20 %.
#[test]
fn exiting_probe_down_after_max_time() {
    let [_, entry] = change(&see(&path(5, "", "")), State::Up, State::Down);
    let slower = format!(
        ", changes = [{{ at = '{:.9} s', capacity = '8 Mb/s' }}]",
        entry.t + 1e-6
    );
    let seen = see(&path(9, &slower, "").replace("\"bbr3\"", "{ bbr3 = { probe_rtt_interval = '1000 s' } }"));
    let later: Vec<Seen> = seen.into_iter().filter(|s| s.t >= entry.t).collect();
    assert_eq!(states(&later)[..2], [State::Down, State::Refill]);
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let seen = see(&path(8, "", ""));
    let probe: Vec<&Seen> = seen.iter().filter(|s| s.state == State::ProbeRtt).collect();
    let (first, last) = (probe[0], probe[probe.len() - 1]);
    assert!(first.t > 5.0 && first.t < 5.3, "{}", first.t);
    assert!(first.model.window <= 0.5 * product(first) + 1e-9);
    assert!(last.t - first.t > 0.2 && last.t - first.t < 0.4, "{}", last.t - first.t);
    let after = seen.iter().find(|s| s.t > last.t).unwrap();
    assert_eq!(after.state, State::Cruise);
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let seen = see(&path(
        12,
        "",
        "application = { on_off = { rate = '12 Mb/s', on = '3 s', off = '7 s' } }",
    ));
    assert!(seen.iter().any(|s| s.t > 9.9 && s.model.idle_restart));
    assert!(seen.iter().all(|s| s.state != State::ProbeRtt));
}

const SLOTS: &str = "delay = \"20 ms\", slot = \"20 ms\"";

fn aggregated(seconds: u32) -> Vec<Seen> {
    let text = path(seconds, "", "");
    let (data, acks) = text.split_once("\"1 Gb/s\"").unwrap();
    see(&format!("{data}\"1 Gb/s\"{}", acks.replace("delay = \"20 ms\"", SLOTS)))
}

#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let [startup, drain] = change(&aggregated(3), State::Startup, State::Drain);
    assert!(startup.model.extra_acked > 5.0);
    assert!(startup.model.window > 2.0 * startup.model.bandwidth * startup.model.min_rtt);
    within(drain.model.max_bandwidth, LINE, 0.1);
}

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    let seen = aggregated(5);
    let cruise = seen.iter().rfind(|s| s.state == State::Cruise).unwrap();
    assert!(cruise.model.extra_acked > 10.0);
    let expected = 2.0 * cruise.model.bandwidth * cruise.model.min_rtt + cruise.model.extra_acked;
    within(cruise.model.window, expected, 0.05);
    within(cruise.model.max_bandwidth, LINE, 0.1);
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    let seen = see(&path(60, "", "").replace("10 Mb/s", "64 kb/s").replace("20 ms", "1 ms"));
    let cruise = seen.iter().rfind(|s| s.state == State::Cruise).unwrap();
    let probing = || seen.iter().filter(|s| s.t > 10.0);
    assert!(probing().all(|s| s.model.window >= 4.0) && probing().any(|s| s.model.window == 4.0));
    within(cruise.model.pacing, 0.99 * 8.0, 0.02);
}

#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    let seen = see(&path(16, ", changes = [{ at = '6 s', capacity = '100 Mb/s' }]", ""));
    let up = seen
        .iter()
        .find(|s| s.t > 6.0 && s.model.max_bandwidth > 1.3 * LINE)
        .unwrap();
    let full = seen.iter().find(|s| s.model.max_bandwidth > 9.5 * LINE).unwrap();
    assert!(
        full.model.rounds - up.model.rounds < 30,
        "{} rounds",
        full.model.rounds - up.model.rounds
    );
}

#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    let link = ", buffer = '100 packets', changes = [{ at = '6 s', capacity = '10 Mb/s' }]";
    let text = path(20, link, "").replacen("\"10 Mb/s\"", "\"100 Mb/s\"", 1);
    let seen = see(&text);
    assert!(
        seen.iter()
            .any(|s| s.t > 6.0 && s.t < 8.0 && s.model.bandwidth_shortterm < 0.5 * 10.0 * LINE)
    );
    within(seen.last().unwrap().model.max_bandwidth, LINE, 0.05);
}

#[test]
fn handling_token_bucket_policers() {
    let link = ", queue = { policer = { rate = '10 Mb/s', burst = '100 kB' } }";
    let text = path(20, link, "").replacen("\"10 Mb/s\"", "\"100 Mb/s\"", 1);
    let seen = see(&text);
    assert!(
        seen.iter()
            .any(|s| s.model.bandwidth_shortterm.is_finite() && s.model.inflight_shortterm.is_finite())
    );
    let late = seen.iter().rfind(|s| s.state == State::Cruise).unwrap();
    assert!(late.model.bandwidth < 1.3 * LINE, "{late:?}");
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let seen = see(&path(8, "", "application = { rate = '5 Mb/s' }"));
    assert_eq!(states(&seen), [State::Startup, State::ProbeRtt, State::Startup]);
}

/// Runs a flow over one path up to its first bandwidth probe, and over another path afterwards.
fn from_up(link: &str, then: impl Fn(f64) -> String) -> (f64, Vec<Seen>) {
    let [_, up] = change(&see(&path(5, link, "")), State::Refill, State::Up);
    (up.t, see(&path(7, &format!("{link}{}", then(up.t)), "")))
}

#[test]
fn handling_spurious_fast_recovery() {
    let (t, seen) = from_up(", reorder = true, jitter = '1 us'", |t| {
        let (from, to) = (t + 0.05, t + 0.07);
        format!(", changes = [{{ at = '{from:.9} s', jitter = '10 ms' }}, {{ at = '{to:.9} s', jitter = '1 us' }}]")
    });
    let later: Vec<Seen> = seen.into_iter().filter(|s| s.t >= t && s.t < t + 1.0).collect();
    assert_eq!(later.last().unwrap().model.inflight_longterm, f64::INFINITY);
    let states = states(&later);
    assert!(
        states.starts_with(&[State::Up, State::Down, State::Refill, State::Up]),
        "{states:?}"
    );
}

#[test]
fn handling_spurious_rto_recovery() {
    let (t, seen) = from_up("", |t| {
        let (from, to) = (t + 0.05, t + 0.06);
        format!(", changes = [{{ at = '{from:.9} s', delay = '800 ms' }}, {{ at = '{to:.9} s', delay = '20 ms' }}]")
    });
    let later: Vec<Seen> = seen.into_iter().filter(|s| s.t >= t && s.t < t + 2.0).collect();
    assert!(later.iter().any(|s| s.model.window <= 1.0), "no timeout");
    assert_eq!(later.last().unwrap().model.inflight_longterm, f64::INFINITY);
    // The sender enters Cruise only if the queue drains. This depends on the arrival times of ACKs.
    let states: Vec<State> = states(&later)
        .into_iter()
        .filter(|state| *state != State::Cruise)
        .collect();
    assert!(
        states.starts_with(&[State::Up, State::Down, State::Refill, State::Up]),
        "{states:?}"
    );
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let link = ", buffer = '30 packets'";
    let seen = see(&path(12, link, ""));
    let up = seen
        .iter()
        .find(|s| s.state == State::Up && s.model.inflight_longterm.is_finite())
        .unwrap();
    let text = path(
        12,
        &format!("{link}, changes = [{{ at = '{:.9} s', loss = 0.3 }}]", up.t + 1e-6),
        "",
    );
    let seen = see(&text);
    let later: Vec<Seen> = seen.into_iter().filter(|s| s.t >= up.t).collect();
    let [before, after] = change(&later, State::Up, State::Down);
    let target = (before.model.bandwidth * before.model.min_rtt).min(before.model.window);
    assert!(after.model.inflight_longterm >= 0.7 * target - 1e-9);
    assert!(after.model.inflight_longterm <= before.model.inflight_longterm);
}
