//! Router algorithm: reserves a time slot of the link for each request.

use levelflow_units::{Duration, Rate, Time};

use super::{Header, RouterParams};
use crate::bytes::fixed;
use crate::header::LONGEST_TIME;
use crate::law::{Arriving, PortInfo, PortView, RouterLaw};
use crate::offload::Offload;

/// Fractional bits of the fixed-point sum of round-trip times, in seconds.
const RTT_BITS: u32 = 30;

/// Router of Slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// Load of the slots if there is no other traffic, bit/s.
    target: f64,
    /// Smallest rate of the slots, bit/s.
    floor: f64,
    /// Rate at which slots carry data, bit/s.
    rate: f64,
    /// Horizon `H` of the reservations: the mean round-trip time, in seconds.
    horizon: f64,
    /// Data of the slots that had not ended when the last request arrived, bits.
    reserved: f64,
    /// Arrival time of the last request.
    requested_at: Time,
    /// Time at which the last slot ends. It differs from the end of `reserved` if the rate has changed.
    ends_at: Time,
    /// Bytes of other traffic in this control interval.
    other: u64,
    /// Number and sum of the round-trip times in the headers of this control interval.
    rtts: u64,
    rtt_sum: u64,
}

impl Router {
    /// Reserves a slot for a request. Returns the time until the slot starts, in seconds, and the granted amount
    /// of data, in bits.
    ///
    /// At a constant rate, slots are contiguous and do not overlap. After an increase of the rate, a slot still starts
    /// after the earlier slots, whose senders use the old rate. After a decrease, a slot starts when the link has
    /// transmitted the reserved data at the new rate.
    #[inline]
    fn reserve(&mut self, params: &RouterParams, now: Time, request: f64, rtt: f64) -> (f64, f64) {
        let ended = self.rate * now.since(self.requested_at).as_secs_f64();
        self.reserved = (self.reserved - ended).max(0.0);
        self.requested_at = now;
        let wait = (self.reserved / self.rate).max(self.ends_at.since(now).as_secs_f64());
        let free = params.share * (self.horizon.max(rtt / 2.0) - wait);
        let grant = request.min(self.rate * free.max(params.least * self.horizon));
        self.reserved += grant;
        let wait = wait.min(LONGEST_TIME.into());
        self.ends_at = Duration::from_secs_f64(wait + grant / self.rate).map_or(now, |end| now.saturating_add(end));
        (wait, grant)
    }
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        let capacity = port.capacity.bps();
        let target = params.gamma * capacity;
        Self {
            target,
            floor: params.floor * capacity,
            rate: target,
            horizon: params.initial_rtt.as_secs_f64(),
            reserved: 0.0,
            requested_at: Time::ZERO,
            ends_at: Time::ZERO,
            other: 0,
            rtts: 0,
            rtt_sum: 0,
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        let target = params.gamma * capacity.bps();
        self.floor = params.floor * capacity.bps();
        self.rate = (self.rate * target / self.target).max(self.floor);
        self.target = target;
    }

    #[inline]
    fn on_arrival(&mut self, params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        let Some(header) = header else {
            self.other = self.other.saturating_add(packet.size.get());
            return;
        };
        if header.rtt > 0.0 {
            self.rtts += 1;
            self.rtt_sum = self.rtt_sum.saturating_add(fixed(header.rtt, RTT_BITS));
        }
        if header.request > 0.0 {
            let (wait, grant) = self.reserve(params, packet.now, header.grant.into(), header.rtt.into());
            header.grant = grant as f32;
            header.wait = header.wait.max(wait as f32);
            header.rate = header.rate.min(self.rate as f32);
        }
    }

    fn interval(&self, params: &RouterParams) -> Duration {
        params.interval
    }

    /// Ignores an interval of zero length.
    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, _port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        let other = self.other as f64 * 8.0 / elapsed.as_secs_f64();
        self.rate = (self.target - params.gamma * other).max(self.floor);
        if self.rtts > 0 {
            self.horizon = self.rtt_sum as f64 / self.rtts as f64 / f64::from(1 << RTT_BITS);
        }
        (self.other, self.rtts, self.rtt_sum) = (0, 0, 0);
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    /// Returns the rate of the slots, bit/s.
    fn signal(&self) -> f64 {
        self.rate
    }
}

impl Offload for Router {}
