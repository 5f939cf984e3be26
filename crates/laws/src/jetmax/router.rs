//! Router algorithm: measures the load and the number of flows, and reports price and fair share.

use levelflow_units::{Bytes, Duration, Rate};

use super::{Header, RouterParams};
use crate::bytes::fixed;
use crate::law::{Arriving, PortInfo, PortView, RouterLaw};
use crate::police::Limits;

/// Time between two packets, in s, that is never too long for an honest flow.
const LONGEST_GAP_S: f64 = 0.2;
/// Fractional bits of the fixed-point byte counts.
const BYTE_BITS: u32 = 8;
/// Fractional bits of the fixed-point sum of inter-packet times (`gap`), in seconds.
const GAP_BITS: u32 = 44;

/// Returns the price of a link, `1 - target/load` (Zhang 2008, eq 135 and 150); minus infinity without load. The price
/// of an overloaded link is its loss rate; the price of any other link is 0 or negative. Both arguments have the same
/// unit.
#[inline]
#[must_use]
pub fn price(load: f64, target: f64) -> f64 {
    if load > 0.0 {
        1.0 - target / load
    } else {
        f64::NEG_INFINITY
    }
}

/// Returns the fair share of a responsive flow, `(target - unresponsive)/flows` (Zhang 2008, eq 133 and 150); infinity
/// if `flows` is 0. All rates have the same unit.
#[inline]
#[must_use]
pub fn fair_share(target: f64, unresponsive: f64, flows: f64) -> f64 {
    if flows > 0.0 {
        (target - unresponsive) / flows
    } else {
        f64::INFINITY
    }
}

/// Router of JetMax. Its state is three sums and the results of the last interval. Flows with their bottleneck at this
/// router are *responsive*.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    target: f64,
    /// Bytes proposed by responsive flows, in units of 2^-8 bytes.
    pub(super) responsive: u64,
    /// Bytes proposed by unresponsive flows, plus bytes of other traffic, in units of 2^-8 bytes.
    pub(super) unresponsive: u64,
    /// Sum of `gap` over packets of responsive flows, in units of 2^-44 s.
    pub(super) gaps: u64,
    pub(super) price: f32,
    pub(super) share: f32,
    pub(super) epoch: u8,
}

impl Router {
    fn is_zero(params: &RouterParams, price: f32) -> bool {
        f64::from(price).abs() <= params.eps_p
    }

    /// Returns true if this router limits the flow more than the router named in the header (Zhang 2008, sections
    /// VI.5.1 and VI.6.2). The larger price limits more. If both prices are zero, the smaller share limits more. A
    /// router that is no flow's bottleneck has no share. It limits a flow only if it is the only router that refuses
    /// the proposal.
    fn limits(&self, params: &RouterParams, header: &Header) -> bool {
        if header.suggested == 0 {
            return true;
        }
        if params.hysteresis {
            let (price, share) = (header.price, header.share);
            if header.hop == header.bottleneck {
                return !Self::overrules(params, (price, share), (self.price, self.share));
            }
            if header.suggested == header.bottleneck {
                return Self::overrules(params, (self.price, self.share), (price, share));
            }
        }
        if !(Self::is_zero(params, self.price) && Self::is_zero(params, header.price)) {
            return self.price > header.price;
        }
        match (self.share < f32::MAX, header.share < f32::MAX) {
            (false, _) => self.price > 0.0 && header.price <= 0.0,
            (true, false) => self.price > 0.0 || header.price <= 0.0,
            (true, true) => self.share < header.share,
        }
    }

    /// Returns true if a router replaces the current bottleneck of a flow. `price` and `share` belong to the router,
    /// `own_price` and `own_share` to the bottleneck. Any of these conditions suffices:
    ///
    /// - The router is overloaded and has the larger price.
    /// - The router has the smaller share, and its price is larger or both prices are zero.
    /// - The router has no share, and it is the only router that refuses the proposal.
    fn overrules(params: &RouterParams, (price, share): (f32, f32), (own_price, own_share): (f32, f32)) -> bool {
        let fuller = price > own_price;
        let tie = Self::is_zero(params, price) && Self::is_zero(params, own_price);
        let refuses_alone = share >= f32::MAX && price > 0.0 && own_price <= 0.0;
        (fuller && f64::from(price) > params.eps_p) || ((fuller || tie) && share < own_share) || refuses_alone
    }

