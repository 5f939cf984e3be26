//! The sender half: keeps what each hop last reported, and passes to each of them what the others allow.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, Label, Params};
use crate::bytes::before;
use crate::header::LONGEST_TIME;
use crate::law::{Bottleneck, Feedback, FlowInfo, Kind, Outgoing, SenderLaw};

/// Longest path whose rate a sender follows; on a longer one, it stays at its smallest rate.
pub const HOPS: usize = 16;
/// Without an ACK for this long, and for [`SILENT_RTTS`], the path counts as lost.
const SILENCE: Duration = Duration::from_secs(1);
/// See [`SILENCE`].
const SILENT_RTTS: u64 = 3;
/// An update is lost if a packet so many later is acknowledged first.
const REORDERING: u32 = 3;

/// Not `f32::min`, which leaves open which of 0 and -0 it gives.
fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

fn narrow(rate: f64) -> f32 {
    rate.min(f32::MAX.into()) as f32
}

/// As headers carry times.
fn seconds(time: Duration) -> f32 {
    time.as_secs_f64().min(LONGEST_TIME.into()) as f32
}

/// What a hop has said of the flow.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Hop {
    /// Bit/s; 0 before it has said one.
    allocation: f32,
    /// Bit/s; [`f32::MAX`] where the other hops ignore it.
    limit: f32,
    label: Label,
    epoch: u8,
}

/// What the hops of a path have said, an array for each part: a struct per hop would have gaps.
#[derive(Debug, Clone, PartialEq)]
struct Path {
    allocation: [f32; HOPS],
    limit: [f32; HOPS],
    label: [Label; HOPS],
    epoch: [u8; HOPS],
}

impl Path {
    const UNKNOWN: Self = Self {
        allocation: [0.0; HOPS],
        limit: [f32::MAX; HOPS],
        label: [Label::New; HOPS],
        epoch: [0; HOPS],
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

/// Sender half of s-PERC.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    largest: Bytes,
    /// Sending rate, bit/s.
    rate: f32,
    path: Path,
    /// Routers on the path; 0 before the first ACK.
    length: u8,
    /// Hop that limits the rate; 0 while one has not said what it allocates.
    slowest: u8,
    /// Number of the packet that opened the running round: the one for hop 1.
    first: u32,
    /// Hops that this round has updated.
    updated: u8,
    /// Of these, bit `i` for hop `i + 1`, those without an ACK.
    open: u16,
    /// In the same way, those that last said the same as in the round before.
    steady: u16,
    /// When the round began; [`Time::NEVER`] before the first.
    began: Time,
    /// How long the round before it took, s.
    period: f32,
    /// Latest round-trip time, s.
    rtt: f32,
    /// When the rate falls unless an ACK comes.
    silent_at: Time,
    /// Packets sent since the last ACK.
    unheard: u8,
}

impl Sender {
    /// Nothing is known of a path of this length.
    fn forget(&mut self, length: u8) {
        self.path = Path::UNKNOWN;
        (self.length, self.slowest, self.steady) = (length, 0, 0);
        (self.updated, self.open) = (u8::MAX, 0);
    }

    /// Hops that the sender keeps.
    fn known(&self) -> usize {
        HOPS.min(self.length.into())
    }

    /// Hops that a round updates: the first one is there, as far as is known.
    fn round(&self) -> u8 {
        self.length.clamp(1, HOPS as u8)
    }

    fn begin_round(&mut self, now: Time, number: u32) {
        self.period = seconds(now.since(self.began));
        self.began = now;
        (self.first, self.updated, self.open) = (number, 0, 0);
    }

    /// The update for the next hop of the round.
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

    /// Signals to all hops of the round that the flow ends. Where a hop allocated something else than the others, it forgets the
    /// flow by itself.
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

    /// Takes what a hop says.
    fn hear(&mut self, index: usize, header: &Header) {
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

    /// It is not known whether a lost update changed the sums of its hop. One that was steady will have left them as they were;
    /// another one counts the flow anew, and forgets what it had.
    fn give_up(&mut self, newest: u32) {
        for index in 0..u32::from(self.updated.min(HOPS as u8)) {
            let lost = self.first.wrapping_add(index).wrapping_add(REORDERING);
            if self.open & 1 << index != 0 && !before(newest, lost) {
                self.open &= !(1 << index);
                if self.steady & 1 << index == 0 {
                    self.path.label[index as usize] = Label::New;
                }
            }
        }
    }

    /// Of equal allocations, that of an unsatisfied hop is the one from which the others follow.
    fn follow(&mut self, params: &Params) {
        let (mut slowest, mut least) = (0, f32::MAX);
        for (number, index) in (1..).zip(0..self.known()) {
            let hop = self.path.hop(index);
            if hop.allocation < least || (hop.label == Label::Unsatisfied && hop.allocation <= least) {
                (slowest, least) = (number, hop.allocation);
            }
        }
        self.slowest = slowest;
        if least == 0.0 || usize::from(self.length) > HOPS {
            self.slowest = 0;
        }
        self.rate = least;
        self.keep_pace(params);
    }

    /// Before each hop has allocated a rate, packets that ask for one leave at the initial rate, and others at the smallest.
    fn keep_pace(&mut self, params: &Params) {
        let floor = narrow(params.floor());
        if self.slowest > 0 {
            self.rate = self.rate.max(floor);
            return;
        }
        let asks = self.open == 0 || self.updated < self.round();
        let opens = asks && usize::from(self.length) <= HOPS;
        self.rate = if opens {
            narrow(params.initial_rate).max(floor)
        } else {
            floor
        };
    }

    fn notice_silence(&mut self, params: &Params, now: Time) {
        self.unheard = self.unheard.saturating_add(1);
        if now < self.silent_at || u32::from(self.unheard) <= REORDERING {
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
            unheard: 0,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate.into())
    }

    /// Small at a low rate, so that rounds stay short.
    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        if self.slowest == 0 && params.packets_per_timeout > 0.0 {
            return self.largest.min(params.min_packet);
        }
        params.sizing().size(self.largest, self.rate())
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.notice_silence(params, now);
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
        self.unheard = 0;
        let patience = rtt.checked_mul(SILENT_RTTS).unwrap_or(Duration::MAX);
        self.silent_at = now.saturating_add(patience.max(SILENCE));
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
        if index < u32::from(self.updated) && index < HOPS as u32 && self.open & 1 << index != 0 {
            self.open &= !(1 << index);
            if u32::from(header.target) == index + 1 {
                self.hear(index as usize, header);
            }
            self.follow(params);
        }
        self.give_up(number);
    }

    fn bottleneck(&self) -> Bottleneck {
        match self.slowest {
            0 => Bottleneck::Unknown,
            hop => Bottleneck::Hop(hop),
        }
    }
}
