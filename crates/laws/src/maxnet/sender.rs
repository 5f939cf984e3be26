//! Sender algorithm: a congestion window for the demand at the echoed price, and MaxStart before the first price.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::header::{self, MAX_START};
use super::source::Source;
use super::{Header, Params};
use crate::{Feedback, FlowInfo, Kind, Outgoing, SenderLaw, paced, rtt};

/// Shortest round-trip time used. The gains of eq 10 are proportional to `1/tau`.
const SHORTEST_RTT: Duration = Duration::from_us(1);

/// Limit on MaxStart steps per round-trip time (section IV-B). `RAMP_RTTS` is the duration of MaxStart in round-trip
/// times.
const STEPS_PER_RTT: u64 = 16;
const RAMP_RTTS: f64 = 2.0;

/// Sender of MaxNet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    paced: bool,
    /// `tau`: shortest round-trip time so far.
    base_rtt: Duration,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
    /// State of eq 10 and the time of its last update; `None` before the first price.
    source: Option<(Source, Time)>,
    /// *Price rate*: result of eq 10 for the echoed price, bit/s.
    price_rate: f64,
    ramp: Option<Ramp>,
    /// Target rate, bit/s: the price rate, or a lower rate during MaxStart.
    rate: f64,
}

/// State of MaxStart (section IV-B).
#[derive(Debug, Clone, PartialEq)]
struct Ramp {
    /// Spare capacity reported by the handshake packet, bit/s.
    initial: f64,
    rate: f64,
    /// Time of the last step; `None` before the first price.
    stepped: Option<Time>,
}

impl Ramp {
    /// Increases the rate by `Delta dt/(2 tau)`. `Delta` is `price_rate` minus the initial rate. Steps are at least
    /// `tau/16` apart. Steps never decrease the rate.
    fn step(&mut self, now: Time, tau: Duration, price_rate: f64) {
        if price_rate <= self.rate {
            return;
        }
        let dt = now.since(*self.stepped.get_or_insert(now));
        if dt.as_ps() >= tau.as_ps() / STEPS_PER_RTT {
            let rtts = dt.as_secs_f64() / tau.as_secs_f64();
            self.rate += (price_rate - self.initial) * rtts / RAMP_RTTS;
            self.stepped = Some(now);
        }
    }
}

impl Sender {
    /// Returns the lowest rate: one packet per round-trip time.
    fn least(&self) -> f64 {
        self.packet_size
            .per(self.base_rtt)
            .map_or(self.slowest(), Rate::bps)
            .max(self.slowest())
    }

    fn slowest(&self) -> f64 {
        paced::slowest(self.packet_size).bps()
    }

    fn measure_rtt(&mut self, rtt: Duration) {
        let sample = rtt.max(SHORTEST_RTT);
        if self.srtt == 0.0 {
            self.base_rtt = sample;
            self.srtt = sample.as_secs_f64();
        } else {
            self.base_rtt = self.base_rtt.min(sample);
            self.srtt += rtt::GAIN * (sample.as_secs_f64() - self.srtt);
        }
    }

    /// Starts MaxStart at the spare capacity of the path.
    fn start(&mut self, params: &Params, field: u32) {
        let initial = params.demand(header::price(field)).max(self.least());
        self.rate = initial;
        self.ramp = Some(Ramp {
            initial,
            rate: initial,
            stepped: None,
        });
    }

    /// Processes an echoed price.
    fn follow(&mut self, params: &Params, now: Time, field: u32) {
        let tau = self.base_rtt;
        let first = self.source.is_none();
        let (source, last) = self
            .source
            .get_or_insert_with(|| (Source::new(params, field, tau), now));
        let dt = now.since(*last);
        if first || dt >= params.dt_min {
            *last = now;
            self.price_rate = source.update(params, field, tau, dt);
        }
        self.rate = self.price_rate;
        if let Some(ramp) = &mut self.ramp {
            ramp.step(now, tau, self.price_rate);
            if ramp.rate < self.price_rate {
                self.rate = ramp.rate;
            } else {
                self.ramp = None;
            }
        }
    }

    /// Returns the number of packets sent at the target rate in `time` seconds.
    fn packets_in(&self, time: f64) -> f64 {
        self.rate * time / self.packet_size.as_bits_f64()
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        let mut new = Self {
            packet_size: flow.packet_size,
            paced: params.paced,
            ..Self::default()
        };
        new.rate = new.slowest();
        new
    }

    fn rate(&self) -> Rate {
        let rate = if self.paced || self.srtt == 0.0 {
            self.rate
        } else {
            f64::from(self.window()) * self.packet_size.as_bits_f64() / self.srtt
        };
        Rate::clamped(rate.max(self.slowest()))
    }

    fn paces(&self) -> bool {
        self.paced
    }

    /// Returns the congestion window `W = tau x`, rounded up.
    fn window(&self) -> u32 {
        (libm::ceil(self.packets_in(self.base_rtt.as_secs_f64())) as u32).max(1)
    }

    #[inline]
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, params: &Params, _now: Time, packet: &Outgoing) -> Header {
        let opens = params.max_start && packet.kind == Kind::Syn;
        Header {
            echo: 0,
            price: if opens { MAX_START } else { 0 },
        }
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        self.measure_rtt(feedback.rtt);
        let field = feedback.header.echo;
        match (field & MAX_START != 0, field & header::MAX_CODE) {
            (true, spare) if spare > 0 && self.source.is_none() => self.start(params, spare),
            (false, price) if price > 0 => self.follow(params, now, price),
            _ => {}
        }
    }

    /// Sets the window to one packet until the next ACK returns a price. (Section VI: the price overrides the window of
    /// TCP.)
    fn on_timeout(&mut self, _params: &Params, _now: Time, _next: u32) {
        self.ramp = None;
        self.rate = self.least();
    }

    fn proposal(&self) -> Rate {
        Rate::clamped(self.rate.max(self.slowest()))
    }
}
