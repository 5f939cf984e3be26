//! Sender algorithm: stores the last report of each hop, and sends each hop the lowest limit of the other hops.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, Label, Params};
use crate::bytes::before;
use crate::header::LONGEST_TIME;
use crate::law::{Bottleneck, Feedback, FlowInfo, Kind, Outgoing, SenderLaw};

/// Largest number of hops that the sender supports. On longer paths, the sender stays at its smallest rate.
pub const MAX_HOPS: usize = 16;
/// Lower bound of the ACK timeout. After the timeout, the sender halves its rate once per round trip.
const MIN_ACK_TIMEOUT: Duration = Duration::from_secs(1);
/// ACK timeout in round-trip times. [`MIN_ACK_TIMEOUT`] applies if it is longer.
const SILENT_RTTS: u64 = 3;
/// Reordering threshold: an ACK declares an update lost if the acknowledged packet number is larger by at least this
/// number.
const REORDERING_THRESHOLD: u32 = 3;

/// Returns the smaller value. `f32::min` is not used: for 0 and -0, the sign of its result is not defined.
fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

fn narrow(rate: f64) -> f32 {
    rate.min(f32::MAX.into()) as f32
}

/// Converts a time to seconds, the unit of headers.
fn seconds(time: Duration) -> f32 {
    time.as_secs_f64().min(LONGEST_TIME.into()) as f32
}

/// Last report of a hop about the flow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Hop {
    /// Allocation in bit/s; 0 before the first report.
    allocation: f32,
    /// Limit in bit/s; [`f32::MAX`] if other hops must ignore it.
    limit: f32,
    label: Label,
    epoch: u8,
}

/// Reports of the hops of a path. Each field is an array, because an array of structs would contain padding.
#[derive(Debug, Clone, PartialEq)]
struct Path {
    allocation: [f32; MAX_HOPS],
    limit: [f32; MAX_HOPS],
    label: [Label; MAX_HOPS],
    epoch: [u8; MAX_HOPS],
}

impl Path {
    const UNKNOWN: Self = Self {
        allocation: [0.0; MAX_HOPS],
        limit: [f32::MAX; MAX_HOPS],
        label: [Label::New; MAX_HOPS],
        epoch: [0; MAX_HOPS],
    };

    fn hop(&self, index: usize) -> Hop {
        Hop {
            allocation: self.allocation[index],
            limit: self.limit[index],
            label: self.label[index],
            epoch: self.epoch[index],
        }
    }

    fn set(&mut self, index: usize, hop: Hop) {
        self.allocation[index] = hop.allocation;
        self.limit[index] = hop.limit;
        self.label[index] = hop.label;
        self.epoch[index] = hop.epoch;
    }
}

/// Sender of s-PERC.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    largest: Bytes,
    /// Sending rate, bit/s.
    rate: f32,
    path: Path,
    /// Routers on the path; 0 before the first ACK.
    length: u8,
    /// Hop that limits the rate; 0 until each hop has reported an allocation.
    slowest: u8,
    /// Number of the first packet of the current round, which updates hop 1.
    first: u32,
    /// Number of hops updated so far in this round.
    updated: u8,
    /// Hops with an update in flight. Bit `i` is hop `i + 1`.
    open: u16,
    /// Hops whose last two reports were equal. Bit `i` is hop `i + 1`.
    steady: u16,
    /// Time at which the current round began; [`Time::NEVER`] before the first round.
    began: Time,
    /// Duration of the previous round, in seconds.
    period: f32,
    /// Last round-trip time, in seconds.
    rtt: f32,
    /// Time of the ACK timeout, at which the sender reduces its rate.
    silent_at: Time,
    /// Packets sent since the last ACK.
    unreported: u8,
}

impl Sender {
    /// Discards all reports, and sets the path length.
    fn forget(&mut self, length: u8) {
        self.path = Path::UNKNOWN;
        (self.length, self.slowest, self.steady) = (length, 0, 0);
        (self.updated, self.open) = (u8::MAX, 0);
    }

    /// Returns the number of stored hops.
    fn known(&self) -> usize {
        MAX_HOPS.min(self.length.into())
    }

    /// Returns the number of hops that a round updates; 1 if the path is unknown.
    fn round(&self) -> u8 {
        self.length.clamp(1, MAX_HOPS as u8)
    }

    fn begin_round(&mut self, now: Time, number: u32) {
        self.period = seconds(now.since(self.began));
        self.began = now;
        (self.first, self.updated, self.open) = (number, 0, 0);
    }

    /// Returns the update for the next hop of the round.
    fn update(&mut self) -> Header {
        let index = usize::from(self.updated);
        self.open |= 1 << index;
        self.updated += 1;
        let limits = self.path.limit[..self.known()].iter().enumerate();
        let others = limits.filter(|(i, _)| *i != index);
        let elsewhere = others.map(|(_, limit)| *limit).fold(f32::MAX, lesser);
        let hop = self.path.hop(index);
        let mut header = Header {
            target: self.updated,
            epoch: hop.epoch,
            allocation: hop.allocation,
            elsewhere,
            period: self.period.max(self.rtt),
            ..Header::PLAIN
        };
        header.mark(hop.label, false);
        header
    }

    /// Returns the header that signals the end of the flow to all hops. The header has one allocation. A satisfied hop
    /// with a different allocation removes the flow later, when the epoch of the flow expires.
    fn finish(&self, now: Time) -> Header {
        let hops = || (0..self.known()).map(|index| self.path.hop(index));
        let satisfied = hops().filter(|hop| hop.label == Label::Satisfied);
        let allocation = satisfied.map(|hop| hop.allocation).fold(f32::MAX, lesser);
        let mut header = Header {
            allocation,
            period: seconds(now.since(self.began)),
            ..Header::PLAIN
        };
        header.mark(Label::Finished, false);
        for (number, hop) in (1..=self.updated).zip(hops()) {
            if hop.label != Label::Satisfied || hop.allocation == allocation {
                header.leave_behind(number, hop.label, hop.epoch);
            }
        }
        header
    }

