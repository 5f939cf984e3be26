//! Queue limits in the kernel's binary options: `struct tc_fifo_qopt` and `struct tc_tbf_qopt` of linux/pkt_sched.h.

use std::str::FromStr;

use derive_more::Display;
use levelflow_units::{Buffer, Bytes, Packets, Rate};
use netlink_packet_core::NlasIterator;

/// Netlink attributes of a token bucket filter.
const TBF_PARMS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_PRATE64: u16 = 5;
const TBF_BURST: u16 = 6;
const TBF_PBURST: u16 = 7;
/// Length of `struct tc_tbf_qopt`, and offsets of its rate, peak rate, limit, and of the bursts in ticks.
const TBF_LENGTH: usize = 36;
const RATE: usize = 0;
const PEAK: usize = 12;
const LIMIT: usize = 24;
const BUFFER: usize = 28;
const MTU: usize = 32;
/// Offsets in `struct tc_ratespec`, which has 12 bytes: link layer, overhead per packet, and bytes per second.
const LAYER: usize = 1;
const OVERHEAD: usize = 2;
const SPEED: usize = 8;
/// Link layer of Ethernet, which adds nothing to packet sizes.
const ETHERNET: u8 = 1;
/// Duration of a tick, ns.
const TICK: u64 = 64;

/// Rule by which a shaper computes the size of a packet from its size in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spec {
    /// Extra bytes per packet (`overhead`).
    pub overhead: u16,
    /// True if sizes are rounded up to ATM cells (`linklayer atm`).
    pub cells: bool,
}

impl Spec {
    /// Decodes `struct tc_ratespec`; returns the default if the data is too short.
    #[must_use]
    pub fn read(rate: &[u8]) -> Self {
        let Some(overhead) = rate.get(OVERHEAD..OVERHEAD + 2) else {
            return Self::default();
        };
        Self {
            overhead: u16::from_ne_bytes([overhead[0], overhead[1]]),
            cells: rate[LAYER] > ETHERNET,
        }
    }
}

/// Decodes the rule by which a token bucket filter computes the sizes of packets.
#[must_use]
pub fn spec_of(options: &[u8]) -> Spec {
    let all = attributes(options).unwrap_or_default();
    parms(&all).map_or_else(Spec::default, |parms| Spec::read(&parms[RATE..]))
}

/// Limit of a kernel queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Limit {
    /// Bytes.
    #[display("{}", Bytes::new(*_0))]
    Bytes(u64),
    /// Packets.
    #[display("{}", Packets::new(*_0))]
    Packets(u64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(Buffer::Bytes(bytes)) => Ok(Self::Bytes(bytes.get())),
            Ok(Buffer::Packets(packets)) => Ok(Self::Packets(packets)),
            Ok(Buffer::Unlimited) => Err("must be a size such as \"64 kB\" or \"25 packets\"".into()),
            Err(e) => Err(e.to_string()),
        }
    }
}

/// Unit of a queue's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes, including Ethernet headers.
    Bytes,
}

impl Unit {
    /// Returns the unit of limits for a kind of queue; `None` if this module cannot set its limit.
    #[must_use]
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "pfifo" => Some(Self::Packets),
            "bfifo" | "tbf" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// Formats a limit with its unit.
    #[must_use]
    pub fn text(self, limit: u32) -> String {
        self.size(limit).to_string()
    }

    /// Converts a limit, a number in the kernel's options, to a size in this unit.
    #[must_use]
    pub fn size(self, limit: u32) -> Limit {
        match self {
            Self::Packets => Limit::Packets(limit.into()),
            Self::Bytes => Limit::Bytes(limit.into()),
        }
    }

