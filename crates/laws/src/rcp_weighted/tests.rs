use levelflow_units::{Bytes, Duration, Time};

use super::{RcpWeighted, Sender};
use crate::rcp::Header;
use crate::testing::{Network, both, close, ms};
use crate::{Feedback, FlowInfo, Kind, SenderLaw};

const PACKET: Bytes = Bytes::new(1000);

fn rate_at(weight: f64, offered: f32) -> f64 {
    let params = both::<RcpWeighted>(&[("weight", weight)]).sender;
    let mut sender = Sender::new(&params, &FlowInfo::of(PACKET));
    let header = Header {
        rate: offered,
        rtt: 0.0,
    };
    sender.on_feedback(
        &params,
        Time::ZERO,
        &Feedback::plain(0, Kind::Syn, Duration::from_ms(80), header),
    );
    sender.rate().bps()
}

#[test]
fn the_rate_is_the_offer_times_the_weight() {
    close(rate_at(1.0, 2e6), 2e6, 1e-7);
    close(rate_at(3.0, 2e6), 6e6, 1e-7);
}

/// Verifies that the load is independent of the weights. The router computes its offer from the load, and `N` flows of
/// weight `w` have the load of `N w` flows.
#[test]
fn flows_fill_the_link_at_any_weight() {
    for weight in [1.0, 2.0, 4.0] {
        let params = both::<RcpWeighted>(&[("weight", weight)]);
        let mut net = Network::<RcpWeighted>::new(params, &[10e6]);
        for i in 0..4 {
            net.flow(PACKET, &[0], Duration::from_ms(100), ms(50 * i));
        }
        net.run(ms(30_000));
        for flow in &net.flows {
            close(flow.rate(), 2.5e6, 0.02);
        }
    }
}
