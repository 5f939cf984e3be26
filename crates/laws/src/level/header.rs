//! The 31-byte header of Level.

use levelflow_units::{Duration, Time};

use crate::header::{Bits, Values, header};

const ACK: u8 = 1 << 7;
const REFUSED: u8 = 1 << 6;
const INTERVAL: u8 = REFUSED - 1;
/// Interval code of 100 ms.
const CODE_OF_100_MS: i32 = 34;
/// Unit of `queued`, ps.
const PS_PER_UNIT: u64 = 8000;
const MAX_DELAY_CODE: u64 = (1 << 24) - 1;

const FLAGS: Values = Values::Bits(&[
    Bits {
        name: "ack",
        mask: ACK as u32,
        doc: "an ACK (written by the receiver)",
    },
    Bits {
        name: "refused",
        mask: REFUSED as u32,
        doc: "the proposals of an interval exceeded the capacity of a link",
    },
    Bits {
        name: "interval",
        mask: INTERVAL as u32,
        doc: "code n of the longest control interval of the routers passed; the interval, rounded up, is 100 ms times 2^((n - 34)/2)",
    },
]);

header! {
    /// Fields of a Level packet. A level is the rate limit that a router computes for its flows. A hop is the position
    /// of a Level router on the path, counted from 1; 0 means no hop.
    #[repr(Rust, packed)]
    pub struct Header {
        flags: u8 = FLAGS, Router, "flags and interval code";
        hop: u8 = Values::Number, Router, "routers passed so far";
        limit: u8 = Values::Number, Sender, "hop of `lowest`";
        new_limit: u8 = Values::Number, Router, "hop of `new_lowest`";
        lowest: f32 = Values::MAGNITUDE, Sender, "lowest level on the path, from the last ACK, bit/s; 3.4e38 before the first ACK";
        second: f32 = Values::MAGNITUDE, Sender, "lowest level of the hops other than `limit`, from the last ACK, bit/s; 3.4e38 without other hops";
        new_lowest: f32 = Values::MAGNITUDE, Router, "lowest level of the hops passed, bit/s; 3.4e38 before the first router";
        new_second: f32 = Values::MAGNITUDE, Router, "lowest level of the hops passed other than `new_limit`, bit/s; 3.4e38 without other hops";
        proposal: f32 = Values::MAGNITUDE, Sender, "requested rate, bit/s; the current rate without a request";
        gap: f32 = Values::MAGNITUDE, Sender, "packet size divided by the rate, s";
        queued: [u8; 3] = Values::Number, Router, "queueing delay at the Level routers passed, in units of 8 ns; saturates at all ones";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.new_limit != 0)
    }
}

impl Header {
    /// Returns true for an ACK.
    #[inline]
    #[must_use]
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Returns true if a link on the path had proposals above its capacity in its last interval.
    #[inline]
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.flags & REFUSED != 0
    }

    /// Returns the longest control interval of the routers passed so far, rounded up, in seconds.
    #[inline]
    pub(super) fn interval(&self) -> f64 {
        interval(self.flags & INTERVAL)
    }

    /// Raises the longest interval to at least the interval of a router; see [`shortest_above`].
    #[inline]
    pub(super) fn lengthen(&mut self, code: u8) {
        if code > self.flags & INTERVAL {
            self.flags = self.flags & !INTERVAL | code;
        }
    }

    #[inline]
    pub(super) fn refuse(&mut self) {
        self.flags |= REFUSED;
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
        Time::from_ps(now.as_ps().saturating_sub(self.units() * PS_PER_UNIT))
    }

    /// Adds a queueing delay.
    #[inline]
    pub(super) fn wait(&mut self, wait: Duration) {
        let units = (self.units() + wait.as_ps() / PS_PER_UNIT).min(MAX_DELAY_CODE) as u32;
        let [_, queued @ ..] = units.to_be_bytes();
        self.queued = queued;
    }

    fn units(&self) -> u64 {
        let [a, b, c] = self.queued;
        u32::from_be_bytes([0, a, b, c]).into()
    }

    #[inline]
    pub(super) fn reflected(mut self) -> Self {
        self.flags |= ACK;
        self
    }
}

/// Decodes the six-bit code of an interval. Returns the interval in seconds.
fn interval(code: u8) -> f64 {
    let halves = i32::from(code) - CODE_OF_100_MS;
    let power = f64::from_bits(((1023 + (halves >> 1)) as u64) << 52);
    0.1 * power
        * if halves & 1 == 1 {
            core::f64::consts::SQRT_2
        } else {
            1.0
        }
}

/// Returns the code of the shortest interval that has a code and is at least `seconds` long.
pub(super) fn shortest_above(seconds: f64) -> u8 {
    (0..INTERVAL)
        .find(|code| interval(*code) >= seconds)
        .unwrap_or(INTERVAL)
}
