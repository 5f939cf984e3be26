//! Sender algorithm: one step of eq 61 per control interval of the bottleneck router.

use levelflow_units::{Bytes, Rate, Time};

use super::{Header, Params, Reference, Switch};
use crate::bytes::before;
use crate::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};

/// Bottleneck router of a flow, and the last feedback of this router.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Report {
    id: u32,
    seq: u32,
    /// `z(n)`: number of the first packet that carried this feedback; `None` if the number is unknown, because feedback
    /// of another router arrived in between.
    first: Option<u32>,
    price: f32,
    /// Time of the last ACK with feedback of this router.
    last: Time,
    /// True if feedback of another router has arrived since `last`.
    interrupted: bool,
}

/// Sender of EMKC.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
    /// Time of the last rate change, or of the start of the flow.
    changed: Time,
    /// Lowest packet number that an ACK may have; ACKs for earlier packets are ignored.
    pub(super) next: u32,
    report: Option<Report>,
    /// Time until which the rate stays constant.
    hold: Time,
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
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
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        if packet.number == 0 {
            self.changed = now;
        }
        Header::unset(match params.sender {
            Reference::Proper => packet.number,
            Reference::Naive => (self.rate.bps() as f32).min(f32::MAX).to_bits(),
        })
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let header = &feedback.header;
        if before(feedback.number, self.next) || header.id == 0 || header.delta <= 0.0 {
            return;
        }
        self.next = feedback.number.wrapping_add(1);
        match self.report {
            Some(report) if report.id == header.id || params.switch == Switch::None => {
                self.on_own(params, now, feedback, report);
            }
            Some(report) => self.on_other(params, now, feedback, report),
            None => self.on_first(params, now, feedback),
        }
    }

    fn bottleneck(&self) -> Bottleneck {
        self.report
            .map_or(Bottleneck::Unknown, |report| Bottleneck::Router(report.id))
    }
}

impl Sender {
    /// Processes the first feedback of a flow. Only a sender with [`Reference::Naive`] changes its rate. For other
    /// senders, the first packet of the reported interval is unknown.
    fn on_first(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        self.listen(now, feedback, Some(feedback.number));
        if params.sender == Reference::Naive {
            self.step(params, now, &feedback.header, echoed(&feedback.header));
        }
    }

    /// Processes feedback of the current bottleneck router. With [`Switch::None`], the function also processes feedback
    /// of other routers, and compares the interval counters of different routers. If the counter of the same router
    /// decreases, the router has restarted.
    fn on_own(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>, report: Report) {
        let Some(intervals) = feedback.header.seq.checked_sub(report.seq) else {
            if feedback.header.id == report.id {
                self.listen(now, feedback, Some(feedback.number));
            }
            return;
        };
        if intervals == 0 {
            self.report = Some(Report {
                last: now,
                interrupted: false,
                ..report
            });
            return;
        }
        let first = (!report.interrupted).then_some(feedback.number);
        self.listen(now, feedback, first);
        if now < self.hold {
            return;
        }
        let counted = if params.switch == Switch::None { 1 } else { intervals };
        let reference = match (params.sender, report.first, first) {
            (Reference::Naive, ..) => echoed(&feedback.header),
            (Reference::Proper, Some(since), Some(_)) => self.sent(feedback, since, counted),
            _ if self.steady(now, feedback) => self.rate.bps(),
            _ => return,
        };
        self.step(params, now, &feedback.header, reference);
    }

    /// Processes feedback of another router, which had the largest price of the path.
    fn on_other(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>, report: Report) {
        let silence = now.since(report.last).as_secs_f64();
        let patience = 3.0 * f64::from(feedback.header.delta) + feedback.rtt.as_secs_f64();
        let differs = (f64::from(feedback.header.price) - f64::from(report.price)).abs() > params.delta;
        if differs || silence > patience {
            self.listen(now, feedback, None);
            self.hold = self.changed.checked_add(feedback.rtt).unwrap_or(now);
        } else {
            self.report = Some(Report {
                interrupted: true,
                ..report
            });
        }
    }

    fn listen(&mut self, now: Time, feedback: &Feedback<Header>, first: Option<u32>) {
        let Header { id, seq, price, .. } = feedback.header;
        self.report = Some(Report {
            id,
            seq,
            first,
            price,
            last: now,
            interrupted: false,
        });
    }

    /// Returns the average rate of the packets from `since` to just before the acknowledged packet, bit/s. The router
    /// counted these packets in `intervals` intervals (eq 124).
    fn sent(&self, feedback: &Feedback<Header>, since: u32, intervals: u32) -> f64 {
        let packets = f64::from(feedback.number.wrapping_sub(since));
        packets * self.packet_size.as_bits_f64() / (f64::from(intervals) * f64::from(feedback.header.delta))
    }

    /// Returns true if the rate has been constant for one round-trip time and ten control intervals. All packets of the
    /// reported interval were then sent at this rate.
    fn steady(&self, now: Time, feedback: &Feedback<Header>) -> bool {
        let age = feedback.rtt.as_secs_f64() + 10.0 * f64::from(feedback.header.delta);
        now.since(self.changed).as_secs_f64() > age
    }

    /// Applies eq 61 and 125: `x = r + alpha - beta p r` with the reference rate `r`, bit/s.
    fn step(&mut self, params: &Params, now: Time, header: &Header, reference: f64) {
        if reference.is_finite() && header.price > f32::MIN {
            let rate = reference + params.alpha.bps() - params.beta * f64::from(header.price) * reference;
            self.rate = Rate::clamped(rate.max(params.min_rate.bps()));
            self.changed = now;
        }
    }
}

/// Returns the rate at which the acknowledged packet was sent, bit/s. Only headers of naive senders contain this rate.
fn echoed(header: &Header) -> f64 {
    f64::from(f32::from_bits(header.usr))
}
