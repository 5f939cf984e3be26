//! Resolution of scenarios without mistakes, and their warnings.

use levelflow_scenario::Scenario;
use levelflow_units::{Buffer, Bytes, Duration};
use serde_json::{Value, json};

use crate::{changed, check, good, refused, resolve};

#[test]
fn the_good_scenario_is_accepted() {
    assert_eq!(check(&good()), Ok(()));
}

#[test]
fn a_reverse_direction_changes_in_what_it_has_no_value_for() {
    let changes = json!([{ "at": "1 s", "capacity": "1 Mb/s" }, { "at": "2 s", "delay": "40 ms", "loss": 0.1 }]);
    let link = |reverse: Value| {
        let link = [
            ("/link/0/duplex", json!(true)),
            ("/link/0/changes", changes.clone()),
            ("/link/0/reverse", reverse),
        ];
        let directions: [_; 2] = resolve(&link).network.links[..2].to_vec().try_into().ok().unwrap();
        directions.map(|link| link.changes)
    };
    let [there, back] = link(json!({}));
    assert_eq!((there.len(), &there), (2, &back));
    let [_, back] = link(json!({ "capacity": "7 Mb/s", "delay": "3 ms" }));
    assert_eq!(back.len(), 1);
    assert_eq!(
        (back[0].capacity.bps(), back[0].wire.delay, back[0].wire.loss.mean()),
        (7e6, Duration::from_ms(3), 0.1)
    );
    assert_eq!(link(json!({ "changes": [] }))[1], []);
    refused(
        &[("/link/0/measured", json!(true))],
        &["link 1", "measured needs changes"],
    );
}

#[test]
fn shares_and_products_are_read_as_people_write_them() {
    let resolved = resolve(&[("/link/0/loss", json!("2 %")), ("/link/0/buffer", json!("2 bdp"))]);
    assert_eq!(resolved.network.links[0].wire.loss.mean(), 0.02);
    let same = resolve(&[("/link/0/loss", json!(0.02)), ("/link/0/buffer", json!("2 BDP"))]);
    assert_eq!(resolved.network.links[0].buffer, same.network.links[0].buffer);
}

#[test]
fn a_link_without_flows_takes_the_longest_round_trip_of_the_network() {
    let more =
        json!({ "from": "B", "to": "D", "capacity": "8 Mb/s", "delay": "1 s", "buffer": "1 BDP", "duplex": true });
    let resolved = resolve(&[("/link/2", more)]);
    let idle = resolved.network.links.iter().find(|link| link.name == "B->D").unwrap();
    // The round-trip time between A and C is 40 ms, and 1 MB/s * 40 ms = 40 kB.
    assert_eq!(idle.buffer, Buffer::Bytes(Bytes::new(40_000)));
    refused(
        &[("/flow", json!([])), ("/link/0/buffer", json!("1 BDP"))],
        &["buffer: BDP needs flows"],
    );
}

