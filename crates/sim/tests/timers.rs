//! Timers and idle times of senders, compared with closed forms. A trace contains the arrival times at the first link,
//! exact to the picosecond.

use crate::common::{assert_close, start, trace};
use levelflow_laws::{LAWS, LawInfo};
use levelflow_sim::{Fate, Stay};

/// Traced packets of a run.
struct Traced {
    /// Data packets at the first link, in the order of their arrival.
    data: Vec<Stay>,
    /// Packets at the reverse link, which are ACKs.
    acks: Vec<Stay>,
}

/// Runs a scenario in which link 0 leads from A to B and link 1 leads from B to A.
fn traced(text: &str) -> Traced {
    let mut stays = trace(&mut start(text));
    stays.sort_by_key(|stay| stay.arrived);
    let (data, acks) = stays.into_iter().partition(|stay| stay.link == 0);
    Traced { data, acks }
}

impl Traced {
    /// Returns the send times of data packets, s.
    fn sent(&self) -> Vec<f64> {
        self.data.iter().map(|stay| stay.arrived.as_secs_f64()).collect()
    }

    /// Returns the arrival time of the last ACK before the time `t`, s.
    fn last_ack_before(&self, t: f64) -> f64 {
        let arrived = self.acks.iter().filter(|ack| ack.fate == Fate::Delivered);
        let times = arrived.map(|ack| ack.ends.as_secs_f64()).filter(|at| *at <= t);
        times.fold(0.0, f64::max)
    }

    /// Returns the start of each burst that follows a pause, s. Also returns the number of packets in the first
    /// `within` seconds of the burst.
    fn bursts(&self, pause: f64, within: f64) -> Vec<(f64, usize)> {
        let sent = self.sent();
        let begins = |i: &usize| *i == 0 || sent[*i] - sent[i - 1] > pause;
        let starts = (0..sent.len()).filter(begins);
        let burst = |i: usize| (sent[i], sent[i..].iter().take_while(|t| **t < sent[i] + within).count());
        starts.map(burst).collect()
    }

    /// Returns the time from the first packet of each burst to the delivery of its last packet, s.
    fn durations(&self, pause: f64) -> Vec<f64> {
        let starts = self.bursts(pause, 0.0);
        let ends = starts.iter().skip(1).map(|(t, _)| *t).chain([f64::INFINITY]);
        let last = |from: f64, to: f64| {
            let own = self
                .data
                .iter()
                .filter(|s| (from..to).contains(&s.arrived.as_secs_f64()));
            own.map(|s| s.ends.as_secs_f64()).fold(from, f64::max) - from
        };
        starts.iter().zip(ends).map(|((from, _), to)| last(*from, to)).collect()
    }
}

/// Returns a scenario with one flow over a link of 10 Mb/s. The round-trip time is 20 ms, and hosts have no processing
/// times.
fn line(law: &str, duration: f64, link: &str, flow: &str) -> String {
    format!(
        r#"
        name = "timers"
        duration = "{duration} s"
        sample = "{duration} s"
        overhead = "0 s"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", duplex = true, {link} }}]
        [[flow]]
        name = "x"
        law = {law}
        from = "A"
        to = "B"
        {flow}
        "#
    )
}

fn has(law: &LawInfo, row: &str) -> bool {
    law.params.iter().any(|own| own.name == row)
}

fn family() -> Vec<&'static str> {
    let windowed = LAWS.iter().filter(|law| has(law, "after_idle"));
    windowed.map(|law| law.name).collect()
}

/// Returns a law without ECN, because the queues of these tests do not mark.
fn unmarked(law: &str, more: &str) -> String {
    let marks = LAWS.iter().any(|own| own.name == law && has(own, "ecn"));
    let marks = if marks { "ecn = false" } else { "" };
    format!(
        "{{ {law} = {{ {marks}{} {more} }} }}",
        if marks.is_empty() || more.is_empty() { "" } else { "," }
    )
}
// **Invariant** (The transport): timeouts double up to 120 s. An increase of the RTT by less than `min_timeout` causes
// no timeout. See `any_min_timeout_is_honoured`, `a_longer_path_is_no_timeout`.
/// RFC 6298, section 5, with the limit of Linux. The RTO starts at the latest ACK. Each timeout doubles the RTO, up to
/// 120 s.
#[test]
fn timeouts_double_up_to_two_minutes() {
    let laws = LAWS.iter().filter(|law| has(law, "min_timeout"));
    let mut compared = 0;
    for law in laws {
        for both_ways in [true, false] {
            let reverse = if both_ways { "" } else { ", reverse = { changes = [] }" };
            let down = format!("buffer = '1 BDP', changes = [{{ at = '10 s', down = true }}]{reverse}");
            let found = traced(&line(&unmarked(law.name, ""), 900.0, &down, ""));
            // Until the first timeout, the sender sends the packets that the congestion window allows.
            let last_ack = found.last_ack_before(900.0);
            let probes: Vec<f64> = found.sent().into_iter().filter(|t| *t > last_ack + 0.2).collect();
            let first = probes[0] - last_ack;
            assert!((0.22..0.45).contains(&first), "{}: an RTO of {first} s", law.name);
            let (mut rto, mut at) = (first, probes[0]);
            for probe in &probes[1..] {
                rto = (2.0 * rto).min(120.0);
                at += rto;
                assert!((probe - at).abs() < 1e-6, "{}: {probe}, expected {at}", law.name);
            }
            assert!(rto == 120.0 && 900.0 - at < 120.0, "{}: {rto} s at {at} s", law.name);
            compared += 1;
        }
    }
    assert!(compared > 28, "{compared}");
}

