//! What losses do: bounds on bandwidth and on what is on its way, for a cycle (short-term) and beyond (long-term).

use levelflow_units::Time;

use super::cycle::{State, Undo};
use super::model::Sample;
use super::{Bbr3Params, Bbr3Sender};
use crate::{Flight, Loss};

/// Losses in a round trip that are not next to each other, and end Startup (`BBRStartupFullLossCnt`).
const STARTUP_RANGES: u32 = 6;

impl Bbr3Sender {
    /// `HandleLostPacket`.
    pub(super) fn lose(&mut self, params: &Bbr3Params, now: Time, loss: &Loss, flight: Flight) {
        let next_to = self.losses.latest_lost.map(|number| number.wrapping_add(1));
        if next_to != Some(loss.number) {
            self.losses.ranges += 1;
        }
        self.losses.latest_lost = Some(loss.number);
        self.note_loss();
        if !self.probe.samples {
            return;
        }
        let (in_flight, lost) = (f64::from(flight.outstanding), f64::from(flight.lost));
        if lost > in_flight * params.loss_threshold {
            let limited = flight.limited || self.probes.holds(loss.number);
            let at_loss = in_flight_at_loss(params, in_flight, lost);
            self.handle_too_high(params, now, at_loss, limited);
        }
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self) {
        if !self.losses.lost {
            self.losses.end = self.rounds.delivered;
        }
        if self.recovery.is_none() {
            self.save_state();
        }
        self.losses.lost = true;
    }

    /// `SaveStateUponLoss`.
    fn save_state(&mut self) {
        self.save_window();
        self.undo = Undo {
            bounds: self.bounds,
            state: None,
        };
    }

    /// `HandleInflightTooHigh`.
    pub(super) fn handle_too_high(&mut self, params: &Bbr3Params, now: Time, in_flight: f64, limited: bool) {
        self.probe.too_high = true;
        self.probe.samples = false;
        if !limited {
            self.bounds.longterm = in_flight.max(self.target() * params.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(params, now);
        }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn undo_losses(&mut self) {
        self.restore_window();
        self.losses.lost = false;
        self.pipe.restart(0.0);
        let (now, before) = (&mut self.bounds, self.undo.bounds);
        now.bandwidth = now.bandwidth.max(before.bandwidth);
        now.shortterm = now.shortterm.max(before.shortterm);
        now.longterm = now.longterm.max(before.longterm);
        let measures = self.state == State::ProbeRtt;
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe.reached = false;
                if !measures {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && !measures => self.start_refill(),
            _ => {}
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, once in a round trip.
    pub(super) fn adapt_lower_bounds(&mut self, params: &Bbr3Params) {
        if self.state.probes() || !self.losses.lost {
            return;
        }
        let bounds = &mut self.bounds;
        if bounds.bandwidth == f64::INFINITY {
            bounds.bandwidth = self.max_bandwidth.get();
        }
        if bounds.shortterm == f64::INFINITY {
            bounds.shortterm = self.window;
        }
        bounds.bandwidth = self.losses.rate.max(params.beta * bounds.bandwidth);
        bounds.shortterm = self.losses.volume.max(params.beta * bounds.shortterm);
    }

    /// `CheckStartupHighLoss`.
    pub(super) fn check_startup_loss(&mut self, params: &Bbr3Params, sample: &Sample) {
        let high = self.losses.ended
            && self.recovery.is_some()
            && self.losses.ranges >= STARTUP_RANGES
            && is_too_high(params, sample);
        if self.state == State::Startup && high {
            self.undo.state = Some(State::Startup);
            (self.pipe.reached, self.pipe.now) = (true, true);
            self.bounds.longterm = self.product().max(self.losses.volume);
        }
    }
}

/// `IsInflightTooHigh`.
pub(super) fn is_too_high(params: &Bbr3Params, sample: &Sample) -> bool {
    sample.lost > sample.in_flight * params.loss_threshold
}

/// `InflightAtLoss`: how much was on its way when losses crossed the threshold, in the middle of a packet if need be.
fn in_flight_at_loss(params: &Bbr3Params, in_flight: f64, lost: f64) -> f64 {
    let (before, lost_before) = (in_flight - 1.0, lost - 1.0);
    let share = params.loss_threshold;
    before + (share * before - lost_before) / (1.0 - share)
}