/// Verifies four quantities of a link with a shaper or policer. These are the BDP, the target rate, the arrival rate
/// for a given load, and the service rate in outages.
#[test]
fn a_link_serves_what_its_shaper_or_policer_lets_pass() {
    for (queue, service) in [
        (json!({ "cake": { "rate": "2 Mb/s" } }), 2e6),
        (json!({ "policer": { "rate": "2 Mb/s" } }), 2e6),
        (json!({ "cake": { "rate": "20 Mb/s" } }), 10e6),
        (json!({ "cake": {} }), 10e6),
        (json!("codel"), 10e6),
    ] {
        let mut raw = changed(&[
            ("/link/0/queue", queue.clone()),
            ("/link/0/buffer", json!("1 BDP")),
            (
                "/link/0/changes",
                json!([{ "at": "1 s", "capacity": "1 Mb/s" }, { "at": "2 s", "capacity": "0 b/s" }]),
            ),
            ("/flow/0/size", json!("1 MB")),
            ("/flow/0/arrivals", json!({ "load": "50 %" })),
        ]);
        raw["link"][0]["reverse"] = json!({ "buffer": "unlimited", "queue": "drop_tail" });
        let scenario = Scenario::from_value(&raw).unwrap();
        let resolved = scenario.resolve().unwrap();
        let link = &resolved.network.links[0];
        assert_eq!(
            link.buffer,
            Buffer::Bytes(Bytes::new((service * 0.04 / 8.0) as u64)),
            "{queue}"
        );
        assert_eq!(link.service_bits(4.0), service + 1e6, "{queue}");
        let described = json!(resolved.describe(&scenario));
        let number = |pointer: &str| described.pointer(pointer).unwrap().as_f64().unwrap();
        assert_eq!(
            [number("/links/0/capacity_bps"), number("/links/0/service_bps")],
            [10e6, service]
        );
        assert_eq!(number("/links/0/changes/0/service_bps"), 1e6);
        assert_eq!(number("/links/0/changes/1/service_bps"), 0.0);
        assert!(number("/links/0/target_bps") <= service);
        assert_eq!(number("/links/1/service_bps"), 10e6);
        assert!((number("/links/0/offered_bps") - service / 2.0).abs() < 1e-6, "{queue}");
    }
}

#[test]
fn implausible_values_are_warned_of() {
    let warned = |changes: &[(&str, Value)], said: &str| {
        let warnings = resolve(changes).warnings();
        assert!(warnings.len() == 1 && warnings[0].starts_with(said), "{warnings:?}");
    };
    assert_eq!(resolve(&[]).warnings(), [""; 0]);
    warned(
        &[("/flow/0/start", json!("10 s"))],
        "flow 1 (x), start: it starts after the end of the run, 10 s",
    );
    warned(
        &[("/flow/0/packet", json!("1 B")), ("/encapsulation", json!("none"))],
        "flow 1 (x), packet: 1 B is less than the header of jetmax",
    );
    warned(
        &[("/flow/0/start", json!("10 s")), ("/flow/0/stop", json!("20 s"))],
        "flow 1 (x), start: it starts after the end of the run, 10 s",
    );
    warned(&[("/flow", json!([]))], "flow: there is none, so nothing is sent");
    let cubic = ("/flow/0/law", json!("cubic"));
    warned(
        &[cubic.clone(), ("/link/1/capacity", json!("1 Mb/s"))],
        "link B->C, buffer: it is unlimited, and cubic of flow x",
    );
    for (key, value) in [
        ("buffer", json!("1 BDP")),
        ("queue", json!("codel")),
        ("loss", json!(0.01)),
    ] {
        let link = format!("/link/0/{key}");
        assert_eq!(resolve(&[cubic.clone(), (link.as_str(), value)]).warnings(), [""; 0]);
    }
}

#[test]
fn a_seed_matters_where_something_is_drawn() {
    let calm = [("/flow/0/law", json!("cubic")), ("/overhead", json!("0 s"))];
    assert!(!resolve(&calm).is_random());
    assert!(resolve(&calm[..1]).is_random(), "processing times of hosts");
    assert!(resolve(&[]).is_random(), "phases of routers");
    for (key, value) in [
        ("/flow/0/start", json!({ "uniform": ["0 s", "1 s"] })),
        ("/flow/0/size", json!({ "exponential": "10 packets" })),
        ("/link/0/loss", json!(0.1)),
        ("/link/0/queue", json!("red")),
        ("/link/0/queue", json!("pie")),
        ("/link/0/queue", json!("fq_codel")),
        ("/flow/0/arrivals", json!({ "poisson": "1 /s" })),
    ] {
        assert!(resolve(&[&calm[..], &[(key, value)]].concat()).is_random(), "{key}");
    }
}

