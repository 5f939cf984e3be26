//! Lengths of control intervals.

use super::*;

#[test]
fn slow_links_and_many_flows_have_long_intervals() {
    let params = params().routers;
    let cases = [
        (10e6, 0.0, 0.1),
        (1.2e6, 80.0, 0.1),
        (0.1e6, 0.0, 1.2),
        (5e6, 1000.0, 0.3),
        (1.0, 0.0, 2.0),
        (0.0, 0.0, 0.1),
        (1e9, 1e9, 2.0),
    ];
    for (capacity, flows, secs) in cases {
        close(params.control_interval(capacity, flows).as_secs_f64(), secs, 1e-9);
    }
    let slow = both::<Level>(&[("interval", 5.0)]).routers;
    close(slow.control_interval(0.1e6, 0.0).as_secs_f64(), 5.0, 1e-9);
}

/// Verifies that a header carries the longest of three intervals. So the sender waits until these intervals are closed.
#[test]
fn headers_carry_a_long_interval_until_two_further_intervals_have_ended() {
    let params = params();
    let mut router = Router::new(&params.routers, &port(1, 5e6));
    let crowd: Vec<_> = (0..1000).map(|i| (0.0001 * f64::from(i), 0.1, unsent())).collect();
    pass(&mut router, &params, &crowd, 2);
    close(router.interval(&params.routers).as_secs_f64(), 0.3, 1e-3);
    let mut announced = Vec::new();
    for _ in 0..5 {
        router.on_interval(&params.routers, params.interval, &PortView::IDLE);
        let mut header = unsent();
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
        announced.push(header.interval() >= router.interval(&params.routers).as_secs_f64() && header.interval() > 0.3);
    }
    assert_eq!(announced, [true, true, false, false, false]);
}

/// Verifies that an interval without packets does not change the rates of the interval before it, whatever its length.
#[test]
fn sums_are_divided_by_the_length_of_their_own_interval() {
    let params = params();
    let levels = [0.1, 2.0].map(|empty| {
        let mut router = Router::new(&params.routers, &port(1, 1e6));
        for k in 0..20 {
            let packet = Arriving {
                now: at(0.1 * f64::from(k)),
                ..Arriving::alone(DATA)
            };
            let mut header = Header { gap: 0.1, ..unsent() };
            router.on_arrival(&params.routers, &packet, Some(&mut header));
        }
        for secs in [2.0, empty] {
            router.on_interval(&params.routers, Duration::from_secs_f64(secs).unwrap(), &PortView::IDLE);
        }
        router.signal()
    });
    close(levels[0], levels[1], 1e-12);
}
