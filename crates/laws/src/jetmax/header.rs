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
        doc: "number, modulo 16, of the interval in which `price` and `share` were measured",
    },
]);

header! {
    /// Fields of a JetMax packet (Zhang 2008, figure 35(b)). A hop is the position of a JetMax router on the path,
    /// counted from 1; 0 means no hop.
    pub struct Header {
        source_port: u16 = Values::Number, Sender, "always 0; UDP has the port of the sender";
        destination_port: u16 = Values::Number, Sender, "always 0; UDP has the port of the receiver";
        flags: u8 = FLAGS, Router, "flags; bits 5 and 4 are sent as 0 and not changed by routers";
        bottleneck: u8 = Values::Number, Sender, "`R_T`: hop of the sender's bottleneck";
        hop: u8 = Values::Number, Router, "`R_C`: routers passed so far";
        suggested: u8 = Values::Number, Router, "`R_S`: hop that reports `price` and `share`";
        seq: u32 = Values::Number, Sender, "number of the packet";
        price: f32 = Values::ANY, Router, "`p+`: largest price of the routers passed; -3.4e38 before the first router";
        share: f32 = Values::ANY, Router, "`g+`: fair share at the suggested hop, bit/s; 3.4e38 without responsive flows";
        virtual_size: f32 = Values::MAGNITUDE, Sender, "`s+`: packet size times proposed rate, divided by the rate (eq 149), bytes";
        gap: f32 = Values::MAGNITUDE, Sender, "`delta`: packet size divided by the rate, s";
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

    /// Returns the number, modulo 16, of the interval in which price and share were measured.
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
