//! Test with a fluid model of flows over one link. Prices reach senders after a round-trip time.

use super::*;

/// Runs a flow for each round-trip time in `taus`, for `time` seconds, in steps of 1 ms. Each flow sends at its target
/// rate. Returns the rates of the flows, and the queue in bytes.
fn settle(params: &Both<MaxNet>, taus: &[f64], time: f64) -> (Vec<f64>, f64) {
    let mut router = router(params, C);
    let mut senders: Vec<_> = taus.iter().map(|_| sender(params)).collect();
    let mut prices: Vec<u32> = Vec::new();
    let mut queue = 0.0_f64;
    for ms in 0..(time * 1000.0) as usize {
        let mut header = Header { echo: 0, price: 0 };
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::ZERO), Some(&mut header));
        prices.push(header.price);
        let mut load = 0.0;
        for (sender, tau) in senders.iter_mut().zip(taus) {
            let delay = (tau * 1000.0) as usize;
            if ms >= delay {
                let echo = ack(Kind::Data, prices[ms - delay], seconds(*tau));
                sender.on_feedback(params, at(ms as f64 / 1000.0), &echo);
                load += sender.proposal().bps();
            }
        }
        let bytes = load * 0.001 / 8.0;
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(bytes as u64)), None);
        queue = (queue + bytes - C * 0.001 / 8.0).max(0.0);
        let view = PortView {
            queue: Bytes::new(queue as u64),
            ..PortView::IDLE
        };
        router.on_interval(&params.routers, seconds(0.001), &view);
    }
    (senders.iter().map(|s| s.proposal().bps()).collect(), queue)
}

#[test]
fn flows_share_the_target_load_whatever_their_round_trip_times() {
    for mu in [0.9, 0.94] {
        let params = params(&[("mu", mu)]);
        for taus in [&[0.029][..], &[0.029, 0.179], &[0.01, 0.05, 0.1, 0.2, 0.3]] {
            let (rates, queue) = settle(&params, taus, 60.0);
            let share = mu * C / taus.len() as f64;
            for rate in rates {
                close(rate / share, 1.0, 0.001);
            }
            assert_eq!(queue, 0.0);
        }
    }
}
