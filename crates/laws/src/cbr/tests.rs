use levelflow_units::{Bytes, Duration, Time};

use super::Cbr;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Parameters, Protocol, SenderLaw};

#[test]
fn no_event_changes_the_rate() {
    let params = super::Params::read(&[3e6, 0.0]).unwrap();
    let packet_size = Bytes::new(1500);
    let mut sender = <Cbr as Protocol>::Sender::new(&params, &FlowInfo::of(packet_size));
    let marked = Feedback {
        marked: true,
        ..Feedback::plain(0, Kind::Data, Duration::from_secs(3), NoHeader)
    };
    let loss = Loss {
        number: 1,
        next: 9,
        outstanding: 7,
    };
    sender.on_feedback(&params, Time::ZERO, &marked);
    sender.on_loss(&params, Time::ZERO, &loss);
    sender.on_timeout(&params, Time::ZERO, 9);
    let gap = sender.rate().time_to_send(sender.packet_size(&params)).unwrap();
    assert_eq!(gap, Duration::from_ms(4), "12000 bits at 3 Mb/s, for any feedback");
    assert!(sender.paces() && sender.window() == u32::MAX);
}
