//! Buffers that share a memory. The sum of their limits never exceeds the memory. If the memory suffices, the buffers
//! are independent. Otherwise, they are max-min fair, weighted by capacity.

use crate::common::{column, run, series};
use levelflow_results::Table;

/// Returns a scenario with three links. Unresponsive traffic fills the first two links, and NewReno fills the third.
fn scenario(memory: &str, sample: &str) -> String {
    let links = [("A", "B", 1, 10), ("C", "D", 3, 500), ("E", "F", 4, 40)].map(|(from, to, mbps, initial)| {
        format!(
            "[[link]]\nfrom = '{from}'\nto = '{to}'\ncapacity = '{mbps} Mb/s'\ndelay = '5 ms'\nduplex = true\n\
             buffer = {{ abs_log = {{ initial = '{initial} packets', gain = 0.05 }} }}\nreverse = {{ buffer = 'unlimited' }}\n"
        )
    });
    let flows = [("A", "B", 2), ("C", "D", 6)].map(|(from, to, mbps)| {
        format!(
            "[[flow]]\nname = '{from}'\nlaw = {{ cbr = {{ rate = '{mbps} Mb/s' }} }}\nfrom = '{from}'\nto = '{to}'\n"
        )
    });
    let tcp = "[[flow]]\nname = 'E'\nlaw = 'newreno'\nfrom = 'E'\nto = 'F'\ncount = 2\nstop = '20 s'\n";
    let head = format!("name = 'memory'\nduration = '40 s'\nsample = '{sample}'\n{memory}\n");
    [head, links.concat(), flows.concat(), tcp.to_owned()].concat()
}

fn shared(total: &str) -> String {
    format!("[[memory]]\ntotal = '{total}'\nlinks = ['A->B', 'C->D', 'E->F']")
}

fn buffers(links: &Table, name: &str, after: f64) -> [Vec<f64>; 3] {
    [0, 2, 4].map(|link| series(links, "link", link, name, after))
}

#[test]
fn a_shared_memory_is_never_exceeded() {
    for (total, packets) in [("600 packets", 600.0), ("600 kB", 600.0), ("3 packets", 3.0)] {
        let done = run(&scenario(&shared(total), "2 ms"));
        let (limits, queues) = (
            buffers(&done.links, "buffer_packets", 0.0),
            buffers(&done.links, "backlog_packets", 0.0),
        );
        for at in 0..limits[0].len() {
            let held: f64 = (0..3).map(|i| limits[i][at].max(queues[i][at])).sum();
            assert!(held <= packets, "{held} of {total} at sample {at}");
        }
        assert!(limits.iter().flatten().all(|&packets| packets >= 1.0));
    }
}

#[test]
fn ports_that_do_not_conflict_do_what_they_do_alone() {
    let (alone, together) = (
        run(&scenario("", "100 ms")),
        run(&scenario(&shared("60000 packets"), "100 ms")),
    );
    for name in ["buffer_packets", "backlog_bytes", "dropped"] {
        let [alone, together] = [&alone, &together].map(|done| column(&done.links, name));
        let same = alone
            .iter()
            .zip(&together)
            .all(|(a, b)| a == b || a.is_nan() && b.is_nan());
        assert!(same, "{name}");
    }
}

#[test]
fn contended_memory_is_divided_by_capacity() {
    let done = run(&scenario(&shared("600 packets"), "1 s"));
    let [first, second, third] = buffers(&done.links, "buffer_packets", 0.0).map(|packets| *packets.last().unwrap());
    // Each link has at least one packet. Fractions of packets are unused. The unused fraction of the third link is
    // unknown.
    let rest = 600.0 - third - 2.0;
    let short = [1.0 + rest / 4.0 - first, 1.0 + 3.0 * rest / 4.0 - second];
    assert!(
        (0.0..1.25).contains(&short[0]) && (0.0..1.75).contains(&short[1]),
        "{first}, {second}, {third}"
    );
    assert!(third < 300.0, "it wanted less: {third}");
    assert!(first + second + third > 596.0);
}
