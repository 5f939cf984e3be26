//! Sender half: one step of eq 61 per interval of the bottleneck router.

use levelflow_units::{Bytes, Rate, Time};

use super::{EmkcHeader, EmkcParams, Reference, Switch};
use crate::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};

/// The router a sender listens to, and its newest feedback.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Heard {
    id: u32,
    seq: u32,
    /// `z(n)`: number of the first packet that carried this feedback.
    first: u32,
    price: f32,
    /// When an answer last carried this router's feedback, new or not.
    last: Time,
}

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct EmkcSender {
    packet_size: Bytes,
    rate: Rate,
    /// Answers to packets before this number are out of date.
    next: u32,
    heard: Option<Heard>,
    /// Rate changes wait until then.
    hold: Time,
}

impl SenderLaw for EmkcSender {
    type Params = EmkcParams;
    type Header = EmkcHeader;

    fn new(params: &EmkcParams, flow: &FlowInfo) -> Self {
        let (packet_size, rate) = (flow.packet_size, params.initial_rate);
        Self { packet_size, rate, next: 0, heard: None, hold: Time::ZERO }
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
    fn on_send(&mut self, params: &EmkcParams, _now: Time, packet: &Outgoing) -> EmkcHeader {
        EmkcHeader::unset(match params.reference {
            Reference::Proper => packet.number,
            Reference::Naive => (self.rate.bps() as f32).min(f32::MAX).to_bits(),
        })
    }

    #[inline]
    fn on_feedback(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>) {
        let header = &feedback.header;
        if feedback.number < self.next || header.id == 0 || header.delta <= 0.0 {
            return;
        }
        self.next = feedback.number.saturating_add(1);
        match self.heard {
            Some(heard) if heard.id == header.id => self.on_own(params, now, feedback, heard),
            Some(heard) => self.on_other(params, now, feedback, heard),
            None => self.on_first(params, now, feedback),
        }
    }

    fn bottleneck(&self) -> Bottleneck {
        self.heard.map_or(Bottleneck::Unknown, |heard| Bottleneck::Router(heard.id))
    }
}

impl EmkcSender {
    /// The first feedback of a flow: nothing was sent in a known interval yet, so only the naive sender reacts.
    fn on_first(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>) {
        self.listen(now, feedback);
        if params.reference == Reference::Naive {
            self.react(params, feedback, feedback.number, 1);
        }
    }

    /// Feedback of the current bottleneck.
    fn on_own(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>, heard: Heard) {
        match feedback.header.seq.checked_sub(heard.seq) {
            Some(0) => self.heard = Some(Heard { last: now, ..heard }),
            Some(intervals) => {
                self.listen(now, feedback);
                if now >= self.hold {
                    self.react(params, feedback, heard.first, intervals);
                }
            }
            None => self.listen(now, feedback),
        }
    }

    /// Feedback of another router, which then had the largest price of the path.
    fn on_other(&mut self, params: &EmkcParams, now: Time, feedback: &Feedback<EmkcHeader>, heard: Heard) {
        if params.switch == Switch::None {
            self.listen(now, feedback);
            self.react(params, feedback, heard.first, 1);
            return;
        }
        let silence = now.since(heard.last).as_secs_f64();
        let patience = 3.0 * f64::from(feedback.header.delta) + feedback.rtt.as_secs_f64();
        let differs = (f64::from(feedback.header.price) - f64::from(heard.price)).abs() > params.delta;
        if now >= self.hold && (differs || silence > patience) {
            self.listen(now, feedback);
            self.hold = now.checked_add(feedback.rtt).unwrap_or(now);
        }
    }

    fn listen(&mut self, now: Time, feedback: &Feedback<EmkcHeader>) {
        let EmkcHeader { id, seq, price, .. } = feedback.header;
        self.heard = Some(Heard { id, seq, first: feedback.number, price, last: now });
    }

    /// `x = r + alpha - beta p r` (eq 61, 125) with the reference rate `r`: proper, the average of the packets
    /// `since .. number` over the intervals that counted them (eq 124); naive, the echoed rate.
    fn react(&mut self, params: &EmkcParams, feedback: &Feedback<EmkcHeader>, since: u32, intervals: u32) {
        let header = &feedback.header;
        let reference = match params.reference {
            Reference::Proper => {
                let packets = f64::from(feedback.number - since);
                packets * self.packet_size.as_bits_f64() / (f64::from(intervals) * f64::from(header.delta))
            }
            Reference::Naive => f64::from(f32::from_bits(header.usr)),
        };
        if reference.is_finite() && header.price > f32::MIN {
            let rate = reference + params.alpha.bps() - params.beta * f64::from(header.price) * reference;
            self.rate = Rate::clamped(rate.max(params.min_rate.bps()));
        }
    }
}