/// Verifies the processing time, which is the transmission time of one packet on the slowest link of the path. Clock
/// errors are at most 100 parts per million.
#[test]
fn hosts_have_a_processing_time_and_a_clock_unless_the_profile_is_that_of_the_papers() {
    for law in ["cubic", "ks", "jetmax", "bbr", "cbr"] {
        let found = resolve(&[("/flow/0/law", json!(law))]).network;
        let (flow, link) = (&found.flows[0], &found.links[0]);
        assert_eq!(Some(flow.overhead), link.capacity.time_to_send(flow.packet), "{law}");
        assert!(flow.slow != 0.0 && flow.slow.abs() <= 1e-4, "{law}: {}", flow.slow);
        assert!(link.slow > 0.0 && link.slow <= 1e-4, "{law}: {}", link.slow);
        for ideal in [("/profile", json!("paper")), ("/overhead", json!("0 s"))] {
            let found = resolve(&[("/flow/0/law", json!(law)), ideal]).network;
            let (flow, link) = (&found.flows[0], &found.links[0]);
            assert_eq!(
                (flow.overhead, flow.slow, link.slow),
                (Duration::ZERO, 0.0, 0.0),
                "{law}"
            );
        }
    }
}

/// The flow of the valid scenario has a round-trip time of 40 ms. The slowest link of its path sends 100 packets of
/// 1000 B in 80 ms.
#[test]
fn an_interval_that_is_long_beside_round_trips_gets_the_value_that_fits() {
    let warnings_of = |changes: &[(&str, Value)]| {
        let lines = resolve(changes).warnings();
        lines
            .into_iter()
            .filter(|line| line.contains("the interval of"))
            .collect::<Vec<_>>()
    };
    let jetmax = |interval: &str| ("/flow/0/law", json!({ "jetmax": { "interval": interval } }));
    assert_eq!(warnings_of(&[jetmax("100 ms")]), [""; 0]);
    let interval = ("/law", json!({ "jetmax": { "interval": "1 s" } }));
    let lines = warnings_of(&[interval]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("jetmax, 1 s, is "), "{lines:?}");
    let fits = lines[0].split('"').nth(1).unwrap().to_owned();
    assert_eq!(
        warnings_of(&[("/law", json!({ "jetmax": { "interval": fits } }))]),
        [""; 0]
    );
}

#[test]
fn hosts_that_differ_from_law_to_law_get_a_line_for_each_difference() {
    let warnings_of = |laws: [Value; 2], profile: &str| {
        let mut raw = good();
        let mut other = raw["flow"][0].clone();
        other["name"] = json!("y");
        raw["flow"][0]["law"] = laws[0].clone();
        other["law"] = laws[1].clone();
        raw["flow"].as_array_mut().unwrap().push(other);
        raw["profile"] = json!(profile);
        let lines = Scenario::from_value(&raw).unwrap().resolve().unwrap().warnings();
        lines
            .into_iter()
            .filter(|line| line.starts_with("flows differ"))
            .collect::<Vec<_>>()
    };
    for law in ["cubic", "newreno", "bbr3", "vegas", "jetmax"] {
        assert_eq!(warnings_of([json!(law), json!("bbr")], "linux"), [""; 0], "{law}");
    }
    assert_eq!(
        warnings_of([json!("cubic"), json!("bbr")], "paper"),
        [
            "flows differ in their first window: 10 packets for bbr, 2 packets for cubic; to change this, set \
             initial_window of each law"
        ]
    );
    let own = json!({ "cubic": { "delayed_ack": false, "min_timeout": "1 ms" } });
    let lines = warnings_of([own, json!("newreno")], "linux");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("an ACK for each packet for cubic") && lines[1].contains("SRTT + 1 ms or more"));
}

/// Uses transfers of two bandwidth-delay products. They fit into the path and the queue that slow start causes.
#[test]
fn large_transfers_fill_a_buffer_without_limit_too() {
    let full = |size: Value| {
        let changes = [("/flow/0/law", json!("cubic")), ("/flow/0/size", size)];
        resolve(&changes)
            .warnings()
            .iter()
            .any(|line| line.contains("fills it with large transfers"))
    };
    assert!(full(json!("10 MB")) && full(json!({ "exponential": "20 kB" })));
    assert!(!full(json!("20 kB")));
}

