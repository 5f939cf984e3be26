//! Queues, arrivals and sessions, compared with computed values and with each other.

use crate::common::{Run, assert_close, assert_same_flows, column, mean, run};
use levelflow_laws::aqm::QUEUES;
use levelflow_path::scheduler::{Ecn, FlowKey};
use levelflow_path::{Hop, HopCounters, HopLaw, Settings};
use levelflow_random::identity;
use levelflow_scenario::{Scenario, Schedule};
use levelflow_units::{Bytes, Time};

/// Runs flows of one packet with Poisson arrivals through one queue.
fn one_queue(queue: &str, buffer: &str, rate: f64) -> Run {
    run(&one_queue_text(queue, buffer, rate))
}

fn one_queue_text(queue: &str, buffer: &str, rate: f64) -> String {
    format!(
        r#"
        name = "one queue"
        duration = "30 s"
        seed = 4
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "5 ms", buffer = "{buffer}", queue = "{queue}" }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        [[flow]]
        name = "packets"
        law = "cbr"
        from = "A"
        to = "B"
        size = {{ exponential = "800 B" }}
        packet = "65535 B"
        reliable = false
        arrivals = {{ poisson = "{rate} /s" }}
        "#
    )
}

/// A link of the simulator and a hop of the data plane receive the same packets. They drop, lose and deliver the same
/// packets at the same times, also when the link changes.
#[test]
fn a_link_and_a_hop_deliver_the_same_packets_at_the_same_times() {
    let changes = "{ at = '4 s', capacity = '6 Mb/s', loss = 0.05 }, { at = '8 s', capacity = '0 b/s' }, \
                   { at = '8.5 s', capacity = '12 Mb/s', delay = '2 ms' }, \
                   { at = '12 s', over = '9 s', capacity = '8 Mb/s', delay = '30 ms', loss = 0 }";
    let bursts = "loss = { gilbert_elliott = { p = 0.01, r = 0.3, bad = 0.8, good = 0.001 } }";
    let wires = [
        ("loss = 0.01", ""),
        ("loss = 0.01", changes),
        (bursts, ""),
        ("loss = 0.01, jitter = '3 ms'", changes),
        ("loss = 0.01, jitter = '9 ms', reorder = true", ""),
        ("loss = 0.01, slot = '4 ms'", changes),
    ];
    let plain = wires.map(|(wire, changes)| ("drop_tail", wire, changes));
    let others = QUEUES
        .iter()
        .flat_map(|queue| [(queue.name, wires[0].0, ""), (queue.name, wires[0].0, changes)]);
    for (queue, wire, changes) in plain.into_iter().chain(others) {
        let text = one_queue_text(queue, "12 packets", 1400.0).replace(
            "delay = \"5 ms\", buffer",
            &format!("delay = '5 ms', {wire}, changes = [{changes}], buffer"),
        );
        let (delivered, counters) = through_a_hop(&text);
        let run = run(&text);
        let columns = ["start_s", "fct_s", "bytes"].map(|name| column(&run.completions, name));
        assert!(counters.dropped > 100 && counters.lost > 100, "{counters:?}");
        assert_eq!(
            run.summary.links[0].dropped_packets, counters.dropped,
            "{queue}, {wire}, {changes}"
        );
        assert_eq!(columns[0].len(), delivered.len());
        for (i, (due, (sent, size, _))) in delivered.into_iter().enumerate() {
            let expected = [sent.since(Time::ZERO), due.since(sent)].map(levelflow_units::Duration::as_secs_f64);
            assert_eq!(
                [columns[0][i], columns[1][i], columns[2][i]],
                [expected[0], expected[1], size as f64],
                "packet {i}, {queue}, {wire}, {changes}"
            );
        }
    }
}

/// Send time of a packet, its size, and the number of its flow in the entry.
type Sent = (Time, u64, u32);
/// Delivery time of a sent packet.
type Delivered = (Time, Sent);

/// Classifies flows as the simulator does.
struct Classes(u32);

impl HopLaw<Sent> for Classes {
    fn classify(&self, (.., member): &Sent) -> FlowKey {
        FlowKey {
            flow: self.0.wrapping_add(member.wrapping_mul(0x9e37_79b1)),
            source: identity("A") as u32,
            destination: identity("B") as u32,
            ecn: Ecn::NotCapable,
        }
    }
}

