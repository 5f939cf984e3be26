//! The 28-byte header of JetMax (Zhang 2008, figure 35(b) and section VI.6.6).

use crate::bytes::{DecodeError, exactly, magnitude, number, word};

const ACK: u8 = 1 << 7;
const OWN_ZERO: u8 = 1 << 6;
const EPOCH: u8 = 0x0f;

/// What a JetMax packet carries. Hops count JetMax routers from the source, the first is 1; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// Port of the sender; the law writes 0, a data plane fills it in.
    pub source_port: u16,
    /// Port of the receiver; the law writes 0, a data plane fills it in.
    pub destination_port: u16,
    /// Bit 7: an ACK. Bit 6: the router that is `bottleneck` has price zero. Bits 3-0: number of the interval, mod
    /// 16, that `price` and `share` come from. Bits 5 and 4 are reserved: sent as 0, kept as received.
    pub flags: u8,
    /// `R_T`, the hop that the sender takes for its bottleneck.
    pub bottleneck: u8,
    /// `R_C`, routers passed so far.
    pub hop: u8,
    /// `R_S`, the hop that reports `price` and `share`.
    pub suggested: u8,
    /// Number of the packet.
    pub seq: u32,
    /// `p+`, largest price on the path so far; `-f32::MAX` before any.
    pub price: f32,
    /// `g+`, fair share at the suggested hop, bit/s; `f32::MAX` for a hop that has no responsive flow.
    pub share: f32,
    /// `s+`, packet size times proposed rate over rate, bytes (eq 149).
    pub virtual_size: f32,
    /// `delta`, packet size over rate, s.
    pub gap: f32,
}

impl Header {
    /// Whether this is an ACK.
    #[inline]
    #[must_use]
    pub fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Whether the router that the sender takes for its bottleneck has price zero.
    #[inline]
    #[must_use]
    pub fn own_zero(&self) -> bool {
        self.flags & OWN_ZERO != 0
    }

    /// Number, mod 16, of the interval that price and share come from.
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

impl crate::law::Header for Header {
    const WIRE: usize = 28;

    fn encode(&self, out: &mut [u8]) {
        out[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        out[4..8].copy_from_slice(&[self.flags, self.bottleneck, self.hop, self.suggested]);
        out[8..12].copy_from_slice(&self.seq.to_be_bytes());
        out[12..16].copy_from_slice(&self.price.to_be_bytes());
        out[16..20].copy_from_slice(&self.share.to_be_bytes());
        out[20..24].copy_from_slice(&self.virtual_size.to_be_bytes());
        out[24..28].copy_from_slice(&self.gap.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire: &[u8; Self::WIRE] = exactly(wire)?;
        Ok(Self {
            source_port: u16::from_be_bytes([wire[0], wire[1]]),
            destination_port: u16::from_be_bytes([wire[2], wire[3]]),
            flags: wire[4],
            bottleneck: wire[5],
            hop: wire[6],
            suggested: wire[7],
            seq: u32::from_be_bytes(word(wire, 8)),
            price: number(word(wire, 12), "price")?,
            share: number(word(wire, 16), "share")?,
            virtual_size: magnitude(word(wire, 20), "virtual_size")?,
            gap: magnitude(word(wire, 24), "gap")?,
        })
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.suggested != 0)
    }
}
