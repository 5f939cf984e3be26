//! The 35-byte header of Level.

use levelflow_units::{Duration, Time};

use crate::header::{Bits, Values, header};

const ACK: u8 = 1 << 7;
const REQUEST: u8 = 1 << 6;
const AWAITS: u8 = 1 << 5;
/// Set on the first packet of a flow, and on the first packet after a pause.
const FIRST: u8 = 1 << 4;
const REQUEST_ID: u8 = FIRST - 1;
/// Unit of `queued`, ps.
pub(super) const PS_PER_UNIT: u64 = 64_000;
const MAX_DELAY_CODE: u64 = (1 << 24) - 1;

const FLAGS: Values = Values::Bits(&[
    Bits {
        name: "ack",
        mask: ACK as u32,
        doc: "an ACK (written by the receiver)",
    },
    Bits {
        name: "request",
        mask: REQUEST as u32,
        doc: "routers grant the increase `spare`, or a part of it; in an ACK, `spare` is the granted increase",
    },
    Bits {
        name: "awaits",
        mask: AWAITS as u32,
        doc: "the sender awaits the decision on its last request",
    },
    Bits {
        name: "first",
        mask: FIRST as u32,
        doc: "the first packet of a flow or after a pause; routers add `proposal` to the sum of granted increases",
    },
    Bits {
        name: "request_id",
        mask: REQUEST_ID as u32,
        doc: "number of the request, modulo 16",
    },
]);

header! {
    /// Fields of a Level packet. A level is the rate limit that a router computes for its flows. A hop is the position
    /// of a Level router on the path, counted from 1; 0 means no hop.
    #[repr(Rust, packed)]
    pub struct Header {
        flags: u8 = FLAGS, Sender, "flags";
        hop: u8 = Values::Number, Router, "routers passed so far";
        limit: u8 = Values::Number, Sender, "hop of `lowest`";
        new_limit: u8 = Values::Number, Router, "hop of `new_lowest`";
        lowest: f32 = Values::MAGNITUDE, Sender, "lowest level on the path, from the last ACK, bit/s; the current rate before the first ACK";
        second: f32 = Values::MAGNITUDE, Sender, "lowest level of the hops other than `limit`, from the last ACK, bit/s; 3.4e38 without other hops; the current rate before the first ACK";
        new_lowest: f32 = Values::MAGNITUDE, Router, "lowest level of the hops passed, bit/s; 3.4e38 before the first router";
        new_second: f32 = Values::MAGNITUDE, Router, "lowest level of the hops passed other than `new_limit`, bit/s; 3.4e38 without other hops";
        proposal: f32 = Values::MAGNITUDE, Sender, "requested rate, bit/s; the current rate without a request";
        gap: f32 = Values::MAGNITUDE, Sender, "packet size divided by the rate, s";
        spare: f32 = Values::MAGNITUDE, Router, "capacity that all routers passed can grant, bit/s; with `request`, the increase requested and then granted";
        queued: [u8; 3] = Values::Number, Router, "queueing delay at the Level routers passed, in units of 64 ns; saturates at all ones";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.new_limit != 0)
    }
}

/// Receiver of Level. It repeats the decision on a request, because the first ACK with the decision may be lost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Receiver {
    /// Number and granted increase of the last request, bit/s.
    decision: Option<(u8, f32)>,
}

impl Header {
    /// Returns true for an ACK.
    #[inline]
    #[must_use]
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Returns true if the packet requests an increase of the rate.
    #[inline]
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.flags & REQUEST != 0
    }

    /// Returns true for the first packet of a flow or after a pause.
    #[inline]
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.flags & FIRST != 0
    }

    /// Announces a flow whose rate no router has counted or granted.
    #[inline]
    pub(super) fn announce(&mut self) {
        self.flags |= FIRST;
    }

    /// Requests an increase of the rate, bit/s.
    #[inline]
    pub(super) fn request(&mut self, id: u8, increase: f32) {
        self.flags |= REQUEST | id & REQUEST_ID;
        self.spare = increase;
    }

    /// Requests the receiver to repeat the decision on a request.
    #[inline]
    pub(super) fn await_decision(&mut self, id: u8) {
        self.flags |= AWAITS | id & REQUEST_ID;
    }

    /// Returns the lowest level of all hops except `hop`, in bit/s.
    #[inline]
    pub(super) fn elsewhere(&self, hop: u8) -> f32 {
        if hop == self.limit { self.second } else { self.lowest }
    }

    /// Reports the level of a hop.
    #[inline]
    pub(super) fn report(&mut self, hop: u8, level: f32) {
        if level < self.new_lowest || self.new_limit == 0 {
            self.new_second = self.new_lowest;
            self.new_lowest = level;
            self.new_limit = hop;
        } else if level < self.new_second {
            self.new_second = level;
        }
    }

    /// Returns `now`, the arrival time of the packet, minus the queueing delay in the header.
    #[inline]
    pub(super) fn unqueued(&self, now: Time) -> Time {
        Time::from_ps(now.as_ps().saturating_sub(u64::from(self.queued()) * PS_PER_UNIT))
    }

    /// Adds a queueing delay.
    #[inline]
    pub(super) fn wait(&mut self, wait: Duration) {
        let units = (u64::from(self.queued()) + wait.as_ps() / PS_PER_UNIT).min(MAX_DELAY_CODE) as u32;
        let [_, queued @ ..] = units.to_be_bytes();
        self.queued = queued;
    }

    /// Returns the queueing delay at the routers passed, in units of 64 ns.
    #[inline]
    pub(super) fn queued(&self) -> u32 {
        let [a, b, c] = self.queued;
        u32::from_be_bytes([0, a, b, c])
    }

    #[inline]
    pub(super) fn reflected(mut self, receiver: &mut Receiver) -> Self {
        let id = self.flags & REQUEST_ID;
        if self.is_request() {
            receiver.decision = Some((id, self.spare));
        } else if self.flags & AWAITS != 0
            && let Some((decided, increase)) = receiver.decision
            && decided == id
        {
            self.flags |= REQUEST;
            self.spare = increase;
        }
        self.flags |= ACK;
        self
    }
}