/// Sends the packets of the first flow through a hop of the data plane that has the settings of the first link. Returns
/// the delivered packets and the counters.
fn through_a_hop(text: &str) -> (Vec<Delivered>, HopCounters) {
    let network = Scenario::parse(text)
        .and_then(|value| Scenario::from_value(&value)?.resolve())
        .unwrap()
        .network;
    let link = &network.links[0];
    let settings = |capacity, wire| Settings {
        rate: Some(capacity),
        buffer: link.buffer,
        wire,
    };
    let classes = Classes(identity("packets") as u32);
    let start = settings(link.capacity, link.wire);
    let mut hop = Hop::under(classes, start, network.seed, &link.name);
    hop.set_queue(&link.queue, network.seed, &link.name);
    let (end, packets) = (Time::ZERO + network.duration, &network.flows[0]);
    let mut changes = link.changes.iter().peekable();
    let mut schedule = Schedule::new(packets, network.seed);
    let (mut delivered, mut member) = (Vec::new(), 0);
    while let Some(arrival) = schedule.next(packets).filter(|arrival| arrival.at <= end) {
        while let Some(state) = changes.next_if(|state| state.at <= arrival.at) {
            hop.set(state.at, settings(state.capacity, state.wire));
        }
        let size = schedule.flow(packets, arrival.at).size.unwrap();
        let _ = hop.handle_input(arrival.at, Bytes::new(size), (arrival.at, size, member));
        member += 1;
    }
    while let Some(packet) = hop.poll_output(end) {
        delivered.push(packet);
    }
    (delivered, hop.counters())
}

// **Invariant** (The engine): an event at the end of each transmission does not change the times of deliveries.
/// Two implementations of a link deliver packets at the same times. In the first, the transmitter has its own events.
/// The second computes departures on arrival.
#[test]
fn an_event_for_the_transmitter_changes_no_time() {
    let computed = one_queue("drop_tail", "unlimited", 1400.0);
    let served = one_queue("drop_front", "unlimited", 1400.0);
    assert_eq!(computed.completions, served.completions);
    assert_same_flows(&computed, &served);
    assert_eq!(computed.summary.links, served.summary.links);
    assert!(format!("{:?}", computed.links) == format!("{:?}", served.links));
}