/// The opening packet is retransmitted after 1 s. This time doubles with each retransmission, up to 120 s.
#[test]
fn the_handshake_backs_off_likewise() {
    for law in ["newreno", "bbr", "rcp", "tfrc"] {
        let down = "changes = [{ at = '0 s', down = true }]";
        let sent = traced(&line(&unmarked(law, ""), 500.0, down, "start = '1 s'")).sent();
        let expected = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0, 247.0, 367.0, 487.0];
        let times: Vec<f64> = sent.iter().map(|t| t - 1.0).collect();
        assert_eq!(times, expected, "{law}");
    }
}

/// On a path with constant delay, the RTO is SRTT + `min_timeout`. This holds for any `min_timeout` of at least 1 us.
#[test]
fn any_min_timeout_is_honoured() {
    for law in family() {
        for (min, text) in [
            (1e-6, "1 us"),
            (1e-5, "10 us"),
            (1e-3, "1 ms"),
            (0.05, "50 ms"),
            (3.0, "3 s"),
            (60.0, "1 min"),
        ] {
            let law = unmarked(law, &format!("min_timeout = '{text}', window_limit = 4"));
            let down = "changes = [{ at = '9.99999 s', down = true }], reverse = { changes = [] }";
            let found = traced(&line(&law, 80.0, down, ""));
            let last_ack = found.last_ack_before(80.0);
            let probe = *found.sent().iter().find(|t| **t > last_ack + 1e-7).unwrap();
            let expected = 0.0208 + 4e-5 * 8.0 / 10.0 + min;
            assert_close(probe - last_ack, expected, 1e-4);
        }
    }
}

/// RFC 5681, section 4.1, for every TCP law, application and round-trip time. After an idle time above an RTO, at most
/// the initial window is sent before an ACK arrives.
#[test]
fn a_response_after_an_idle_time_begins_with_the_first_window() {
    for law in family() {
        for (first, kb, think, delay) in [(2, 1000, 5.0, 25.0), (10, 300, 1.0, 5.0), (4, 400, 3.0, 200.0)] {
            let law = unmarked(
                law,
                &format!("initial_window = {first}, after_idle = 'restart', paced = false"),
            );
            let responses = format!("application = {{ responses = {{ size = '{kb} kB', think = '{think} s' }} }}");
            let text = line(&law, 40.0, "buffer = '1 BDP'", &responses)
                .replacen("10 Mb/s", "100 Mb/s", 1)
                .replacen("10 ms", &format!("{delay} ms"), 1);
            let bursts = traced(&text).bursts(0.9 * think, 2e-3 * delay);
            assert!(bursts.len() > 4, "{law}: {bursts:?}");
            // The first burst consists of the handshake packet.
            assert!(
                bursts[1..].iter().all(|(_, packets)| *packets <= first),
                "{law}: {bursts:?}"
            );
        }
    }
}

/// Three rules for the congestion window after an idle time: keep, pace, or halve. Responses of 1 MB are 5 s apart,
/// over 100 Mb/s with a round-trip time of 50 ms. The sender sends the kept window at once and the paced window evenly
/// over a round-trip time. Halving reduces the window to its minimum.
#[test]
fn a_window_may_be_kept_paced_or_halved() {
    for law in family() {
        let run = |rule: &str| {
            let law = unmarked(law, &format!("after_idle = '{rule}', paced = false"));
            let responses = "application = { responses = { size = '1 MB', think = '5 s' } }";
            let text = line(&law, 14.0, "buffer = '2 BDP'", responses)
                .replacen("10 Mb/s", "100 Mb/s", 1)
                .replacen("10 ms", "25 ms", 1);
            let found = traced(&text);
            let at = found.bursts(4.0, 0.0)[1].0;
            let within = |seconds: f64| found.sent().iter().filter(|t| (at..at + seconds).contains(*t)).count();
            [within(1e-9), within(0.0249), within(0.0499)]
        };
        let [keep, pace, halve] = ["keep", "pace", "halve"].map(run);
        let window = keep[0] as f64;
        assert!(window > 100.0 && keep[2] == keep[0], "{law}: {keep:?}");
        // FAST has changed its congestion window in the meantime, so the tolerance is large.
        let paced = pace[2] as f64;
        assert!((paced / window - 1.0).abs() < 0.3, "{law}: {pace:?} of {keep:?}");
        assert!(
            pace[0] == 1 && (pace[1] as f64 / paced - 0.5).abs() < 0.06,
            "{law}: {pace:?}"
        );
        assert_eq!(halve, [2; 3], "{law}");
    }
}

