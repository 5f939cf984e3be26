//! Law of a sender, with or without a log of its inputs.

use std::ops::Deref;

use levelflow_laws::{
    Any, AnyHeader, AnyParams, Feedback, Flight, HeaderOf, Loss, Outgoing, Protocol, Restart, SenderLaw,
};
use levelflow_units::Time;
use levelflow_wire::journal::{LoggedSender, Sink};

/// Law that controls a sender, with or without a log of its inputs.
pub trait Controller<P: Protocol>: Deref<Target = P::Sender> {
    /// Calls [`SenderLaw::on_send`].
    fn on_send(&mut self, params: &P::Params, now: Time, packet: &Outgoing) -> HeaderOf<P>;
    /// Calls [`SenderLaw::on_feedback`].
    fn on_feedback(&mut self, params: &P::Params, now: Time, feedback: &Feedback<HeaderOf<P>>);
    /// Calls [`SenderLaw::on_flight`].
    fn on_flight(&mut self, params: &P::Params, now: Time, flight: &Flight);
    /// Calls [`SenderLaw::on_restart`].
    fn on_restart(&mut self, params: &P::Params, now: Time, restart: &Restart);
    /// Calls [`SenderLaw::on_loss`].
    fn on_loss(&mut self, params: &P::Params, now: Time, loss: &Loss);
    /// Calls [`SenderLaw::on_timeout`].
    fn on_timeout(&mut self, params: &P::Params, now: Time, next: u32);
}

/// Law whose inputs are not logged.
#[derive(Debug, Clone)]
pub struct Bare<S>(pub S);

impl<S> Deref for Bare<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<P: Protocol> Controller<P> for Bare<P::Sender> {
    #[inline]
    fn on_send(&mut self, params: &P::Params, now: Time, packet: &Outgoing) -> HeaderOf<P> {
        self.0.on_send(params, now, packet)
    }

    #[inline(always)]
    fn on_feedback(&mut self, params: &P::Params, now: Time, feedback: &Feedback<HeaderOf<P>>) {
        self.0.on_feedback(params, now, feedback);
    }

    #[inline]
    fn on_flight(&mut self, params: &P::Params, now: Time, flight: &Flight) {
        self.0.on_flight(params, now, flight);
    }

    #[inline]
    fn on_restart(&mut self, params: &P::Params, now: Time, restart: &Restart) {
        self.0.on_restart(params, now, restart);
    }

    #[inline]
    fn on_loss(&mut self, params: &P::Params, now: Time, loss: &Loss) {
        self.0.on_loss(params, now, loss);
    }

    #[inline]
    fn on_timeout(&mut self, params: &P::Params, now: Time, next: u32) {
        self.0.on_timeout(params, now, next);
    }
}

impl<S: Sink> Controller<Any> for LoggedSender<S> {
    fn on_send(&mut self, params: &AnyParams, now: Time, packet: &Outgoing) -> AnyHeader {
        self.on_send(params, now, packet)
    }

    fn on_feedback(&mut self, params: &AnyParams, now: Time, feedback: &Feedback<AnyHeader>) {
        self.on_feedback(params, now, feedback);
    }

    fn on_flight(&mut self, params: &AnyParams, now: Time, flight: &Flight) {
        self.on_flight(params, now, flight);
    }

    fn on_restart(&mut self, params: &AnyParams, now: Time, restart: &Restart) {
        self.on_restart(params, now, restart);
    }

    fn on_loss(&mut self, params: &AnyParams, now: Time, loss: &Loss) {
        self.on_loss(params, now, loss);
    }

    fn on_timeout(&mut self, params: &AnyParams, now: Time, next: u32) {
        self.on_timeout(params, now, next);
    }
}