/// All packets have the same size, so the queue length does not depend on the position of the dropped packet.
/// Drop-front and drop-tail drop equally many packets. Packets delivered by drop-front have smaller delays.
#[test]
fn dropping_from_the_front_loses_as_much_and_delays_less() {
    let equal = |queue| {
        run(&format!(
            r#"
            name = "equal packets"
            duration = "20 s"
            link = [{{ from = "A", to = "B", capacity = "8 Mb/s", delay = "5 ms", buffer = "20 packets", queue = "{queue}" }},
                    {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
            [[flow]]
            name = "packets"
            law = "cbr"
            from = "A"
            to = "B"
            size = "1 packets"
            reliable = false
            arrivals = {{ poisson = "1300 /s" }}
            "#
        ))
    };
    let (tail, front) = (equal("drop_tail"), equal("drop_front"));
    let dropped = |run: &Run| run.summary.links[0].dropped_packets;
    assert!(dropped(&tail) > 4000);
    assert_eq!(dropped(&tail), dropped(&front));
    let wait = |run: &Run| mean(&column(&run.completions, "fct_s"));
    assert!(wait(&front) < wait(&tail), "{} {}", wait(&front), wait(&tail));
}

#[test]
fn arrivals_by_load_fill_that_share_of_the_slowest_link() {
    let run = run(r#"
        name = "load"
        duration = "100 s"
        link = [{ from = "A", to = "B", capacity = "100 Mb/s", delay = "1 ms", duplex = true },
                { from = "B", to = "C", capacity = "10 Mb/s", delay = "1 ms", duplex = true }]
        [[flow]]
        name = "x"
        law = { cbr = { rate = "5 Mb/s" } }
        from = "A"
        to = "C"
        size = { empirical = [["2 packets", 0.5], ["2 packets", 0.9], ["20 packets", 1.0]] }
        arrivals = { load = 0.6 }
        "#);
    assert_close(run.summary.links[2].utilisation, 0.6, 0.03);
}

/// A session has three pages of two objects each. An object is one packet, and the think time is one second.
#[test]
fn a_session_takes_its_pages_and_thoughts() {
    let run = run(r#"
        name = "session"
        duration = "10 s"
        link = [{ from = "A", to = "B", capacity = "8 Mb/s", delay = "50 ms", duplex = true }]
        [[flow]]
        name = "web"
        law = "cbr"
        from = "A"
        to = "B"
        size = "1 packets"
        session = { pages = 3, objects = 2, think = "1 s" }
        arrivals = { times = ["500 ms"] }
        "#);
    let starts = column(&run.completions, "start_s");
    // Two packets of 1 ms each, then a propagation delay of 50 ms.
    let page = 0.052 + 1.0;
    let expected = [0.5, 0.5, 0.5 + page, 0.5 + page, 0.5 + 2.0 * page, 0.5 + 2.0 * page];
    assert_eq!(starts.len(), 6);
    for (found, expected) in starts.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    }
    assert_eq!(run.summary.flows[0].finished, 6);
}

/// The sender expects no ACK between two packets if the inter-packet time exceeds a timeout.
#[test]
fn a_slow_sender_waits_for_its_pace_and_not_for_a_timeout() {
    let run = run(r#"
        name = "slow"
        duration = "100 s"
        link = [{ from = "A", to = "B", capacity = "1 Mb/s", delay = "10 ms", duplex = true }]
        [law.ks]
        control = "rate"
        time_unit = "1 s"
        kappa = 1e-6
        weight = 1e-9
        [[flow]]
        name = "x"
        law = "ks"
        from = "A"
        to = "B"
        "#);
    let sent = run.summary.flows[0].sent_packets;
    assert!((100..=102).contains(&sent), "{sent} packets at one per second");
}

/// A receiver that acknowledges every second packet sends half as many ACKs. The ACK of a last single packet follows
/// after a delay.
#[test]
fn delayed_acks_are_half_as_many_and_the_last_is_late() {
    let acks = |packets: u32| {
        let run = run(&format!(
            r#"
            name = "delayed ACKs"
            duration = "5 s"
            link = [{{ from = "A", to = "B", capacity = "8 Mb/s", delay = "10 ms", duplex = true }}]
            [[flow]]
            name = "x"
            law = {{ newreno = {{ delayed_ack = true, initial_window = {packets} }} }}
            from = "A"
            to = "B"
            size = "{packets} packets"
            "#
        ));
        run.summary.flows[0].acks.sent
    };
    // One ACK is for the handshake. The last packet of a transfer is acknowledged at once.
    assert_eq!([acks(20), acks(21)], [1 + 10, 1 + 11]);
    let mut waiting = crate::common::start(
        r#"
        name = "a lone packet"
        duration = "5 s"
        overhead = "0 s"
        link = [{ from = "A", to = "B", capacity = "8 Mb/s", delay = "10 ms", duplex = true }]
        [[flow]]
        name = "x"
        law = { newreno = { delayed_ack = true, initial_window = 1 } }
        from = "A"
        to = "B"
        "#,
    );
    // The handshake takes 20.08 ms and the packet takes 11 ms. The ACK of the packet is delayed by 40 ms.
    let acked = |sim: &mut levelflow_sim::Sim<levelflow_sim::Any>, us: u64| {
        sim.advance(levelflow_units::Time::from_ps(us * 1_000_000), u64::MAX)
            .unwrap();
        sim.summary().unwrap().flows[0].acks.sent
    };
    assert_eq!((acked(&mut waiting, 71_000), acked(&mut waiting, 71_100)), (1, 2));
}

/// A full buffer with a limit in bytes evicts packets only if the new packet then fits.
#[test]
fn dropping_from_the_front_keeps_what_it_has_when_that_does_not_help() {
    let run = run(r#"
        name = "no use"
        duration = "1 s"
        link = [{ from = "A", to = "B", capacity = "80 kb/s", delay = "1 ms", buffer = "1500 B", queue = "drop_front" },
                { from = "B", to = "A", capacity = "1 Gb/s", delay = "1 ms" }]
        [[flow]]
        name = "large"
        law = "cbr"
        from = "A"
        to = "B"
        size = "1000 B"
        reliable = false
        arrivals = { times = ["0 s", "20 ms"] }
        [[flow]]
        name = "small"
        law = "cbr"
        from = "A"
        to = "B"
        packet = "40 B"
        size = "40 B"
        reliable = false
        start = "10 ms"
        "#);
    let [large, small] = &run.summary.flows[..] else {
        unreachable!()
    };
    assert_eq!((large.dropped_packets, small.dropped_packets), (1, 0));
}
