//! Sender algorithm: the smaller of two windows limits the packets in flight.

use levelflow_units::{Bytes, Rate, Time};

use super::{Header, Params};
use crate::cubic::CubicState;
use crate::tcp::TcpSender;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, Restart, SenderLaw};

/// Limit on each window, as a multiple of the packets in flight (section 5.1.1).
const MOST_OF_FLIGHT: f64 = 2.0;

/// Sender of ABC.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    /// Window `w_abc`, packets. It reacts to ABC routers.
    pub(super) window: f64,
    /// Window `w_cubic`. It reacts to the losses and marks that bottlenecks without ABC cause.
    pub(super) cubic: TcpSender<CubicState>,
}

impl Sender {
    /// Updates the window (section 3.1.1, with the additive increase of section 3.1.3). An accelerating ACK increases
    /// the window by one packet, and a braking ACK decreases it by one. The additive increase is one packet per window
    /// of ACKs.
    fn follow(&mut self, params: &Params, acked: f64, brakes: bool) {
        let additive = acked / self.window;
        if !brakes {
            self.window += acked;
        } else if self.window > params.min_window {
            self.window = (self.window - acked).max(params.min_window);
        }
        self.window += additive;
    }

    fn smaller(&self) -> f64 {
        self.window.min(self.cubic.size())
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            window: params.initial_window,
            cubic: TcpSender::new(&params.cubic, flow),
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.cubic.rate_of(self.smaller())
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.smaller() as u32).max(1)
    }

    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        self.cubic.packet_size(&params.cubic)
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.cubic.on_send(&params.cubic, now, packet);
        Header::UNSET
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let plain = feedback.map_header(|_| NoHeader);
        self.cubic.on_feedback(&params.cubic, now, &plain);
        if feedback.kind != Kind::Data || feedback.acked == 0 {
            return;
        }
        self.follow(params, feedback.acked.into(), feedback.header.brakes());
        let flight = f64::from(feedback.outstanding) + f64::from(feedback.acked);
        let most = (MOST_OF_FLIGHT * flight).max(params.initial_window);
        self.window = self.window.min(most);
        self.cubic.limit(most);
    }

    fn on_restart(&mut self, params: &Params, now: Time, restart: &Restart) {
        self.cubic.on_restart(&params.cubic, now, restart);
    }

    fn on_loss(&mut self, params: &Params, now: Time, loss: &Loss) {
        self.cubic.on_loss(&params.cubic, now, loss);
    }

    fn on_timeout(&mut self, params: &Params, now: Time, next: u32) {
        self.cubic.on_timeout(&params.cubic, now, next);
    }
}
