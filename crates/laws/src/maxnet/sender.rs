//! Sender half: a window for the rate at the echoed price, and MaxStart before it.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::header::{self, MAX_START};
use super::source::Source;
use super::{MaxNetHeader, MaxNetParams};
use crate::{Feedback, FlowInfo, Kind, Outgoing, SenderLaw};

/// A paced sender sends at least one packet in this time, whatever the price: without packets it would never learn of
/// a better one.
const SLOWEST_GAP: Duration = Duration::from_secs(10);

/// The gains of eq 10 go with `1/tau`.
const SHORTEST_RTT: Duration = Duration::from_us(1);

/// MaxStart takes so many steps in a round-trip time at most, and so many round-trip times (section IV-B).
const STEPS_PER_RTT: u64 = 16;
const RAMP_RTTS: f64 = 2.0;

/// Weight of one sample in the smoothed round-trip time (RFC 6298, section 2.3).
const RTT_GAIN: f64 = 0.125;

/// One flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaxNetSender {
    packet_size: Bytes,
    paced: bool,
    /// `tau`, the shortest round-trip time so far.
    base_rtt: Duration,
    /// Smoothed round-trip time in seconds, 0 before the first sample.
    srtt: f64,
    /// Dynamics and time of their last update; none before the first price.
    source: Option<(Source, Time)>,
    /// Rate at the echoed price, bit/s.
    price_rate: f64,
    ramp: Option<Ramp>,
    /// Target rate, bit/s: `price_rate`, or less during MaxStart.
    rate: f64,
}

/// MaxStart, section IV-B.
#[derive(Debug, Clone, PartialEq)]
struct Ramp {
    /// Spare capacity that the opening packet found, bit/s.
    initial: f64,
    rate: f64,
    /// Last step; none before the first price.
    stepped: Option<Time>,
}

impl Ramp {
    /// Steps of `Delta dt/(2 tau)`, at least `tau/16` apart, where `Delta` is from the initial rate to `price_rate`;
    /// none down: below the ramp, the price has taken over.
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

impl MaxNetSender {
    /// One packet per round-trip time.
    fn least(&self) -> f64 {
        self.packet_size
            .per(self.base_rtt)
            .map_or(self.slowest(), Rate::bps)
            .max(self.slowest())
    }

    fn slowest(&self) -> f64 {
        self.packet_size.per(SLOWEST_GAP).expect("the gap is not zero").bps()
    }

    fn measure_rtt(&mut self, rtt: Duration) {
        let sample = rtt.max(SHORTEST_RTT);
        if self.srtt == 0.0 {
            self.base_rtt = sample;
            self.srtt = sample.as_secs_f64();
        } else {
            self.base_rtt = self.base_rtt.min(sample);
            self.srtt += RTT_GAIN * (sample.as_secs_f64() - self.srtt);
        }
    }

    /// Takes the spare capacity of the path.
    fn start(&mut self, params: &MaxNetParams, field: u32) {
        let initial = params.demand(header::price(field)).max(self.least());
        self.rate = initial;
        self.ramp = Some(Ramp {
            initial,
            rate: initial,
            stepped: None,
        });
    }

    /// Takes a price.
    fn follow(&mut self, params: &MaxNetParams, now: Time, field: u32) {
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

    /// Target rate in bits per `time`, in packets.
    fn packets_in(&self, time: f64) -> f64 {
        self.rate * time / self.packet_size.as_bits_f64()
    }
}

impl SenderLaw for MaxNetSender {
    type Params = MaxNetParams;
    type Header = MaxNetHeader;

    fn new(params: &MaxNetParams, flow: &FlowInfo) -> Self {
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

    /// `W = tau x`, rounded up.
    fn window(&self) -> u32 {
        (libm::ceil(self.packets_in(self.base_rtt.as_secs_f64())) as u32).max(1)
    }

    #[inline]
    fn packet_size(&self, _params: &MaxNetParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, params: &MaxNetParams, _now: Time, packet: &Outgoing) -> MaxNetHeader {
        let opens = params.max_start && packet.kind == Kind::Syn;
        MaxNetHeader {
            echo: 0,
            price: if opens { MAX_START } else { 0 },
        }
    }

    fn on_feedback(&mut self, params: &MaxNetParams, now: Time, feedback: &Feedback<MaxNetHeader>) {
        self.measure_rtt(feedback.rtt);
        let field = feedback.header.echo;
        match (field & MAX_START != 0, field & header::LARGEST) {
            (true, spare) if spare > 0 && self.source.is_none() => self.start(params, spare),
            (false, price) if price > 0 => self.follow(params, now, price),
            _ => {}
        }
    }

    /// One packet, until the next ACK brings a price (section VI: the price overrules what TCP does to the window).
    fn on_timeout(&mut self, _params: &MaxNetParams, _now: Time, _next: u32) {
        self.ramp = None;
        self.rate = self.least();
    }

    fn proposal(&self) -> Rate {
        Rate::clamped(self.rate.max(self.slowest()))
    }
}