    fn count_unresponsive(&mut self, bytes: u64) {
        self.unresponsive = self.unresponsive.saturating_add(bytes);
    }
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            target: params.gamma * port.capacity.bps(),
            responsive: 0,
            unresponsive: 0,
            gaps: 0,
            price: -f32::MAX,
            share: f32::MAX,
            epoch: 0,
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        self.target = params.gamma * capacity.bps();
    }

    /// Counts the load. Routers after the 255th hop do not write headers, and count all packets as unresponsive.
    #[inline]
    fn on_arrival(&mut self, params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        let header = match header {
            Some(header) if !header.is_ack() => header,
            _ => return self.count_unresponsive(packet.size.get().saturating_mul(1 << BYTE_BITS)),
        };
        let proposed = fixed(header.virtual_size, BYTE_BITS);
        let Some(hop) = header.hop.checked_add(1) else {
            return self.count_unresponsive(proposed);
        };
        header.hop = hop;
        if hop == header.bottleneck {
            self.responsive = self.responsive.saturating_add(proposed);
            self.gaps = self.gaps.saturating_add(fixed(header.gap, GAP_BITS));
            if Self::is_zero(params, self.price) {
                header.mark_own_zero();
            }
        } else {
            self.count_unresponsive(proposed);
        }
        let limits = self.limits(params, header);
        // `f32::max` is not used: for 0 and -0, the sign of its result is not defined.
        if self.price > header.price {
            header.price = self.price;
        }
        if limits {
            header.share = self.share;
            header.suggested = hop;
            header.set_epoch(self.epoch);
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
        let secs = elapsed.as_secs_f64();
        let rate = |bytes: u64| 8.0 * bytes as f64 / f64::from(1 << BYTE_BITS) / secs;
        let (responsive, unresponsive) = (rate(self.responsive), rate(self.unresponsive));
        let mut flows = self.gaps as f64 / (1_u64 << GAP_BITS) as f64 / secs;
        if params.clamp_n && flows > 0.0 {
            flows = flows.max(1.0);
        }
        self.price = narrow(price(responsive + unresponsive, self.target));
        self.share = narrow(fair_share(self.target, unresponsive, flows));
        self.epoch = self.epoch.wrapping_add(1);
        (self.responsive, self.unresponsive, self.gaps) = (0, 0, 0);
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    /// Returns the price, or `-f32::MAX` after an interval without load.
    fn signal(&self) -> f64 {
        self.price.into()
    }

    fn share(&self) -> Option<Rate> {
        (self.share < f32::MAX).then(|| Rate::clamped(self.share.into()))
    }

    /// Returns the fair share; infinity if no flow has its bottleneck here.
    fn permitted(&self) -> f64 {
        if self.share < f32::MAX {
            self.share.into()
        } else {
            f64::INFINITY
        }
    }

    fn claimed(params: &RouterParams, header: &Header) -> Option<f32> {
        Some(header.gap.min(longest_gap(params)))
    }

    /// Limits the virtual size to that of an honest flow: at least the size, and otherwise at most the bytes at the
    /// permitted rate. The present share would be too low: other flows would be approved before this flow slows down.
    fn correct(&self, params: &RouterParams, size: Bytes, limits: &Limits, header: &mut Header) {
        let bytes = size.get() as f64;
        let here = header.hop.checked_add(1) == Some(header.bottleneck);
        let least = if here { (8.0 * bytes / limits.rate) as f32 } else { 0.0 };
        header.gap = limits.gap.unwrap_or(header.gap.max(least)).min(longest_gap(params));
        let most = bytes.max(limits.rate * f64::from(header.gap) / 8.0);
        header.virtual_size = header.virtual_size.max(bytes as f32).min(most as f32);
    }
}

/// Returns the longest gap that a header may claim, in s. Slower honest flows are not counted in every interval.
fn longest_gap(params: &RouterParams) -> f32 {
    (2.0 * params.interval.as_secs_f64()).max(LONGEST_GAP_S) as f32
}

/// Returns the nearest finite `f32`.
fn narrow(value: f64) -> f32 {
    value.clamp(f32::MIN.into(), f32::MAX.into()) as f32
}
