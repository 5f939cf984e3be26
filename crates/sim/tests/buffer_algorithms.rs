//! Inputs of buffer-sizing algorithms: the mean queue, and drops that a larger buffer would have prevented.

use crate::common::{Run, assert_close, mean, run, series};

/// Runs flows over a link of 10 Mb/s.
fn sized(queue: &str, buffer: &str, duration: &str, flows: &str) -> Run {
    run(&format!(
        r#"
        name = "sized"
        duration = "{duration}"
        sample = "10 ms"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "5 ms", queue = {queue}, buffer = {buffer} }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        {flows}
        "#
    ))
}

fn of(run: &Run, name: &str, after: f64) -> Vec<f64> {
    series(&run.links, "link", 0, name, after)
}

fn datagrams(name: &str, rate: &str, more: &str) -> String {
    format!(
        "[[flow]]\nname = '{name}'\nlaw = {{ cbr = {{ rate = '{rate}' }} }}\nfrom = 'A'\nto = 'B'\n\
         packet = '1500 B'\n{more}\n"
    )
}

const RENOS: &str = r#"
    [[flow]]
    name = "x"
    law = "newreno"
    from = "A"
    to = "B"
    count = 16
    packet = "1500 B"
    rtt = { uniform = ["30 ms", "62 ms"] }
"#;

// **Invariant** (Laws): drops decided by a discipline do not change a buffer limit, and lowering the limit drops no
// queued packet. See `an_algorithm_does_not_see_what_codel_drops`, `packets_that_no_longer_fit_stay`.
/// Early drops of a discipline do not enlarge the buffer, even if the loss rate exceeds its target.
#[test]
fn drops_that_no_buffer_avoids_let_none_grow() {
    for queue in ["red", "rem", "pi", "codel", "virtual_queue"] {
        let run = sized(&format!("'{queue}'"), "{ abs_log = {} }", "200 s", RENOS);
        let link = &run.summary.links[0];
        assert!(link.dropped_bytes as f64 > 0.03 * link.arrived_bytes as f64, "{queue}");
        let largest = of(&run, "buffer_packets", 0.0).into_iter().fold(0.0, f64::max);
        assert!(largest < 250.0, "{queue}: {largest}");
    }
}

/// CoDel drops departing packets, also in intervals without arrivals. The algorithm ignores these drops. It reduces the
/// buffer by 0.06 packets per interval.
#[test]
fn an_algorithm_does_not_see_what_codel_drops() {
    let buffer = "{ abs = { interval = '1 ms', utilisation = 0, loss = 0.02, initial = '2000 packets' } }";
    let run = sized(
        "'codel'",
        buffer,
        "1500 ms",
        &datagrams("x", "200 Mb/s", "stop = '80 ms'"),
    );
    let dropped = of(&run, "dropped_bytes", 0.1);
    assert!(dropped.iter().filter(|&&bytes| bytes > 0.0).count() > 20, "{dropped:?}");
    let buffer = of(&run, "buffer_packets", 0.1);
    let fell = buffer[0] - buffer.last().unwrap();
    assert_close(fell, 0.6 * (buffer.len() - 1) as f64, 0.02);
}

/// Both implementations of a transmitter give the same buffer sizes and drops. With CoDel, the transmitter has its own
/// events.
#[test]
fn an_algorithm_sees_the_same_in_both_service_models() {
    let buffer = "{ abs_log = { delay = '20 ms', initial = '30 packets' } }";
    let [tail, codel] =
        ["'drop_tail'", "{ codel = { target = '10 s' } }"].map(|queue| sized(queue, buffer, "60 s", RENOS));
    assert!(tail.summary.links[0].dropped_packets > 500);
    for name in ["buffer_packets", "dropped"] {
        assert_eq!(of(&tail, name, 0.0), of(&codel, name, 0.0), "{name}");
    }
}

/// Drop-front and drop-tail drop equally many packets after the buffer limit has decreased. Both drop one packet per
/// arrival until the queue fits.
#[test]
fn packets_that_no_longer_fit_stay() {
    let buffer = "{ adt = { utilisation = 0.5, gain = 1000, interval = '2 s', initial = '1000 packets' } }";
    let flow = datagrams("x", "20 Mb/s", "");
    let [tail, front] = ["'drop_tail'", "'drop_front'"].map(|queue| sized(queue, buffer, "2500 ms", &flow));
    for run in [&tail, &front] {
        let buffer = of(run, "buffer_packets", 1.995);
        assert!(buffer[1] < 505.0 && of(run, "backlog_packets", 1.995)[0] > 990.0);
    }
    for name in ["dropped", "backlog_packets"] {
        let [tail, front] = [&tail, &front].map(|run| of(run, name, 0.0));
        let apart = tail.iter().zip(&front).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart <= 1.0, "{name}: {apart}");
    }
}

/// Sends one burst per second, shorter than a sizing interval. The sum of the differences `queue - target` does not
/// depend on the start of the intervals. The buffer changes by this sum.
#[test]
fn bursts_have_the_same_buffer_wherever_intervals_begin() {
    for queue in ["drop_tail", "drop_front"] {
        let buffers: Vec<f64> = [0.05, 0.35, 0.65, 0.95]
            .iter()
            .map(|begin| bursts(queue, *begin))
            .collect();
        for buffer in &buffers {
            assert_close(*buffer, buffers[0], 0.03);
        }
    }
}

fn bursts(queue: &str, begin: f64) -> f64 {
    let buffer = "{ abs_log = { utilisation = 0, loss = 0, delay = '20 ms', interval = '1 s', gain = 0.1 } }";
    let flows: String = (0..200)
        .map(|second| {
            let (start, stop) = (f64::from(second) + begin, f64::from(second) + begin + 0.06);
            let when = format!("start = '{start:.2} s'\nstop = '{stop:.2} s'");
            datagrams(&format!("at {second} s"), "100 Mb/s", &when)
        })
        .collect();
    let run = sized(&format!("'{queue}'"), buffer, "200 s", &flows);
    // A sample has the backlog at one time. The mean over samples estimates the mean over time.
    let wait = mean(&of(&run, "backlog_bytes", 100.0)) * 8.0 / 10e6;
    assert_close(wait, 0.02, 0.05);
    mean(&of(&run, "buffer_packets", 100.0))
}
