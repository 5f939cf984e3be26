//! Sender algorithm: follows the lowest level of its path, and proposes an increase before it increases its rate.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, Params};
use crate::bytes::before;
use crate::law::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};
use crate::paced::Silence;

/// Longest time between two packets, in seconds. Without ACKs, a sender would
/// not receive levels.
const LONGEST_GAP: f64 = 1.0;

/// State of a request for an increase of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Request {
    None,
    /// The next packet carries the request.
    Due,
    /// The packet with this number carried the request.
    Sent(u32),
}

/// Sender of Level.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    largest: Bytes,
    /// Sending rate, bit/s.
    rate: f64,
    /// Rate that routers count, bit/s: at least `rate`, and the requested rate while a request is in flight.
    proposal: f64,
    request: Request,
    /// Number of requests so far, modulo 256.
    requests: u8,
    /// Hop and levels from the last ACK.
    limit: u8,
    lowest: f32,
    second: f32,
    /// Time of the last packet.
    sent: Option<Time>,
    /// Time between the last packet and the next packet at the rate of the last packet, in seconds.
    gap: f32,
    /// Lowest rate at which the next packet follows the last packet within [`LONGEST_GAP`], bit/s. It is high after a
    /// packet that is large for the rate: before a fall of the rate, or for a retransmission.
    least: f64,
    /// Number of the newest acknowledged packet.
    acked: Option<u32>,
    silence: Silence,
}

impl Sender {
    fn check_ack_timeout(&mut self, params: &Params, now: Time) {
        if !self.silence.expires(now) {
            return;
        }
        self.rate = self.rate.min((self.rate / 2.0).max(params.initial_rate));
        self.proposal = self.rate;
        self.request = Request::None;
        self.limit = 0;
        (self.lowest, self.second) = unknown(self.rate);
    }

    /// Returns true for the first packet of a flow, and after a pause. In a pause, routers give the capacity of the flow
    /// to other flows. So the flow resumes as a new flow.
    fn begins(&mut self, params: &Params, now: Time) -> bool {
        let Some(sent) = self.sent else { return true };
        let pause = now.since(sent);
        let begins = pause > params.interval && pause > after(params.interval, self.gap);
        if begins {
            self.rate = self.rate.min(params.initial_rate);
            self.proposal = self.rate;
            self.request = Request::None;
        }
        begins
    }

    /// Returns the inter-packet time of a packet of this size, in seconds. After an increase of the rate, it is the time
    /// since the last packet.
    fn gap(&self, size: Bytes, now: Time) -> f32 {
        let gap = narrow(size.as_bits_f64() / self.rate);
        match self.sent {
            Some(sent) if self.gap > gap => (now.since(sent).as_secs_f64() as f32).clamp(gap, self.gap),
            _ => gap,
        }
    }

    /// Ends a request for which routers have granted an increase, bit/s. The increase is 0 if the packet was lost.
    fn decide(&mut self, increase: f64) {
        self.rate = self.proposal.min(self.rate + increase);
        self.proposal = self.rate;
        self.request = Request::None;
    }
}

/// Returns the two lowest levels in the headers of a flow that has received no level: its rate. Other flows keep the
/// rest of the link until the first ACK arrives.
fn unknown(rate: f64) -> (f32, f32) {
    let rate = narrow(rate);
    (rate, rate)
}

/// Returns the sum of a time and a gap in seconds.
fn after(time: Duration, gap: f32) -> Duration {
    let sum = Duration::from_secs_f64(gap.into()).and_then(|gap| time.checked_add(gap));
    sum.unwrap_or(Duration::MAX)
}

fn narrow(rate: f64) -> f32 {
    rate.min(f32::MAX.into()) as f32
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        let (lowest, second) = unknown(params.initial_rate);
        Self {
            largest: flow.packet_size,
            rate: params.initial_rate,
            proposal: params.initial_rate,
            request: Request::None,
            requests: 0,
            limit: 0,
            lowest,
            second,
            sent: None,
            gap: 0.0,
            least: 0.0,
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
        let begins = self.begins(params, now);
        if !begins {
            self.check_ack_timeout(params, now);
        }
        let mut header = Header {
            flags: 0,
            hop: 0,
            limit: self.limit,
            new_limit: 0,
            lowest: self.lowest,
            second: self.second,
            new_lowest: f32::MAX,
            new_second: f32::MAX,
            proposal: narrow(self.proposal),
            gap: self.gap(packet.size, now),
            spare: f32::MAX,
            queued: [0; 3],
        };
        if begins {
            header.announce();
        }
        match self.request {
            Request::Due => {
                self.requests = self.requests.wrapping_add(1);
                header.request(self.requests, narrow(self.proposal - self.rate));
                self.request = Request::Sent(packet.number);
            }
            Request::Sent(_) => header.await_decision(self.requests),
            Request::None => {}
        }
        self.sent = Some(now);
        self.gap = narrow(packet.size.as_bits_f64() / self.rate);
        self.least = packet.size.as_bits_f64() / LONGEST_GAP;
        header
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let Feedback {
            number,
            rtt,
            ref header,
            ..
        } = *feedback;
        self.silence.end(now, after(rtt, self.gap));
        if self.acked.is_some_and(|newest| before(number, newest)) || header.new_limit == 0 {
            return;
        }
        self.acked = Some(number);
        (self.limit, self.lowest, self.second) = (header.new_limit, header.new_lowest, header.new_second);
        if let Request::Sent(asked) = self.request
            && !before(number, asked)
        {
            // Without a decision, the packet with the request was lost.
            self.decide(if header.is_request() { header.spare.into() } else { 0.0 });
        }
        let wanted = f64::from(self.lowest).max(params.min_rate).max(self.least);
        if wanted < self.proposal {
            self.proposal = wanted;
            self.rate = self.rate.min(wanted);
        }
        if self.request == Request::None && !header.is_request() {
            let increase = (wanted - self.rate).min(header.spare.into());
            if increase > 0.0 {
                self.proposal = self.rate + increase;
                self.request = Request::Due;
            }
        }
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
