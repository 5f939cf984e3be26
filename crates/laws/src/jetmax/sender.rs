//! Sender algorithm: follows the fair share of its bottleneck, and proposes an increase before it increases its rate.

use levelflow_units::{Bytes, Rate, Time};

use super::{Header, Params, Settle};
use crate::bytes::before;
use crate::law::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};
use crate::paced::Silence;

/// Consecutive reports of another router after which a sender switches to that router. A report of the bottleneck
/// resets the count. The paper does not have this rule: there, a switch between links with price zero requires a
/// stationary rate. A sender far from its share would then wait for ever.
const REPORTS_TO_SWITCH: u8 = 8;

/// Returns the rate after one step towards the fair share: `(1 - tau) rate + tau share` (Zhang 2008, eq 134). Both
/// rates have the same unit.
#[inline]
#[must_use]
pub fn step(tau: f64, rate: f64, share: f64) -> f64 {
    (1.0 - tau) * rate + tau * share
}

/// Sender of JetMax.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sender {
    largest: Bytes,
    /// Rate `x`, bit/s.
    rate: f64,
    /// Proposed rate `x+`, bit/s; at least `rate`.
    proposal: f64,
    /// `R_T`: hop of the bottleneck; 0 for none.
    bottleneck: u8,
    /// Number of the next packet.
    next: u32,
    /// Number of the first packet that carries the last change of bottleneck or proposal.
    mark: u32,
    /// Number of the newest acknowledged packet.
    acked: Option<u32>,
    /// True if the next interval of the bottleneck contains packets from before and after the change.
    mixed: bool,
    /// Number of the last interval that the bottleneck reported, modulo 16.
    epoch: Option<u8>,
    suggestion: Option<Suggestion>,
    /// Last share that the bottleneck reported, bit/s.
    share: Option<f64>,
    silence: Silence,
}

/// Consecutive ACKs that suggest another bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Suggestion {
    hop: u8,
    epoch: u8,
    /// Number of intervals that router `hop` has reported so far.
    reports: u8,
}

impl Sender {
    /// Returns the proposal divided by the rate.
    #[inline]
    fn growth(&self) -> f64 {
        if self.proposal == self.rate {
            return 1.0; // the usual case, without a slow division
        }
        self.proposal / self.rate
    }

    /// Marks the next packet as the first packet that carries a change.
    fn changed(&mut self, params: &Params) {
        self.mark = self.next;
        self.mixed = params.ignore;
    }

    /// Processes an ACK that reports a router other than the bottleneck.
    fn on_suggestion(&mut self, params: &Params, header: &Header) {
        let (hop, epoch) = (header.suggested, header.epoch());
        let reports = match self.suggestion {
            Some(s) if s.hop != hop => 1,
            Some(s) if s.epoch == epoch => s.reports,
            Some(s) => s.reports.saturating_add(1),
            None => 1,
        };
        self.suggestion = Some(Suggestion { hop, epoch, reports });
        let (price, share) = (f64::from(header.price), f64::from(header.share));
        let overloaded = price > params.eps_p;
        let settled = |own: f64| (self.rate - own).abs() <= params.eps_s * own;
        let wins = reports >= REPORTS_TO_SWITCH
            || match self.share {
                _ if header.own_zero() && !overloaded && header.share >= f32::MAX => false,
                None => overloaded || !header.own_zero(),
                Some(own) if header.own_zero() && !overloaded => settled(own),
                Some(own) => share < own,
            };
        let confirmed = reports >= 2 || !params.confirm;
        if self.bottleneck == 0 || (confirmed && wins) {
            self.bottleneck = hop;
            self.epoch = Some(epoch);
            self.suggestion = None;
            self.share = None;
            self.changed(params);
        }
    }

    /// Processes a report of the bottleneck. All packets of the reported interval were sent after the last change.
    fn adjust(&mut self, params: &Params, header: &Header) {
        if header.share >= f32::MAX {
            return;
        }
        let share = f64::from(header.share);
        self.share = Some(share);
        let proposal = match params.settle {
            Settle::PerAdjustment => self.proposal,
            Settle::PerSwitch if header.gap > 0.0 => 8.0 * f64::from(header.virtual_size) / f64::from(header.gap),
            Settle::PerSwitch => return,
        };
        let approved = f64::from(header.price) <= params.eps_a;
        let rate = if approved { proposal } else { self.rate };
        let wanted = step(params.tau, rate, share).max(params.floor());
        self.proposal = wanted;
        self.rate = if wanted <= rate || !params.propose {
            wanted
        } else {
            rate.max(params.floor())
        };
        if params.settle == Settle::PerAdjustment {
            self.changed(params);
        }
    }

    /// Halves the rate and discards the bottleneck if the ACK timer has expired.
    fn check_ack_timeout(&mut self, params: &Params, now: Time) {
        if !self.silence.expires(now) {
            return;
        }
        self.rate = self.rate.min((self.rate / 2.0).max(params.initial_rate));
        self.proposal = self.rate;
        self.bottleneck = 0;
        self.suggestion = None;
        self.share = None;
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            largest: flow.packet_size,
            rate: params.initial_rate,
            proposal: params.initial_rate,
            ..Self::default()
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate)
    }

    /// Returns the packet size. At low rates, packets are smaller. Routers then receive enough packets per interval to
    /// measure load and flows.
    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        params.sizing().size(self.largest, self.rate())
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.check_ack_timeout(params, now);
        self.next = packet.number.wrapping_add(1);
        let bytes = packet.size.get() as f64;
        Header {
            source_port: 0,
            destination_port: 0,
            flags: 0,
            bottleneck: self.bottleneck,
            hop: 0,
            suggested: 0,
            seq: packet.number,
            price: -f32::MAX,
            share: f32::MAX,
            virtual_size: (bytes * self.growth()).min(f32::MAX.into()) as f32,
            gap: (bytes * 8.0 / self.rate).min(f32::MAX.into()) as f32,
        }
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let Feedback {
            number,
            rtt,
            ref header,
            ..
        } = *feedback;
        self.silence.end(now, rtt);
        if self.acked.is_some_and(|newest| before(number, newest)) || header.suggested == 0 {
            return;
        }
        self.acked = Some(number);
        let informed = !before(number, self.mark);
        if informed {
            self.mark = number;
        }
        if header.suggested != self.bottleneck {
            if informed || self.bottleneck == 0 {
                self.on_suggestion(params, header);
            }
            return;
        }
        self.suggestion = None;
        let new = self.epoch.replace(header.epoch()) != Some(header.epoch());
        if !informed || !new {
            return;
        }
        if self.mixed {
            self.mixed = false;
        } else {
            self.adjust(params, header);
        }
    }

    fn proposal(&self) -> Rate {
        Rate::clamped(self.proposal)
    }

    fn bottleneck(&self) -> Bottleneck {
        match self.bottleneck {
            0 => Bottleneck::Unknown,
            hop => Bottleneck::Hop(hop),
        }
    }
}
