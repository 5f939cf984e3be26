//! Sender algorithm: follows the lowest level of its path, and proposes an increase before it increases its rate.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, Params};
use crate::bytes::before;
use crate::law::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};
use crate::paced::Silence;

/// Time until all routers have decided on a proposal, in control intervals. Each router has then completed an interval
/// with only packets that carried the proposal. The fraction allows for late timers of routers.
const CONFIRMATION_INTERVALS: f64 = 3.1;

/// Sender of Level.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    largest: Bytes,
    /// Sending rate, bit/s.
    rate: f64,
    /// Requested rate, bit/s; at least `rate`.
    proposal: f64,
    /// Time at which the first packet with the current proposal was sent; `None` before that packet.
    since: Option<Time>,
    /// Hop and levels from the last ACK.
    limit: u8,
    lowest: f32,
    second: f32,
    /// Longest control interval of the routers on the path, in seconds.
    interval: f64,
    /// Number of the newest acknowledged packet.
    acked: Option<u32>,
    silence: Silence,
}

impl Sender {
    fn check_ack_timeout(&mut self, params: &Params, now: Time) {
        if !self.silence.expires(now) {
            return;
        }
        // Without feedback, the length of the control intervals is unknown.
        self.interval = 0.0;
        self.rate = self
            .rate
            .min((self.rate / 2.0).max(params.initial_rate))
            .max(params.floor(0.0));
        self.proposal = self.rate;
        self.since = None;
        (self.limit, self.lowest, self.second) = (0, f32::MAX, f32::MAX);
    }

    /// Returns true if all routers have decided on the proposal. Before the acknowledged packet passed a router, this
    /// router had completed an interval with only this proposal.
    fn is_decided(&self, params: &Params, now: Time) -> bool {
        let closed = Duration::from_secs_f64(CONFIRMATION_INTERVALS * params.interval.as_secs_f64().max(self.interval))
            .and_then(|wait| wait.checked_add(self.silence.rtt));
        let at = self
            .since
            .zip(closed)
            .and_then(|(since, closed)| since.checked_add(closed));
        at.is_some_and(|at| now >= at)
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
            since: None,
            limit: 0,
            lowest: f32::MAX,
            second: f32::MAX,
            interval: 0.0,
            acked: None,
            silence: Silence::default(),
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate)
    }

    /// Returns the packet size. At low rates, packets are smaller. Routers then receive enough packets per interval to
    /// count flows.
    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        params.sizing().size(self.largest, self.rate())
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.check_ack_timeout(params, now);
        self.since.get_or_insert(now);
        Header {
            flags: 0,
            hop: 0,
            limit: self.limit,
            new_limit: 0,
            lowest: self.lowest,
            second: self.second,
            new_lowest: f32::MAX,
            new_second: f32::MAX,
            proposal: self.proposal.min(f32::MAX.into()) as f32,
            gap: (packet.size.as_bits_f64() / self.rate).min(f32::MAX.into()) as f32,
            queued: [0; 3],
        }
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let Feedback {
            number,
            rtt,
            ref header,
            ..
        } = *feedback;
        // The next packet may be the retransmission of a packet of the largest size.
        let pause = Duration::from_secs_f64(self.largest.as_bits_f64() / self.rate).unwrap_or(Duration::MAX);
        self.silence.end(now.saturating_add(pause), rtt);
        if self.acked.is_some_and(|newest| before(number, newest)) || header.new_limit == 0 {
            return;
        }
        self.acked = Some(number);
        (self.limit, self.lowest, self.second) = (header.new_limit, header.new_lowest, header.new_second);
        self.interval = header.interval();
        let wanted = f64::from(self.lowest).max(params.floor(self.interval));
        let decided = self.is_decided(params, now);
        if decided && !header.is_refused() {
            self.rate = self.proposal;
        }
        if wanted < self.proposal {
            self.proposal = wanted;
        } else if wanted > self.proposal && (decided || self.proposal <= self.rate) {
            self.proposal = wanted;
            self.since = None;
        }
        self.rate = self.rate.min(self.proposal);
    }

    fn proposal(&self) -> Rate {
        Rate::clamped(self.proposal)
    }

    fn bottleneck(&self) -> Bottleneck {
        match self.limit {
            0 => Bottleneck::Unknown,
            hop => Bottleneck::Hop(hop),
        }
    }
}