    /// Converts a size to a limit in this unit. `frame` is the size of the largest packet, bytes. Sizes that are too
    /// large become the largest limit.
    #[must_use]
    pub fn limit(self, size: Limit, frame: u32) -> u32 {
        let whole = match (self, size) {
            (Self::Packets, Limit::Packets(n)) | (Self::Bytes, Limit::Bytes(n)) => n,
            (Self::Packets, Limit::Bytes(n)) => n / u64::from(frame),
            (Self::Bytes, Limit::Packets(n)) => n.saturating_mul(frame.into()),
        };
        u32::try_from(whole).unwrap_or(u32::MAX)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Decodes the attributes of a queue or class, as pairs of kind and value.
pub(crate) fn attributes(options: &[u8]) -> Option<Vec<(u16, Vec<u8>)>> {
    let all = NlasIterator::new(options).map(|nla| nla.map(|nla| (nla.kind(), nla.value().to_vec())));
    all.collect::<Result<_, _>>().ok()
}

fn parms(attributes: &[(u16, Vec<u8>)]) -> Option<&[u8]> {
    let (_, parms) = attributes.iter().find(|(kind, _)| *kind == TBF_PARMS)?;
    (parms.len() >= TBF_LENGTH).then_some(parms)
}

/// Returns the value of a 64-bit rate attribute, bytes per second.
fn wide(attributes: &[(u16, Vec<u8>)], kind: u16) -> Option<u64> {
    let mut own = attributes.iter().filter(|(k, _)| *k == kind);
    own.find_map(|(_, value)| Some(u64::from_ne_bytes(value.as_slice().try_into().ok()?)))
}

/// Returns a rate in bytes per second. The source is the 64-bit attribute if it exists, and otherwise a `struct
/// tc_ratespec`.
pub(crate) fn speed(attributes: &[(u16, Vec<u8>)], parms: &[u8], rate: usize, wide_rate: u16) -> Option<u64> {
    wide(attributes, wide_rate).or_else(|| word(parms, rate + SPEED).map(u64::from))
}

/// Returns the rate of a token bucket filter.
pub(crate) fn rate_of(options: &[u8]) -> Option<Rate> {
    let all = attributes(options)?;
    Rate::new(speed(&all, parms(&all)?, RATE, TBF_RATE64)? as f64 * 8.0)
}

/// Returns the limit in the options of a queue of this kind.
#[must_use]
pub fn limit_of(kind: &str, options: &[u8]) -> Option<u32> {
    match kind {
        "pfifo" | "bfifo" => word(options, 0),
        "tbf" => word(parms(&attributes(options)?)?, LIMIT),
        _ => None,
    }
}

/// Returns a copy of the options with another limit.
#[must_use]
pub fn with_limit(kind: &str, options: &[u8], limit: u32) -> Option<Vec<u8>> {
    match kind {
        "pfifo" | "bfifo" => word(options, 0).map(|_| limit.to_ne_bytes().to_vec()),
        "tbf" => {
            let all = attributes(options)?;
            let mut bucket = parms(&all)?[..TBF_LENGTH].to_vec();
            bucket[LIMIT..LIMIT + 4].copy_from_slice(&limit.to_ne_bytes());
            let mut bytes = Vec::new();
            put(&mut bytes, TBF_PARMS, &bucket);
            for kind in [TBF_RATE64, TBF_PRATE64] {
                if let Some(rate) = wide(&all, kind) {
                    put(&mut bytes, kind, &rate.to_ne_bytes());
                }
            }
            for (kind, rate64, rate, ticks) in [
                (TBF_BURST, TBF_RATE64, RATE, BUFFER),
                (TBF_PBURST, TBF_PRATE64, PEAK, MTU),
            ] {
                if let Some(burst) = burst(&all, &bucket, rate64, rate, ticks) {
                    put(&mut bytes, kind, &burst.to_ne_bytes());
                }
            }
            Some(bytes)
        }
        _ => None,
    }
}

/// Returns true if options are equal except for the limit. Bursts may differ by one tick, because the kernel rounds
/// them.
#[must_use]
pub fn same_but_limit(kind: &str, one: &[u8], other: &[u8]) -> bool {
    if kind != "tbf" {
        return limit_of(kind, one).is_some() && limit_of(kind, other).is_some();
    }
    let (Some(one), Some(other)) = (attributes(one), attributes(other)) else {
        return false;
    };
    let (Some(a), Some(b)) = (parms(&one), parms(&other)) else {
        return false;
    };
    let near = |at: usize| word(a, at).zip(word(b, at)).is_some_and(|(a, b)| a.abs_diff(b) <= 1);
    let exact = |kind: u16| wide(&one, kind) == wide(&other, kind);
    a[..LIMIT] == b[..LIMIT] && near(BUFFER) && near(MTU) && exact(TBF_RATE64) && exact(TBF_PRATE64)
}

/// Returns the burst of a token bucket filter, bytes.
#[must_use]
pub fn burst_of(options: &[u8]) -> Option<u32> {
    let all = attributes(options)?;
    let bucket = parms(&all)?;
    bytes_of(&all, bucket, TBF_RATE64, RATE, BUFFER)
}

/// Returns the burst, in bytes; `None` if the filter's packet sizes differ from those in the queue. A change of the
/// options must set the burst again. Otherwise, the kernel rounds it down, and drops packets of exactly the old burst
/// size.
///
/// The kernel only reports the burst's transmission time, in ticks. The result is the largest burst with this number of
/// ticks. All packets that passed before therefore still pass.
fn burst(all: &[(u16, Vec<u8>)], bucket: &[u8], rate64: u16, rate: usize, ticks: usize) -> Option<u32> {
    let plain = Spec::read(&bucket[rate..]) == Spec::default();
    bytes_of(all, bucket, rate64, rate, ticks).filter(|_| plain)
}

fn bytes_of(all: &[(u16, Vec<u8>)], bucket: &[u8], rate64: u16, rate: usize, ticks: usize) -> Option<u32> {
    let speed = speed(all, bucket, rate, rate64)?;
    if speed == 0 {
        return None;
    }
    let time = (u128::from(word(bucket, ticks)?) + 1) * u128::from(TICK);
    u32::try_from(time * u128::from(speed) / 1_000_000_000).ok()
}

fn put(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(((value.len() + 4) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Options as the kernel dumps `tbf rate 64kbit burst 2000 limit 9000`.
    fn bucket() -> Vec<u8> {
        let mut parms = vec![0; TBF_LENGTH];
        parms[LAYER] = ETHERNET;
        parms[SPEED..SPEED + 4].copy_from_slice(&8000_u32.to_ne_bytes());
        parms[LIMIT..LIMIT + 4].copy_from_slice(&9000_u32.to_ne_bytes());
        parms[BUFFER..BUFFER + 4].copy_from_slice(&3_906_250_u32.to_ne_bytes());
        let mut bytes = Vec::new();
        put(&mut bytes, TBF_PARMS, &parms);
        bytes
    }

    #[test]
    fn only_the_limit_changes() {
        let new = with_limit("tbf", &bucket(), 70_000).unwrap();
        assert_eq!(limit_of("tbf", &new), Some(70_000));
        let all = attributes(&new).unwrap();
        let mut parms = parms(&all).unwrap().to_vec();
        parms[LIMIT..LIMIT + 4].copy_from_slice(&9000_u32.to_ne_bytes());
        assert_eq!(parms, attributes(&bucket()).unwrap()[0].1);
        assert_eq!(
            all[1],
            (TBF_BURST, 2000_u32.to_ne_bytes().to_vec()),
            "250 ms at 8000 bytes/s"
        );
        assert_eq!(all.len(), 2, "without a peak rate, there is no burst at the peak rate");
        assert_eq!(
            with_limit("pfifo", &7_u32.to_ne_bytes(), 9).unwrap(),
            9_u32.to_ne_bytes()
        );
        assert_eq!(with_limit("sfq", &[0; 64], 9), None);
    }

    #[test]
    fn a_shaper_says_what_it_counts() {
        assert_eq!(spec_of(&bucket()), Spec::default());
        let mut other = bucket();
        other[4 + LAYER] = 2;
        other[4 + OVERHEAD..6 + OVERHEAD].copy_from_slice(&300_u16.to_ne_bytes());
        let (overhead, cells) = (300, true);
        assert_eq!(spec_of(&other), Spec { overhead, cells });
        assert_eq!(spec_of(&[]), Spec::default());
    }

    #[test]
    fn a_change_beyond_the_limit_is_detected() {
        // Parameters begin at byte 4, after the header of the attribute.
        let other = |at: usize, value: u32| {
            let mut bytes = bucket();
            bytes[4 + at..8 + at].copy_from_slice(&value.to_ne_bytes());
            bytes
        };
        let same = |bytes: &[u8]| same_but_limit("tbf", &bucket(), bytes);
        assert!(same(&bucket()) && same(&other(LIMIT, 1)) && same(&other(BUFFER, 3_906_251)));
        assert!(!same(&other(SPEED, 16_000)) && !same(&other(BUFFER, 3_906_252)));
        assert!(!same(&other(PEAK + SPEED, 16_000)) && !same(&other(MTU, 7)));
        let mut faster = bucket();
        put(&mut faster, TBF_RATE64, &(1_u64 << 33).to_ne_bytes());
        assert!(!same(&faster) && !same(&[]));
        assert!(same_but_limit("pfifo", &[0; 4], &[1; 4]));
    }

    #[test]
    fn bursts_come_back_as_they_were_set() {
        for (speed, burst) in [
            (8000_u64, 1514_u64),
            (125_000, 1600),
            (2_500_000, 4096),
            (12_500_000, 65_535),
        ] {
            let ticks = (burst * 1_000_000_000 / speed / TICK) as u32;
            let mut parms = vec![0; TBF_LENGTH];
            parms[SPEED..SPEED + 4].copy_from_slice(&(speed as u32).to_ne_bytes());
            parms[BUFFER..BUFFER + 4].copy_from_slice(&ticks.to_ne_bytes());
            let found = super::burst(&[], &parms, TBF_RATE64, RATE, BUFFER);
            assert_eq!(found.map(u64::from), Some(burst), "at {speed} bytes/s");
        }
    }

    #[test]
    fn sizes_are_in_the_unit_of_the_queue() {
        assert_eq!(Unit::Packets.limit(Limit::Bytes(3000), 1514), 1);
        assert_eq!(Unit::Packets.limit(Limit::Bytes(3100), 1514), 2);
        assert_eq!(Unit::Bytes.limit(Limit::Packets(2), 1514), 3028);
        assert_eq!(Unit::Bytes.limit(Limit::Packets(u64::MAX), 1514), u32::MAX);
        assert_eq!(Unit::of("htb"), None);
    }

    proptest! {
        /// Arbitrary options cause no panic, and a limit that was written is read back.
        #[test]
        fn any_options_are_changed_or_refused(
            mut options in proptest::collection::vec(any::<u8>(), 0..120),
            shaped in any::<bool>(),
            limit in any::<u32>(),
        ) {
            if shaped && options.len() >= 4 {
                let length = options.len() as u16;
                options[..2].copy_from_slice(&length.to_ne_bytes());
                options[2..4].copy_from_slice(&TBF_PARMS.to_ne_bytes());
            }
            for kind in ["pfifo", "bfifo", "tbf", "htb"] {
                let new = with_limit(kind, &options, limit);
                prop_assert_eq!(new.is_some(), limit_of(kind, &options).is_some());
                if let Some(new) = new {
                    prop_assert_eq!(limit_of(kind, &new), Some(limit));
                }
            }
        }
    }
}
