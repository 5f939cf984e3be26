use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{Bbr3, Params, Sender, State};
use crate::Law;
use crate::testing::{at, close};
use crate::{Delivery, Feedback, Flight, FlowInfo, Kind, NoHeader, Parameters, SenderLaw};

fn defaults() -> Params {
    let values: Vec<f64> = Bbr3::INFO.params.iter().map(|row| row.default).collect();
    Params::read(&values).unwrap()
}

fn sender(params: &Params) -> Sender {
    let packet_size = Bytes::new(1000);
    Sender::new(params, &FlowInfo::of(packet_size))
}

fn ack(sender: &mut Sender, now: Time, number: u32, delivery: Delivery, app_limited: bool) {
    let plain = Feedback::plain(number, Kind::Data, Duration::from_ms(40), NoHeader);
    let flight = Flight {
        number,
        outstanding: 50,
        lost: 0,
        app_limited,
    };
    let params = defaults();
    sender.on_flight(&params, now, &flight);
    let feedback = Feedback {
        delivery: Some(Delivery {
            app_limited,
            ..delivery
        }),
        outstanding: 50,
        ..plain
    };
    sender.on_feedback(&params, now, &feedback);
}

/// Verifies the case "Handling Application-Limited Sending During PROBE_REFILL" of the draft.
#[test]
fn an_application_that_pauses_in_refill_does_not_lower_the_bandwidth() {
    let (params, rtt) = (defaults(), Duration::from_ms(40));
    let mut sender = sender(&params);
    let delivery = |total, prior| Delivery {
        total,
        prior,
        interval: rtt,
        app_limited: false,
    };
    ack(&mut sender, at(1.0), 50, delivery(50, 0), false);
    close(sender.model().max_bandwidth, 1250.0, 1e-9);
    sender.pipe.reached = true;
    sender.start_refill();
    ack(&mut sender, at(1.01), 51, delivery(55, 49), true);
    assert_eq!(sender.state(), State::Refill, "the round trip is not over");
    ack(&mut sender, at(1.05), 56, delivery(60, 55), true);
    assert_eq!(sender.state(), State::Up);
    close(sender.model().max_bandwidth, 1250.0, 1e-9);
}
