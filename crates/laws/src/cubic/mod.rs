//! CUBIC: the window is a cubic function of the time since the last reduction.
//!
//! Source: RFC 9438 (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, 2023).

mod hystart;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use hystart::HyStart;
use levelflow_units::Time;

use crate::LawInfo;
use crate::tcp::{AckEvent, Cause, Congestion, Tcp, Variant, Window, info};

/// CUBIC; see the [module](self).
pub type Cubic = Tcp<CubicState>;

/// Limit on the growth factor of the window per round trip (RFC 9438, section 4.2).
const MAX_GROWTH_PER_RTT: f64 = 1.5;

/// State of CUBIC.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CubicState {
    /// `W_max`: window at which the curve is flat, packets; 0 for none.
    max: f64,
    /// `cwnd_prior`: window before the last reduction, packets.
    prior: f64,
    /// Curve since the last reduction; `None` until congestion avoidance begins.
    epoch: Option<Epoch>,
    hystart: HyStart,
    /// Arrival time of the last ACK.
    last_ack_at: Time,
    undo: Option<Undo>,
}

/// State before a reduction, restored if the reduction was spurious (section 4.9).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Undo {
    max: f64,
    prior: f64,
    epoch: Option<Epoch>,
    window: Window,
    /// Packets declared lost since the reduction, minus spurious losses.
    lost: u32,
}

/// State of `W_cubic` and `W_est` (section 4) since the last reduction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Epoch {
    start: Time,
    /// Time of the epoch in which the window was not in use, in seconds. The curve excludes this time.
    silent: f64,
    /// Time `K` from the start of the epoch to the flat point of the curve, in seconds.
    k: f64,
    /// Window at the flat point, packets.
    origin: f64,
    /// `W_est`: estimate of the window of Reno, packets.
    reno: f64,
}

impl Epoch {
    fn new(params: &Params, now: Time, window: f64, max: f64) -> Self {
        let above = (max - window).max(0.0);
        Self {
            start: now,
            silent: 0.0,
            //= RFC 9438, section 4.2
            //# _K_ is the time period that the above function takes to increase the congestion window size at the
            //# beginning of the current congestion avoidance stage to _W_max_ if there are no further congestion
            //# events.
            k: libm::cbrt(above / params.c),
            origin: max.max(window),
            //= RFC 9438, section 4.3
            //# _W_est_ is set equal to _cwnd_epoch_ at the start of the congestion avoidance stage.
            reno: window,
        }
    }

    /// Returns `W_cubic(t)` (eq 1).
    fn curve(&self, params: &Params, t: f64) -> f64 {
        //= RFC 9438, section 4.2
        //# CUBIC uses the following window increase function:
        let t = t - self.k;
        params.c * t * t * t + self.origin
    }
}

impl Variant for CubicState {
    type Params = Params;
    const INFO: LawInfo = info(
        "cubic",
        "CUBIC: a cubic function of the time since the last loss",
        "RFC 9438",
        &params::TABLE,
    );

    fn on_ack(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        self.leave_out_silence(ack);
        if self.grows_by_hystart(params) && window.size < window.ssthresh && self.hystart.on_ack(ack) {
            window.ssthresh = window.size;
        }
    }

    fn slow_start(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        let share = if self.grows_by_hystart(params) {
            self.hystart.growth()
        } else {
            1.0
        };
        window.slow_start(ack.growth * share);
    }

    fn on_lost(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.lost = undo.lost.saturating_add(1);
        }
    }

    fn on_spurious(&mut self, packets: u32, window: &mut Window) -> bool {
        let Some(undo) = &mut self.undo else { return false };
        undo.lost = undo.lost.saturating_sub(packets);
        if undo.lost > 0 {
            return false;
        }
        (self.max, self.prior, self.epoch) = (undo.max, undo.prior, undo.epoch);
        if window.size < undo.window.size {
            *window = undo.window;
        }
        self.undo = None;
        true
    }

    /// Ends the epoch. The next congestion avoidance starts a new epoch. The curve of the new epoch is flat at the
    /// window of the last loss.
    fn on_idle(&mut self) {
        (self.epoch, self.undo) = (None, None);
    }

    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        let max = self.max;
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(params, ack.now, window.size, max));
        let share = f64::from(ack.acked) / window.size;
        //= RFC 9438, section 4.3
        //# Once _W_est_ has grown to reach the _cwnd_ at the time of most recently setting _ssthresh_ -- that is,
        //# _W_est_ >= _cwnd_prior_ -- the sender SHOULD set α__cubic_ to 1
        let alpha = if epoch.reno < self.prior {
            params.reno_alpha()
        } else {
            1.0
        };
        epoch.reno += alpha * share;
        let t = ack.now.since(epoch.start).as_secs_f64() - epoch.silent;
        //= RFC 9438, section 4.3
        //# If so, CUBIC is in the Reno-friendly region and _cwnd_ SHOULD be set to _W_est_ at each reception of a
        //# new ACK.
        if epoch.curve(params, t) < epoch.reno {
            window.size = window.size.max(epoch.reno);
        } else {
            let target = epoch.curve(params, t + ack.rtt.smooth);
            //= RFC 9438, section 4.2
            //# The lower and upper bounds below ensure that CUBIC's congestion window increase rate is
            //# non-decreasing and is less than the increase rate of slow start
            let target = target.clamp(window.size, MAX_GROWTH_PER_RTT * window.size);
            window.size += (target - window.size) * share;
        }
    }

    fn reduce(&mut self, params: &Params, congestion: &Congestion) -> f64 {
        let window = congestion.window;
        self.undo = (congestion.cause == Cause::Loss).then_some(Undo {
            max: self.max,
            prior: self.prior,
            epoch: self.epoch,
            window: Window {
                size: congestion.window,
                ssthresh: congestion.ssthresh,
            },
            lost: 0,
        });
        self.max = match congestion.cause {
            //= RFC 9438, section 4.8
            //# _K_ is set to 0, and _W_max_ is set to the congestion window size at the beginning of the current
            //# congestion avoidance stage.
            Cause::Timeout => 0.0,
            //= RFC 9438, section 4.7
            //# With fast convergence, when a congestion event occurs, _W_max_ is updated as follows, before the
            //# window reduction described in Section 4.6.
            _ if params.fast_convergence && window <= self.max - 1.0 => window * (1.0 + params.beta) / 2.0,
            _ => window,
        };
        self.prior = window;
        self.epoch = None;
        window * params.beta
    }
}

impl CubicState {
    fn grows_by_hystart(&self, params: &Params) -> bool {
        params.hystart && self.prior == 0.0
    }

    /// Excludes application-limited time from the epoch (section 5.8). If the window was not in use, all time since the
    /// previous ACK is excluded. If the window was in use, the next ACK is due within a round trip. Only the time above
    /// one round trip is then excluded.
    fn leave_out_silence(&mut self, ack: &AckEvent) {
        let since = ack.now.since(self.last_ack_at).as_secs_f64();
        self.last_ack_at = ack.now;
        let silent = if ack.in_use { since - ack.rtt.last } else { since };
        if let Some(epoch) = &mut self.epoch
            && silent > 0.0
        {
            epoch.silent += silent;
        }
    }
}
