//! Encoding of log records. The decoder accepts only records that the encoder can produce.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{MAX_RECORD_BYTES, MOST_PARAMS, Record, Role, Stamped, Start};
use levelflow_laws::bytes::DecodeError;
use levelflow_laws::offload::Counts;
use levelflow_laws::{
    Arrived, Arriving, Delivery, Feedback, Flight, FlowInfo, Kind, LAWS, LawInfo, Loss, Outgoing, ParamSpec, PortInfo,
    PortView, Restart, SIGNALLINGS, SignallingInfo,
};

/// Largest accepted time or duration, 53 days. The code of laws can add several such values without overflow.
const LONGEST_PS: u64 = 1 << 62;
/// Largest accepted size or backlog. The code of laws can add many such values without overflow.
const MOST_BYTES: u64 = 1 << 48;
/// Value of the length byte if there is no header.
const NO_HEADER: u8 = 0xff;
/// Bits of the flags byte of a [`Feedback`].
const MARKED: u8 = 1;
const GAP: u8 = 2;
const DELIVERY: u8 = 4;

pub(super) type Result<T> = core::result::Result<T, DecodeError>;

pub(super) fn refused<T>(name: &'static str, allowed: &'static str) -> Result<T> {
    Err(DecodeError::Field { name, allowed })
}

/// Output buffer.
pub(super) struct Out<'o> {
    pub bytes: &'o mut [u8; MAX_RECORD_BYTES],
    pub at: usize,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

/// Input bytes.
pub(super) struct In<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at + count;
        let taken = self.bytes.get(self.at..end).ok_or(DecodeError::Short {
            have: self.bytes.len(),
            need: end,
        })?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn get<T: Coded<'a>>(&mut self) -> Result<T> {
        T::get(self)
    }
}

/// Encoding of one field of a record.
pub(super) trait Coded<'a>: Sized {
    fn put(&self, out: &mut Out<'_>);
    fn get(input: &mut In<'a>) -> Result<Self>;
}

/// Implements little-endian encoding of integers and floats.
macro_rules! numbers {
    ($($type:ident)+) => {
        $(impl Coded<'_> for $type {
            fn put(&self, out: &mut Out<'_>) {
                out.put(&self.to_le_bytes());
            }

            fn get(input: &mut In<'_>) -> Result<Self> {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(input.take(size_of::<Self>())?);
                Ok(Self::from_le_bytes(bytes))
            }
        })+
    };
}
numbers!(u8 u32 u64 f64);

/// Implements encoding of quantities with a limited range.
macro_rules! quantities {
    ($($type:ident: $from:ident, $to:ident, $most:ident, $name:literal, $allowed:literal;)+) => {
        $(impl Coded<'_> for $type {
            fn put(&self, out: &mut Out<'_>) {
                self.$to().put(out);
            }

            fn get(input: &mut In<'_>) -> Result<Self> {
                match input.get()? {
                    number if number <= $most => Ok(Self::$from(number)),
                    _ => refused($name, $allowed),
                }
            }
        })+
    };
}
quantities! {
    Time: from_ps, as_ps, LONGEST_PS, "time", "at most 2^62 ps";
    Duration: from_ps, as_ps, LONGEST_PS, "time", "at most 2^62 ps";
    Bytes: new, get, MOST_BYTES, "bytes", "at most 2^48";
}

/// Implements encoding of structs, field by field.
macro_rules! structs {
    ($($type:ident { $($field:ident),+ })+) => {
        $(impl Coded<'_> for $type {
            fn put(&self, out: &mut Out<'_>) {
                $(self.$field.put(out);)+
            }

            fn get(input: &mut In<'_>) -> Result<Self> {
                Ok(Self { $($field: input.get()?),+ })
            }
        })+
    };
}
structs! {
    Outgoing { number, size, kind }
    Loss { number, next, outstanding }
    Delivery { total, prior, interval, app_limited }
    Flight { number, outstanding, lost, app_limited }
    Restart { idle, timeout, app_limited }
    Arrived { now, kind, size }
    Arriving { now, size, queue, packets }
    PortView { queue, packets, in_service, dropped }
}

impl Coded<'_> for bool {
    fn put(&self, out: &mut Out<'_>) {
        u8::from(*self).put(out);
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        match input.get()? {
            0_u8 => Ok(false),
            1 => Ok(true),
            _ => refused("flag", "0 or 1"),
        }
    }
}

