//! Sender half: one step of eq 61 per interval of the bottleneck router.

use levelflow_units::{Bytes, Rate, Time};

use super::{EmkcHeader, EmkcParams, Reference, Switch};
use crate::bytes::before;
use crate::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};

/// The router a sender listens to, and its newest feedback.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Heard {
    id: u32,
    seq: u32,
    /// `z(n)`: number of the first packet that carried this feedback; `None` if another router's hid it.
    first: Option<u32>,
    price: f32,
    /// When an ACK last carried this router's feedback, new or not.
    last: Time,
    /// Whether another router's feedback has come since.
    interrupted: bool,
}

/// One flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmkcSender {
    packet_size: Bytes,
    rate: Rate,
    /// When the rate last changed, or the flow started.
    changed: Time,
    /// ACKs for packets before this number are out of date.
    pub(super) next: u32,
    heard: Option<Heard>,
    /// The rate stays as it is until then.
    hold: Time,
}

impl SenderLaw for EmkcSender {
    type Params = EmkcParams;
    type Header = EmkcHeader;

    fn new(params: &EmkcParams, flow: &FlowInfo) -> Self {
        let (packet_size, rate) = (flow.packet_size, params.initial_rate);
        Self {
            packet_size,
            rate,
            ..Self::default()
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn packet_size(&self, _params: &EmkcParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, params: &EmkcParams, now: Time, packet: &Outgoing) -> EmkcHeader {
        if packet.number == 0 {
            self.changed = now;
        }
        EmkcHeader::unset(match params.sender {
            Reference::Proper => packet.number,
            Reference::Naive => (self.rate.bps() as f32).min(f32::MAX).to_bits(),
        })
    }

    #[inline]
    fn on_feedback(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>) {
        let header = &feedback.header;
        if before(feedback.number, self.next) || header.id == 0 || header.delta <= 0.0 {
            return;
        }
        self.next = feedback.number.wrapping_add(1);
        match self.heard {
            Some(heard) if heard.id == header.id || params.switch == Switch::None => {
                self.on_own(params, now, feedback, heard);
            }
            Some(heard) => self.on_other(params, now, feedback, heard),
            None => self.on_first(params, now, feedback),
        }
    }

    fn bottleneck(&self) -> Bottleneck {
        self.heard
            .map_or(Bottleneck::Unknown, |heard| Bottleneck::Router(heard.id))
    }
}

impl EmkcSender {
    /// The first feedback of a flow: nothing was sent in a known interval yet, so only the naive sender reacts.
    fn on_first(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>) {
        self.listen(now, feedback, Some(feedback.number));
        if params.sender == Reference::Naive {
            self.step(params, now, &feedback.header, echoed(&feedback.header));
        }
    }

    /// Feedback of the current bottleneck; without switch handling, of any router, whose counters are then compared
    /// as if they were one. A counter that runs backwards has been restarted.
    fn on_own(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>, heard: Heard) {
        let Some(intervals) = feedback.header.seq.checked_sub(heard.seq) else {
            if feedback.header.id == heard.id {
                self.listen(now, feedback, Some(feedback.number));
            }
            return;
        };
        if intervals == 0 {
            self.heard = Some(Heard {
                last: now,
                interrupted: false,
                ..heard
            });
            return;
        }
        let first = (!heard.interrupted).then_some(feedback.number);
        self.listen(now, feedback, first);
        if now < self.hold {
            return;
        }
        let counted = if params.switch == Switch::None { 1 } else { intervals };
        let reference = match (params.sender, heard.first, first) {
            (Reference::Naive, ..) => echoed(&feedback.header),
            (Reference::Proper, Some(since), Some(_)) => self.sent(feedback, since, counted),
            _ if self.steady(now, feedback) => self.rate.bps(),
            _ => return,
        };
        self.step(params, now, &feedback.header, reference);
    }

    /// Feedback of another router, which then had the largest price of the path.
    fn on_other(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>, heard: Heard) {
        let silence = now.since(heard.last).as_secs_f64();
        let patience = 3.0 * f64::from(feedback.header.delta) + feedback.rtt.as_secs_f64();
        let differs = (f64::from(feedback.header.price) - f64::from(heard.price)).abs() > params.delta;
        if differs || silence > patience {
            self.listen(now, feedback, None);
            self.hold = self.changed.checked_add(feedback.rtt).unwrap_or(now);
        } else {
            self.heard = Some(Heard {
                interrupted: true,
                ..heard
            });
        }
    }

    fn listen(&mut self, now: Time, feedback: &Feedback<EmkcHeader>, first: Option<u32>) {
        let EmkcHeader { id, seq, price, .. } = feedback.header;
        self.heard = Some(Heard {
            id,
            seq,
            first,
            price,
            last: now,
            interrupted: false,
        });
    }

    /// Eq 124: average rate, bit/s, of the packets `since .. number`, which the router counted in that many intervals.
    fn sent(&self, feedback: &Feedback<EmkcHeader>, since: u32, intervals: u32) -> f64 {
        let packets = f64::from(feedback.number.wrapping_sub(since));
        packets * self.packet_size.as_bits_f64() / (f64::from(intervals) * f64::from(feedback.header.delta))
    }

    /// Whether the rate has stood still for so long that all packets of the reported interval left at it, and that a
    /// count was to be expected by now: one round-trip time and ten intervals.
    fn steady(&self, now: Time, feedback: &Feedback<EmkcHeader>) -> bool {
        let age = feedback.rtt.as_secs_f64() + 10.0 * f64::from(feedback.header.delta);
        now.since(self.changed).as_secs_f64() > age
    }

    /// Eq 61 and 125: `x = r + alpha - beta p r` with the reference rate `r`, bit/s.
    fn step(&mut self, params: &EmkcParams, now: Time, header: &EmkcHeader, reference: f64) {
        if reference.is_finite() && header.price > f32::MIN {
            let rate = reference + params.alpha.bps() - params.beta * f64::from(header.price) * reference;
            self.rate = Rate::clamped(rate.max(params.min_rate.bps()));
            self.changed = now;
        }
    }
}

/// Rate, bit/s, at which the naive sender sent the packet that is acknowledged.
fn echoed(header: &EmkcHeader) -> f64 {
    f64::from(f32::from_bits(header.usr))
}
