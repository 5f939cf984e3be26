use levelflow_laws::Any;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Network, Scenario};

/// Creates links in series. `links` contains their capacities in Mb/s and their delays in us. If `shaped` is given, the
/// first link has a shaper at this fraction of its capacity.
fn line(links: &[(f64, u64)], shaped: Option<f64>) -> Network<Any> {
    let link = |(i, &(mbps, us)): (usize, &(f64, u64))| {
        let mut link = json!({
            "from": format!("n{i}"), "to": format!("n{}", i + 1), "duplex": true,
            "capacity": format!("{mbps} Mb/s"), "delay": format!("{us} us"),
        });
        if let Some(share) = shaped.filter(|_| i == 0) {
            link["queue"] = json!({ "cake": { "rate": format!("{} Mb/s", mbps * share) } });
        }
        link
    };
    let links: Vec<Value> = links.iter().enumerate().map(link).collect();
    let last = format!("n{}", links.len());
    let flow = json!({ "name": "x", "law": "cbr", "from": "n0", "to": last });
    let value = json!({ "name": "ideal", "duration": "1 s", "link": links, "flow": [flow] });
    Scenario::from_value(&value).unwrap().resolve().unwrap().network
}

/// Returns packets of 1000 B with headers of this size.
fn framing(headers: u64) -> Framing {
    Framing {
        packet: Bytes::new(1000),
        headers: Bytes::new(headers),
    }
}

const AT_ONCE: RoundTrip = RoundTrip {
    total: Duration::ZERO,
    forward: Duration::ZERO,
    reverse: Duration::ZERO,
};

/// Returns the time at which the last packet has crossed the links, computed packet by packet.
fn crossed(links: &[IdealLink], sizes: &[f64]) -> f64 {
    let mut free = vec![0.0_f64; links.len()];
    let mut last = 0.0;
    for size in sizes {
        let mut at = 0.0_f64;
        for (link, free) in links.iter().zip(&mut free) {
            let start = at.max(*free);
            *free = start + size * link.spacing;
            at = start + size * link.transmission;
        }
        last = at;
    }
    last
}

proptest! {
    #[test]
    fn the_ideal_time_is_that_of_each_packet_at_each_link(
        links in prop::collection::vec((1.0..100.0_f64, 0..1000_u64), 1..5), size in 1..30_000_u64, shaped: bool,
        headers in prop::sample::select(vec![0, 66, 97, 999]),
    ) {
        let network = line(&links, shaped.then_some(0.3));
        let path = IdealPath::new(&network.links, network.flows[0].routes.first(), Bytes::new(40), false);
        let payload = 1000 - headers;
        let mut sizes = vec![1000.0; ((size - 1) / payload) as usize];
        sizes.push((headers + size - payload * sizes.len() as u64) as f64);
        let propagation: f64 = links.iter().map(|&(_, us)| us as f64 * 1e-6).sum();
        let expected = propagation + crossed(&path.links, &sizes);
        let found = path.time(size, &framing(headers), &AT_ONCE);
        prop_assert!((found / expected - 1.0).abs() < 1e-9, "{found} for {expected}");
    }
}

#[test]
fn a_handshake_takes_a_round_trip_and_the_time_to_send_its_packets() {
    let network = line(&[(8.0, 1000)], None);
    let route = network.flows[0].routes.first();
    let hosts = RoundTrip::new(Some(Duration::from_ms(10)), [Duration::from_ms(1); 2]);
    let time =
        |handshake| IdealPath::new(&network.links, route, Bytes::new(40), handshake).time(1000, &framing(0), &hosts);
    // Transfer: half a round-trip time, and 1 ms for 1000 B at 8 Mb/s. Handshake: 10 ms, and twice 40 us.
    assert!((time(false) - 0.006).abs() < 1e-12, "{}", time(false));
    assert!((time(true) - 0.016_08).abs() < 1e-12, "{}", time(true));
}