/// Compares the defaults of the two profiles. The initial window is 10 packets (RFC 6928) or 2 packets (ns-2). Other
/// options have the values of Linux or of ns-2.
#[test]
fn a_profile_is_a_set_of_defaults() {
    let params = |changes: &[(&str, Value)]| {
        let scenario = Scenario::from_value(&changed(changes)).unwrap();
        json!(scenario.resolve().unwrap().describe(&scenario))["flows"][0]["params"].clone()
    };
    let cubic = ("/flow/0/law", json!("cubic"));
    let keys = [
        "initial_window",
        "hystart",
        "delayed_ack",
        "paced",
        "pacing_gain",
        "after_idle",
    ];
    for (profile, expected) in [
        ("linux", ["10", "true", "true", "true", "1.2", "halve"]),
        ("paper", ["2", "false", "false", "false", "1", "restart"]),
    ] {
        let found = params(&[cubic.clone(), ("/profile", json!(profile))]);
        assert_eq!(keys.map(|key| found[key].as_str().unwrap()), expected, "{profile}");
    }
    assert_eq!(params(std::slice::from_ref(&cubic))["initial_window"], "10");
    // Values of a scenario override the defaults of the profile.
    let own = ("/flow/0/law", json!({ "cubic": { "initial_window": 4 } }));
    assert_eq!(params(&[own, ("/profile", json!("paper"))])["initial_window"], "4");
    // Prague has its own pacing rules.
    for profile in ["linux", "paper"] {
        let prague = [
            ("/flow/0/law", json!("prague")),
            ("/profile", json!(profile)),
            ("/link/0/queue", json!("dualpi2")),
        ];
        let found = params(&prague);
        assert_eq!(
            (&found["paced"], &found["pacing_gain"]),
            (&json!("true"), &json!("1")),
            "{profile}"
        );
    }
}

/// A packet of JetMax has a header of 28 B after a shim of 24 B. The smallest data packet has one byte more than its
/// headers, and an ACK has 16 B more. Larger values of the scenario remain.
#[test]
fn packets_have_room_for_their_headers() {
    let flow = |changes: &[(&str, Value)]| {
        let scenario = Scenario::from_value(&changed(changes)).unwrap();
        json!(scenario.resolve().unwrap().describe(&scenario))["flows"][0].clone()
    };
    for (name, headers) in [
        ("ethernet+ipv4+udp", 42 + 24 + 28),
        ("ipv6", 62 + 24 + 28),
        ("quic", 42 + 24 + 28 + 33),
    ] {
        let encapsulation = ("/encapsulation", json!(name));
        let small = flow(std::slice::from_ref(&encapsulation));
        let sizes = [
            &small["header_bytes"],
            &small["ack_bytes"],
            &small["params"]["min_packet"],
        ];
        let smallest = json!(format!("{} B", headers + 1));
        assert_eq!(sizes, [&json!(headers), &json!(headers + 16), &smallest]);
        let large = flow(&[
            encapsulation,
            ("/flow/0/law", json!({ "jetmax": { "min_packet": "300 B" } })),
            ("/flow/0/ack", json!("200 B")),
        ]);
        let sizes = [
            &large["ack_bytes"],
            &large["params"]["min_packet"],
            &large["packet_bytes"],
        ];
        assert_eq!(sizes, [&json!(200), &json!("300 B"), &json!(1000)]);
    }
    let bare = flow(&[("/encapsulation", json!("none"))]);
    let default = flow(&[]);
    assert_eq!(default, flow(&[("/encapsulation", json!("ethernet+ipv4+udp"))]));
    assert_eq!(flow(&[("/profile", json!("paper"))])["header_bytes"], 0);
    assert_eq!([&bare["header_bytes"], &bare["ack_bytes"]], [0, 40]);
    assert_eq!(bare["params"]["min_packet"], "48 B");
}