    /// Processes the report of a hop.
    fn on_report(&mut self, index: usize, header: &Header) {
        let label = header.label();
        let allocation = match label {
            Label::Unsatisfied => header.limit,
            Label::Satisfied => header.elsewhere,
            Label::New | Label::Finished => return,
        };
        let hop = Hop {
            allocation,
            limit: if header.is_ignored() { f32::MAX } else { header.limit },
            label,
            epoch: header.epoch,
        };
        let before = self.path.hop(index);
        self.steady &= !(1 << index);
        if (before.label, before.allocation) == (label, allocation) {
            self.steady |= 1 << index;
        }
        self.path.set(index, hop);
    }

    /// Handles lost updates. A lost update may have reached its hop. For a steady hop, the sender assumes that the lost
    /// report equals the previous report. At any other hop, the sender treats the flow as new. The old count of that
    /// hop expires.
    fn declare_lost(&mut self, newest: u32) {
        for index in 0..u32::from(self.updated.min(MAX_HOPS as u8)) {
            let lost = self.first.wrapping_add(index).wrapping_add(REORDERING_THRESHOLD);
            if self.open & 1 << index != 0 && !before(newest, lost) {
                self.open &= !(1 << index);
                if self.steady & 1 << index == 0 {
                    self.path.label[index as usize] = Label::New;
                }
            }
        }
    }

    /// Sets the rate to the lowest allocation. If several hops have this allocation, an unsatisfied hop is the
    /// bottleneck.
    fn follow(&mut self, params: &Params) {
        let (mut slowest, mut least) = (0, f32::MAX);
        for (number, index) in (1..).zip(0..self.known()) {
            let hop = self.path.hop(index);
            if hop.allocation < least || (hop.label == Label::Unsatisfied && hop.allocation <= least) {
                (slowest, least) = (number, hop.allocation);
            }
        }
        self.slowest = slowest;
        if least == 0.0 || usize::from(self.length) > MAX_HOPS {
            self.slowest = 0;
        }
        self.rate = least;
        self.keep_pace(params);
    }

    /// Sets the rate used until each hop has allocated a rate. Packets with an update use the initial rate, and other
    /// packets use the smallest rate.
    fn keep_pace(&mut self, params: &Params) {
        let floor = narrow(params.floor());
        if self.slowest > 0 {
            self.rate = self.rate.max(floor);
            return;
        }
        let asks = self.open == 0 || self.updated < self.round();
        let opens = asks && usize::from(self.length) <= MAX_HOPS;
        self.rate = if opens {
            narrow(params.initial_rate).max(floor)
        } else {
            floor
        };
    }

    fn check_ack_timeout(&mut self, params: &Params, now: Time) {
        self.unreported = self.unreported.saturating_add(1);
        if now < self.silent_at || u32::from(self.unreported) <= REORDERING_THRESHOLD {
            return;
        }
        self.rate = (self.rate / 2.0).max(narrow(params.floor()));
        let rtt = Duration::from_secs_f64(self.rtt.into()).unwrap_or(Duration::MAX);
        self.silent_at = now.saturating_add(rtt);
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            largest: flow.packet_size,
            rate: narrow(params.initial_rate),
            path: Path::UNKNOWN,
            length: 0,
            slowest: 0,
            first: 0,
            updated: u8::MAX,
            open: 0,
            steady: 0,
            began: Time::NEVER,
            period: 0.0,
            rtt: 0.0,
            silent_at: Time::NEVER,
            unreported: 0,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate.into())
    }

    /// Returns the packet size. At low rates, packets are smaller, which keeps rounds short.
    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        if self.slowest == 0 && params.packets_per_timeout > 0.0 {
            return self.largest.min(params.min_packet);
        }
        params.sizing().size(self.largest, self.rate())
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.check_ack_timeout(params, now);
        match packet.kind {
            Kind::Fin => return self.finish(now),
            Kind::Syn => self.forget(0),
            Kind::Data | Kind::Ack => {}
        }
        if self.updated >= self.round() {
            if self.open != 0 {
                return Header::PLAIN;
            }
            self.begin_round(now, packet.number);
        }
        let header = self.update();
        if self.slowest == 0 {
            self.keep_pace(params);
        }
        header
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let Feedback {
            number,
            rtt,
            ref header,
            ..
        } = *feedback;
        self.rtt = seconds(rtt);
        self.unreported = 0;
        let patience = rtt.checked_mul(SILENT_RTTS).unwrap_or(Duration::MAX);
        self.silent_at = now.saturating_add(patience.max(MIN_ACK_TIMEOUT));
        if header.hop == 0 {
            return;
        }
        if header.hop != self.length {
            let first = (self.length == 0).then_some((self.open, self.updated));
            self.forget(header.hop);
            if let Some((open, updated)) = first {
                (self.open, self.updated) = (open, updated.max(self.round()));
            }
        }
        if self.open == 0 {
            return;
        }
        let index = number.wrapping_sub(self.first);
        if index < u32::from(self.updated) && index < MAX_HOPS as u32 && self.open & 1 << index != 0 {
            self.open &= !(1 << index);
            if u32::from(header.target) == index + 1 {
                self.on_report(index as usize, header);
            }
            self.follow(params);
        }
        self.declare_lost(number);
    }

    fn bottleneck(&self) -> Bottleneck {
        match self.slowest {
            0 => Bottleneck::Unknown,
            hop => Bottleneck::Hop(hop),
        }
    }
}