/// BBR's drafts: a flow that restarts from idle does not enter ProbeRTT, and paces at its bandwidth. After any idle
/// time, a response of 1 MB takes 80 ms of transmission plus half a round-trip time.
#[test]
fn bbr_restarts_from_idle_at_its_bandwidth() {
    for law in ["bbr", "bbr3"] {
        for think in [1, 4, 9, 11, 15, 30] {
            let responses = format!("application = {{ responses = {{ size = '1 MB', think = '{think} s' }} }}");
            let text = line(&format!("'{law}'"), 100.0, "buffer = '2 BDP'", &responses)
                .replacen("10 Mb/s", "100 Mb/s", 1)
                .replacen("10 ms", "25 ms", 1);
            let durations = traced(&text).durations(0.5);
            let slowest = durations[2..durations.len() - 1].iter().copied().fold(0.0, f64::max);
            assert!((slowest - 0.105).abs() < 1e-3, "{law}, {think} s: {durations:?}");
        }
    }
}

/// Application-limited samples do not lower the bandwidth estimate. A response of 5 MB takes 0.4 s of transmission,
/// even after many small responses.
#[test]
fn bbr_keeps_its_bandwidth_while_the_application_is_the_limit() {
    for law in ["bbr", "bbr3"] {
        for (seed, small) in [(1, "2 kB"), (2, "20 kB"), (3, "1 kB")] {
            let sizes = vec![format!("'{small}'"); 29].join(", ");
            let responses = format!(
                "application = {{ responses = {{ size = {{ list = [{sizes}, '5 MB'] }}, think = '100 ms' }} }}"
            );
            let text = line(&format!("'{law}'"), 100.0, "buffer = '2 BDP'", &responses)
                .replacen("10 Mb/s", "100 Mb/s", 1)
                .replacen("10 ms", "25 ms", 1)
                .replacen("name =", &format!("seed = {seed}\nname ="), 1);
            let large: Vec<f64> = traced(&text)
                .durations(0.09)
                .into_iter()
                .filter(|d| *d > 0.35)
                .collect();
            assert!(large.len() > 8, "{law}: {large:?}");
            // Some responses take longer, because they coincide with ProbeRTT.
            let usual = large[1..].iter().filter(|d| **d < 0.45).count() as f64 / (large.len() - 1) as f64;
            assert!(usual > 0.8 && large[1..].iter().all(|d| *d < 0.7), "{law}: {large:?}");
        }
    }
}

/// RFC 5348, section 4.4: each timeout of the nofeedback timer, `max(4R, 2s/X)`, halves the rate `X`. `R` is the
/// round-trip time and `s` is the packet size. The minimum rate is one packet per 64 s. Between two timeouts that are
/// `t` seconds apart, the sender sends `t X/s` packets.
#[test]
fn tfrc_on_a_dead_path_follows_its_nofeedback_timer() {
    for both_ways in [true, false] {
        for (delay, law) in [
            (10.0_f64, "'tfrc'"),
            (100.0, "{ tfrc = { dither = 0 } }"),
            (2.0, "{ tfrc = { dither = 0.5 } }"),
        ] {
            let reverse = if both_ways { "" } else { ", reverse = { changes = [] }" };
            let down = format!("buffer = '1 BDP', changes = [{{ at = '60 s', down = true }}]{reverse}");
            let text = line(law, 1000.0, &down, "").replacen("10 ms", &format!("{delay} ms"), 1);
            let found = traced(&text);
            let (sent, last_ack) = (found.sent(), found.last_ack_before(1000.0));
            let rate = sent.iter().filter(|t| (last_ack - 0.2..last_ack).contains(*t)).count() as f64 / 0.2;
            let rtt: f64 = 2e-3 * delay + 0.5 * (2e-3 * delay); // the buffer is about half full
            let (mut x, mut at, mut packets) = (rate, last_ack, Vec::new());
            while at < 1000.0 {
                let timer = (4.0 * rtt).max(2.0 / x);
                packets.push((at, timer * x));
                (x, at) = ((x / 2.0).max(1.0 / 64.0), at + timer);
            }
            for from in [last_ack, last_ack + 10.0, last_ack + 100.0] {
                let stages = packets.iter().filter(|(at, _)| *at >= from);
                let expected: f64 = stages.map(|(_, packets)| packets).sum();
                let count = sent.iter().filter(|t| **t > from).count() as f64;
                let most = if from == last_ack { 0.5 * expected } else { 6.0 };
                assert!(
                    (count - expected).abs() < most,
                    "{law}, {delay} ms: {count} after {from}, expected {expected}"
                );
            }
        }
    }
}