impl Coded<'_> for Kind {
    fn put(&self, out: &mut Out<'_>) {
        (*self as u8).put(out);
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        let code: u8 = input.get()?;
        let mut kinds = [Kind::Data, Kind::Syn, Kind::Fin, Kind::Ack].into_iter();
        kinds
            .find(|kind| *kind as u8 == code)
            .map_or_else(|| refused("kind", "0 to 3"), Ok)
    }
}

/// Encodes the length in one byte, followed by the bytes.
impl<'a> Coded<'a> for &'a [u8] {
    fn put(&self, out: &mut Out<'_>) {
        assert!(self.len() <= 64, "a header has {} bytes", self.len());
        (self.len() as u8).put(out);
        out.put(self);
    }

    fn get(input: &mut In<'a>) -> Result<Self> {
        match input.get()? {
            length @ 0_u8..=64 => input.take(length.into()),
            _ => refused("length", "0 to 64"),
        }
    }
}

/// Encodes two headers. Both have the same length.
impl<'a> Coded<'a> for Stamped<'a> {
    fn put(&self, out: &mut Out<'_>) {
        let (before, after) = (self.before, self.after);
        assert_eq!(before.len(), after.len(), "laws keep the length of headers");
        before.put(out);
        out.put(after);
    }

    fn get(input: &mut In<'a>) -> Result<Self> {
        let before: &[u8] = input.get()?;
        let after = input.take(before.len())?;
        Ok(Self { before, after })
    }
}

impl<'a> Coded<'a> for Option<Stamped<'a>> {
    fn put(&self, out: &mut Out<'_>) {
        match self {
            Some(header) => header.put(out),
            None => NO_HEADER.put(out),
        }
    }

    fn get(input: &mut In<'a>) -> Result<Self> {
        if input.bytes.get(input.at) == Some(&NO_HEADER) {
            input.at += 1;
            return Ok(None);
        }
        input.get().map(Some)
    }
}

impl Coded<'_> for Counts {
    fn put(&self, out: &mut Out<'_>) {
        self.iter().for_each(|sum| sum.put(out));
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        let mut sums = Self::default();
        for sum in &mut sums {
            *sum = input.get()?;
        }
        Ok(sums)
    }
}

impl<'a> Coded<'a> for Feedback<&'a [u8]> {
    fn put(&self, out: &mut Out<'_>) {
        let flag = |on, bit| if on { bit } else { 0 };
        let flags = flag(self.marked, MARKED) | flag(self.gap, GAP) | flag(self.delivery.is_some(), DELIVERY);
        [self.number, self.acked, self.spurious, self.outstanding]
            .iter()
            .for_each(|n| n.put(out));
        self.kind.put(out);
        flags.put(out);
        self.rtt.put(out);
        self.header.put(out);
        self.delivery.iter().for_each(|delivery| delivery.put(out));
    }

    fn get(input: &mut In<'a>) -> Result<Self> {
        let (number, acked, spurious, outstanding) = (input.get()?, input.get()?, input.get()?, input.get()?);
        let kind = input.get()?;
        let flags: u8 = input.get()?;
        if flags & !(MARKED | GAP | DELIVERY) != 0 {
            return refused("flags", "0 to 7");
        }
        Ok(Self {
            number,
            kind,
            rtt: input.get()?,
            header: input.get()?,
            marked: flags & MARKED != 0,
            acked,
            spurious,
            outstanding,
            gap: flags & GAP != 0,
            delivery: (flags & DELIVERY != 0).then(|| input.get()).transpose()?,
        })
    }
}

/// A log of an older version may lack new parameters of the law. The decoder then uses their defaults.
impl Coded<'_> for Start {
    fn put(&self, out: &mut Out<'_>) {
        self.role.put(out);
        let table = self.role.table();
        (table.len() as u8).put(out);
        for (row, value) in table.iter().zip(self.values()) {
            row.name.as_bytes().put(out);
            value.put(out);
        }
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        let role: Role = input.get()?;
        let mut values = [0.0; MOST_PARAMS];
        for (value, row) in values.iter_mut().zip(role.table()) {
            *value = row.default;
        }
        for _ in 0..input.get::<u8>()? {
            parameter(input, role.table(), &mut values)?;
        }
        Ok(Self { role, values })
    }
}

