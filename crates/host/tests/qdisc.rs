//! Tests that readings of a device's queue agree with the output of `tc`. Needs root; skipped without it.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use levelflow_net_testing::needs_root;
use std::process::Command;

use levelflow_host::limit::Limit;
use levelflow_host::qdisc::{Device, Presence, Queue};
use levelflow_net_testing::device::with_device;
use levelflow_net_testing::send::send;
use levelflow_testbed::Namespace;
use levelflow_units::Rate;
use serde_json::Value;

fn reading(namespace: &Namespace) -> Queue {
    namespace.run(|| Device::open("lf0").unwrap().queue().unwrap()).unwrap()
}

/// Returns the report of `tc` on the root queue.
fn tc(namespace: &Namespace) -> Value {
    let mut command = Command::new("tc");
    command.args(["-s", "-j", "qdisc", "show", "dev", "lf0", "root"]);
    let text = namespace.output(command).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[0].clone()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of queues")]
fn readings_are_those_of_tc() {
    needs_root!("readings_are_those_of_tc");
    let namespace = with_device("lf-r-qdisc");
    assert_eq!(reading(&namespace).kind, "noqueue");
    let slow = Rate::new(64_000.0);
    for (lines, limit, rate, drops) in [
        (
            "qdisc replace dev lf0 root handle 1: pfifo limit 10",
            Some(Limit::Packets(10)),
            None,
            false,
        ),
        (
            "qdisc replace dev lf0 root handle 2: bfifo limit 7000",
            Some(Limit::Bytes(7000)),
            None,
            false,
        ),
        (
            "qdisc replace dev lf0 root handle 3: tbf rate 64kbit burst 2000 limit 9000",
            Some(Limit::Bytes(9000)),
            slow,
            true,
        ),
        (
            "qdisc replace dev lf0 root handle 4: htb default 1\n\
             class add dev lf0 parent 4: classid 4:1 htb rate 64kbit burst 2000\n\
             qdisc add dev lf0 parent 4:1 handle 5: pfifo limit 5",
            None,
            None,
            true,
        ),
    ] {
        namespace.tc(lines).unwrap();
        send(&namespace, 30);
        // A slow queue changes between readings. It sends one packet every eighth of a second. If both reports of `tc`
        // are equal, the reading between them must be equal, too.
        let same = (0..20).find_map(|_| {
            let (before, ours, after) = (tc(&namespace), reading(&namespace), tc(&namespace));
            (before == after).then_some((before, ours))
        });
        let (theirs, ours) = same.expect("a moment without departures");
        let number = |name: &str| theirs[name].as_u64().unwrap();
        assert_eq!(theirs["kind"].as_str(), Some(&ours.kind[..]));
        assert_eq!(
            (ours.backlog, u64::from(ours.packets), u64::from(ours.drops)),
            (number("backlog"), number("qlen"), number("drops")),
            "{lines}"
        );
        assert_eq!(
            (ours.sent_bytes, u64::from(ours.sent_packets)),
            (number("bytes"), number("packets")),
            "{lines}"
        );
        assert_eq!((ours.limit, ours.rate), (limit, rate), "{lines}");
        assert_eq!((ours.backlog > 0, ours.drops > 0), (drops, drops), "{lines}: {ours:?}");
        assert_eq!(ours.backlog, 1000 * u64::from(ours.packets));
        let later = reading(&namespace);
        assert_eq!(
            later.dropped_since(&Queue {
                drops: ours.drops.wrapping_sub(3),
                ..ours
            }),
            3
        );
    }
    // Neither the shaper nor the hardware reports a rate, so the capacity is unknown.
    let capacity = namespace.run(|| Device::open("lf0").unwrap().capacity()).unwrap();
    assert_eq!(
        capacity, None,
        "htb has no rate at its root, and virtual devices have no hardware rate"
    );
}

#[test]
fn a_device_is_up_down_or_gone() {
    needs_root!("a_device_is_up_down_or_gone");
    let namespace = with_device("lf-r-qdisc");
    let mut device = namespace.run(|| Device::open("lf0").unwrap()).unwrap();
    assert_eq!(device.presence(), Presence::Up);
    namespace.ip("link set lf1 down").unwrap();
    assert_eq!(device.presence(), Presence::Down);
    namespace.ip("link set lf1 up").unwrap();
    assert_eq!(device.presence(), Presence::Up);
    namespace
        .ip("link del lf0\nlink add lf0 type veth peer name lf1\nlink set lf0 up")
        .unwrap();
    assert_eq!(
        device.presence(),
        Presence::Gone,
        "a new device of the same name is different"
    );
    assert!(device.queue().is_err());
    let error = namespace.run(|| Device::open("nowhere").unwrap_err()).unwrap();
    assert_eq!(error.status(), 2);
}
