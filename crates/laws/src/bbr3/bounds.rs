//! Response to losses: bounds on bandwidth and packets in flight. Short-term bounds apply for one probing cycle, and
//! long-term bounds for several cycles.

use levelflow_units::Time;

use super::cycle::{State, Undo};
use super::model::Sample;
use super::{Params, Sender};
use crate::{Flight, Loss};

/// Number of loss ranges per round trip at which Startup ends (`BBRStartupFullLossCnt`). A loss range is a run of
/// consecutive lost packets.
const STARTUP_RANGES: u32 = 6;

impl Sender {
    /// Implements `HandleLostPacket`.
    pub(super) fn lose(&mut self, params: &Params, now: Time, loss: &Loss, flight: Flight) {
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
            let app_limited = flight.app_limited || self.probes.holds(loss.number);
            let at_loss = in_flight_at_loss(params, in_flight, lost);
            self.handle_too_high(params, now, at_loss, app_limited);
        }
    }

    /// Implements `NoteLoss`.
    pub(super) fn note_loss(&mut self) {
        if !self.losses.lost {
            self.losses.end = self.rounds.delivered;
        }
        if self.recovery.is_none() {
            self.save_state();
        }
        self.losses.lost = true;
    }

    /// Implements `SaveStateUponLoss`.
    fn save_state(&mut self) {
        self.save_window();
        self.undo = Undo {
            bounds: self.bounds,
            state: None,
        };
    }

    /// Implements `HandleInflightTooHigh`.
    pub(super) fn handle_too_high(&mut self, params: &Params, now: Time, in_flight: f64, app_limited: bool) {
        self.probe.too_high = true;
        self.probe.samples = false;
        if !app_limited {
            self.bounds.longterm = in_flight.max(self.target() * params.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(params, now);
        }
    }

    /// Implements `HandleSpuriousLossDetection`.
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

    /// Implements `AdaptLowerBoundsFromCongestion`; called once per round trip.
    pub(super) fn adapt_lower_bounds(&mut self, params: &Params) {
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

    /// Implements `CheckStartupHighLoss`.
    pub(super) fn check_startup_loss(&mut self, params: &Params, sample: &Sample) {
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

/// Implements `IsInflightTooHigh`.
pub(super) fn is_too_high(params: &Params, sample: &Sample) -> bool {
    sample.lost > sample.in_flight * params.loss_threshold
}

/// Implements `InflightAtLoss`: returns the number of packets in flight at which the losses exceeded the threshold,
/// interpolated within one packet.
fn in_flight_at_loss(params: &Params, in_flight: f64, lost: f64) -> f64 {
    let (before, lost_before) = (in_flight - 1.0, lost - 1.0);
    let share = params.loss_threshold;
    before + (share * before - lost_before) / (1.0 - share)
}