fn parameter(input: &mut In<'_>, table: &[ParamSpec], values: &mut [f64; MOST_PARAMS]) -> Result<()> {
    let (name, value): (&[u8], f64) = (input.get()?, input.get()?);
    let mut rows = values.iter_mut().zip(table);
    let Some((own, row)) = rows.find(|(_, row)| row.name.as_bytes() == name) else {
        return refused("parameter", "a parameter of this law or signalling");
    };
    if row.check(value).is_err() {
        return refused("parameter", "a value in its range");
    }
    *own = value;
    Ok(())
}

impl Coded<'_> for Rate {
    fn put(&self, out: &mut Out<'_>) {
        self.bps().put(out);
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        match Rate::new(input.get()?) {
            Some(rate) if rate.bps() > 0.0 => Ok(rate),
            _ => refused("capacity", "a rate above 0"),
        }
    }
}

fn law(name: &[u8]) -> Result<&'static LawInfo> {
    let mut laws = LAWS.iter();
    match laws.find(|law| law.name.as_bytes() == name) {
        Some(law) => Ok(law),
        None => refused("law", "one that `levelflow list laws` shows"),
    }
}

fn signalling(name: &[u8]) -> Result<&'static SignallingInfo> {
    let mut all = SIGNALLINGS.iter();
    match all.find(|own| own.name.as_bytes() == name) {
        Some(own) => Ok(own),
        None => refused("signalling", "one that `levelflow list laws` shows"),
    }
}

/// Encoded size of a flow that never ends or whose size is unknown.
const UNKNOWN_SIZE: u64 = u64::MAX;

impl Coded<'_> for Role {
    fn put(&self, out: &mut Out<'_>) {
        match self {
            Self::Sender(law, flow) => {
                0_u8.put(out);
                law.name.as_bytes().put(out);
                flow.packet_size.put(out);
                flow.seed.put(out);
                flow.size.map_or(UNKNOWN_SIZE, Bytes::get).put(out);
            }
            Self::Router(signalling, port) => {
                1_u8.put(out);
                signalling.name.as_bytes().put(out);
                port.id.put(out);
                port.capacity.put(out);
            }
            Self::Receiver(signalling) => {
                2_u8.put(out);
                signalling.name.as_bytes().put(out);
            }
        }
    }

    fn get(input: &mut In<'_>) -> Result<Self> {
        Ok(match input.get::<u8>()? {
            0 => Self::Sender(
                law(input.get()?)?,
                FlowInfo {
                    packet_size: match input.get::<Bytes>()? {
                        size if (1..=65_535).contains(&size.get()) => size,
                        _ => return refused("packet size", "1 to 65535 bytes"),
                    },
                    seed: input.get()?,
                    size: Some(input.get()?).filter(|size| *size != UNKNOWN_SIZE).map(Bytes::new),
                },
            ),
            1 => Self::Router(
                signalling(input.get()?)?,
                PortInfo {
                    id: input.get()?,
                    capacity: input.get()?,
                },
            ),
            2 => Self::Receiver(signalling(input.get()?)?),
            _ => return refused("role", "0 to 2"),
        })
    }
}

/// Defines the number and the fields of each record type. Fields are encoded in this order.
macro_rules! records {
    ($($tag:literal => $name:ident { $($field:tt $(as $own:ident)?),+ })+) => {
        impl<'a> Record<'a> {
            pub(super) fn put(&self, instance: u32, out: &mut Out<'_>) {
                match self {
                    $(Self::$name { $($field $(: $own)?),+ } => {
                        ($tag as u8).put(out);
                        instance.put(out);
                        $(records!(@own $field $($own)?).put(out);)+
                    })+
                }
            }

            pub(super) fn get(input: &mut In<'a>) -> Result<(u32, Self)> {
                let (tag, instance): (u8, u32) = (input.get()?, input.get()?);
                let record = match tag {
                    $($tag => Self::$name { $($field: input.get()?),+ },)+
                    _ => return refused("record", "0 to 13"),
                };
                Ok((instance, record))
            }
        }
    };
    (@own $field:tt) => { $field };
    (@own $field:tt $own:ident) => { $own };
}
records! {
    0 => Start { 0 as start }
    1 => Send { now, packet, header }
    2 => Feedback { now, feedback }
    3 => Loss { now, loss }
    4 => Timeout { now, next }
    5 => Arrival { packet, header }
    6 => Departure { size, header }
    7 => Interval { elapsed, port }
    8 => Absorb { counted }
    9 => Reflect { arrived, header }
    10 => State { digest }
    11 => Capacity { capacity }
    12 => Flight { now, flight }
    13 => Restart { now, restart }
}
