//! What scenarios without mistakes come to, and what is said of them.

use levelflow_units::{Buffer, Bytes, Duration};
use serde_json::{Value, json};

use crate::{check, good, refused, resolve};

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
    // A round trip takes 40 ms between A and C, and 1 MB/s times that is 40 kB.
    assert_eq!(idle.buffer, Buffer::Bytes(Bytes::new(40_000)));
    refused(
        &[("/flow", json!([])), ("/link/0/buffer", json!("1 BDP"))],
        &["buffer: BDP needs flows"],
    );
}

#[test]
fn what_is_allowed_and_hardly_meant_is_warned_of() {
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
        &[("/flow/0/packet", json!("1 B"))],
        "flow 1 (x), packet: 1 B is less than the header of jetmax",
    );
    warned(
        &[("/flow/0/start", json!("10 s")), ("/flow/0/stop", json!("20 s"))],
        "flow 1 (x), start: it starts after the end of the run, 10 s",
    );
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
        ("/flow/0/arrivals", json!({ "poisson": "1 /s" })),
    ] {
        assert!(resolve(&[&calm[..], &[(key, value)]].concat()).is_random(), "{key}");
    }
}

/// Those that ACKs clock, also where they pace while their window is small.
#[test]
fn hosts_of_laws_that_acks_clock_have_a_processing_time() {
    let overhead = |law: Value| resolve(&[("/flow/0/law", law)]).network.flows[0].overhead;
    for law in [json!("cubic"), json!("ks")] {
        assert!(overhead(law.clone()) > Duration::ZERO, "{law}");
    }
    for law in [
        json!("jetmax"),
        json!("bbr"),
        json!({ "ks": { "control": "rate" } }),
        json!({ "cubic": { "paced": true } }),
    ] {
        assert_eq!(overhead(law.clone()), Duration::ZERO, "{law}");
    }
}
