//! The 28-byte header of JetMax (Zhang 2008, figure 35(b) and section VI.6.6).

use crate::header::{Bits, Values, header};

const ACK: u8 = 1 << 7;
const OWN_ZERO: u8 = 1 << 6;
const EPOCH: u8 = 0x0f;

const FLAGS: Values = Values::Bits(&[
    Bits {
        name: "ack",
        mask: ACK as u32,
        doc: "an ACK (written by the receiver)",
    },
    Bits {
        name: "own_zero",
        mask: OWN_ZERO as u32,
        doc: "the router named by `bottleneck` has price zero",
    },
    Bits {
        name: "epoch",
        mask: EPOCH as u32,
        doc: "number, mod 16, of the interval that `price` and `share` come from",
    },
]);

header! {
    /// Fields of a JetMax packet (Zhang 2008, figure 35(b)). Hops count JetMax routers from the sender, from 1; 0 is
    /// none.
    pub struct Header {
        source_port: u16 = Values::Number, Sender, "0; the port of the sender is UDP's";
        destination_port: u16 = Values::Number, Sender, "0; the port of the receiver is UDP's";
        flags: u8 = FLAGS, Router, "bits 5 and 4 are sent as 0 and kept as received";
        bottleneck: u8 = Values::Number, Sender, "`R_T`: hop of the sender's bottleneck";
        hop: u8 = Values::Number, Router, "`R_C`: routers passed so far";
        suggested: u8 = Values::Number, Router, "`R_S`: hop that reports `price` and `share`";
        seq: u32 = Values::Number, Sender, "number of the packet";
        price: f32 = Values::ANY, Router, "`p+`: largest price on the path so far; -3.4e38 before any router";
        share: f32 = Values::ANY, Router, "`g+`: fair share at the suggested hop, bit/s; 3.4e38 without responsive flows";
        virtual_size: f32 = Values::MAGNITUDE, Sender, "`s+`: packet size times proposed rate over rate (eq 149), bytes";
        gap: f32 = Values::MAGNITUDE, Sender, "`delta`: packet size over rate, s";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.suggested != 0)
    }
}

impl Header {
    /// Returns true for an ACK.
    #[inline]
    #[must_use]
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Returns true if the price of the sender's bottleneck is zero.
    #[inline]
    #[must_use]
    pub fn own_zero(&self) -> bool {
        self.flags & OWN_ZERO != 0
    }

    /// Returns the number, mod 16, of the interval in which price and share were measured.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u8 {
        self.flags & EPOCH
    }

    #[inline]
    pub(super) fn mark_own_zero(&mut self) {
        self.flags |= OWN_ZERO;
    }

    #[inline]
    pub(super) fn set_epoch(&mut self, epoch: u8) {
        self.flags = self.flags & !EPOCH | epoch & EPOCH;
    }

    #[inline]
    pub(super) fn reflected(mut self) -> Self {
        self.flags |= ACK;
        self
    }
}
