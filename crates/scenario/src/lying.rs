//! Protocol of a network in which some hosts lie. A lying host runs the law of its flow and falsifies headers. Honest
//! networks run on the engines of [`Any`] or of their law, so lies do not slow them down.

use levelflow_laws::{
    Any, AnyHeader, AnyParams, AnySender, AnySignalling, Bottleneck, Feedback, Flight, FlowInfo, Loss, Outgoing,
    Protocol, Restart, SenderLaw, Transport,
};
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::lie::{LieSpec, forged};
use crate::network::Network;

/// Protocol of all laws, with lying hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lying;

/// Parameters of the senders of a flow, and the lies of its hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct LyingParams {
    law: AnyParams,
    lie: Option<LieSpec>,
}

impl LyingParams {
    /// Returns the parameters of the law.
    #[must_use]
    pub fn law(&self) -> &AnyParams {
        &self.law
    }
}

/// Sender with its lies. It applies the lies of its receiver to the ACKs that arrive.
#[derive(Debug, Clone, PartialEq)]
pub struct LyingSender {
    law: AnySender,
    /// Upper bound of the sending rate of a lying host.
    max_rate: Option<Rate>,
}

impl LyingSender {
    fn limited(&self, rate: Rate) -> Rate {
        self.max_rate.map_or(rate, |most| if rate < most { rate } else { most })
    }
}

impl Protocol for Lying {
    type Signalling = AnySignalling;
    type Params = LyingParams;
    type Sender = LyingSender;

    fn transport(params: &LyingParams) -> Transport {
        Any::transport(&params.law)
    }
}

impl SenderLaw for LyingSender {
    type Params = LyingParams;
    type Header = AnyHeader;

    fn new(params: &LyingParams, flow: &FlowInfo) -> Self {
        Self {
            law: AnySender::new(&params.law, flow),
            max_rate: params.lie.as_ref().map(|lie| lie.max_rate),
        }
    }

    fn rate(&self) -> Rate {
        self.limited(self.law.rate())
    }

    /// Returns true for every lying host. If lies enlarge the window without bound, packets are sent at the rate of the
    /// first link.
    fn paces(&self) -> bool {
        self.max_rate.is_some() || self.law.paces()
    }

    fn pace(&self) -> Rate {
        match self.max_rate {
            Some(most) if !self.law.paces() => most,
            _ => self.limited(self.law.pace()),
        }
    }

    fn opens_at(&self) -> Time {
        self.law.opens_at()
    }

    fn timeout(&self) -> Option<Duration> {
        self.law.timeout()
    }

    fn window(&self) -> u32 {
        self.law.window()
    }

    fn packet_size(&self, params: &LyingParams) -> Bytes {
        self.law.packet_size(&params.law)
    }

    fn on_send(&mut self, params: &LyingParams, now: Time, packet: &Outgoing) -> AnyHeader {
        let honest = self.law.on_send(&params.law, now, packet);
        params.lie.as_ref().map_or(honest, |lie| forged(honest, &lie.sender))
    }

    fn on_feedback(&mut self, params: &LyingParams, now: Time, feedback: &Feedback<AnyHeader>) {
        let Some(lie) = &params.lie else {
            return self.law.on_feedback(&params.law, now, feedback);
        };
        let mut false_feedback = feedback.map_header(|honest| forged(honest, &lie.receiver));
        false_feedback.marked &= !lie.unmarked;
        self.law.on_feedback(&params.law, now, &false_feedback);
    }

    fn on_flight(&mut self, params: &LyingParams, now: Time, flight: &Flight) {
        self.law.on_flight(&params.law, now, flight);
    }

    fn on_restart(&mut self, params: &LyingParams, now: Time, restart: &Restart) {
        self.law.on_restart(&params.law, now, restart);
    }

    fn on_loss(&mut self, params: &LyingParams, now: Time, loss: &Loss) {
        self.law.on_loss(&params.law, now, loss);
    }

    fn on_timeout(&mut self, params: &LyingParams, now: Time, next: u32) {
        self.law.on_timeout(&params.law, now, next);
    }

    fn proposal(&self) -> Rate {
        self.law.proposal()
    }

    fn bottleneck(&self) -> Bottleneck {
        self.law.bottleneck()
    }
}

impl Network<Any> {
    /// Returns true if a host of the network lies.
    #[must_use]
    pub fn has_liars(&self) -> bool {
        self.flows.iter().any(|flow| flow.lie.is_some())
    }

    /// Converts the network to the protocol with lying hosts.
    #[must_use]
    pub fn with_liars(self) -> Network<Lying> {
        self.map(Clone::clone, |params, lie| LyingParams {
            law: params.clone(),
            lie: lie.cloned(),
        })
    }
}
