//! Headers of packets. Encoder and decoder, the Wireshark dissector, the kernel's router and the wire-format reference
//! are generated from one [`Layout`]. Fields are big-endian.

use core::fmt::Debug;

use crate::bytes::DecodeError;

/// Layout of a header on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Meaning and source of the header.
    pub doc: &'static str,
    /// Fields in wire order, without padding.
    pub fields: &'static [Field],
    /// Names of two fields. If one of them is zero, the other field must be zero, too.
    pub zero_together: Option<(&'static str, &'static str)>,
}

/// Field of a header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Name in the code, in the dissector and in errors.
    pub name: &'static str,
    /// Meaning, with the unit.
    pub doc: &'static str,
    /// Length on the wire, 1 to 4 bytes.
    pub bytes: usize,
    /// Writer of the field.
    pub writer: Writer,
    /// Allowed values.
    pub values: Values,
}

/// Writer of a header field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The sender. Routers and the receiver leave the field unchanged.
    Sender,
    /// Routers. They overwrite the value of the sender.
    Router,
    /// The receiver. It writes the value into the ACK.
    Receiver,
}

/// Allowed values of a field; the decoder rejects all other values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// Any unsigned number.
    Number,
    /// Groups of bits.
    Bits(&'static [Bits]),
    /// A single number.
    Only {
        /// The number.
        value: u8,
        /// Description of the value, for errors.
        text: &'static str,
    },
    /// A float from `low` to `high`; never NaN.
    Float {
        /// Smallest value, included.
        low: f32,
        /// Largest value, included.
        high: f32,
        /// Description of the range, for errors.
        text: &'static str,
    },
}

/// Group of bits in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Name in the dissector.
    pub name: &'static str,
    /// Mask of the bits.
    pub mask: u32,
    /// Meaning of the bits.
    pub doc: &'static str,
}

/// Longest time in a header, in seconds. The limit bounds the effect of a wrong value on routers.
pub(crate) const LONGEST_TIME: f32 = 100.0;

impl Values {
    /// All floats except NaN.
    pub(crate) const ANY: Self = Self::float(f32::NEG_INFINITY, f32::INFINITY, "any number");
    /// Finite floats.
    pub(crate) const FINITE: Self = Self::float(f32::MIN, f32::MAX, "a finite number");
    /// Finite floats, at least 0.
    pub(crate) const MAGNITUDE: Self = Self::float(0.0, f32::MAX, "a finite number, at least 0");
    /// Times in seconds.
    pub(crate) const TIME: Self = Self::float(0.0, LONGEST_TIME, "0 to 100 s");

    pub(crate) const fn float(low: f32, high: f32, text: &'static str) -> Self {
        Self::Float { low, high, text }
    }

    /// Returns a description of the allowed values.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        match self {
            Self::Number | Self::Bits(_) => "anything",
            Self::Only { text, .. } | Self::Float { text, .. } => text,
        }
    }
}

impl Layout {
    /// Layout of a law without a header.
    pub const NONE: Self = Self {
        doc: "",
        fields: &[],
        zero_together: None,
    };

    /// Returns the length on the wire, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        let (mut i, mut bytes) = (0, 0);
        while i < self.fields.len() {
            bytes += self.fields[i].bytes;
            i += 1;
        }
        bytes
    }
}

/// Header with a fixed wire layout.
pub trait Header: Copy + Debug + PartialEq {
    /// Fields on the wire.
    const LAYOUT: Layout;
    /// Length on the wire, bytes.
    const WIRE: usize = Self::LAYOUT.bytes();
    /// Writes the header to the first `WIRE` bytes of `out`.
    ///
    /// # Panics
    /// When `out` is shorter than `WIRE`.
    fn encode(&self, out: &mut [u8]);
    /// Reads a header from the first `WIRE` bytes of `wire`.
    ///
    /// # Errors
    /// When `wire` is too short or a field has a value that is not allowed.
    fn decode(wire: &[u8]) -> Result<Self, DecodeError>;
    /// Returns true if a router changed this header of an ACK. Returns `None` if the header cannot show this, or if the
    /// law needs no router.
    fn seen_by_router(&self) -> Option<bool>;
}

/// Empty header, for laws without router feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoHeader;

impl Header for NoHeader {
    const LAYOUT: Layout = Layout::NONE;

    fn encode(&self, _out: &mut [u8]) {}

    fn decode(_wire: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self)
    }

    fn seen_by_router(&self) -> Option<bool> {
        None
    }
}

/// Defines a header struct and its [`Header`], one row per field:
///
/// ```text
/// field: type = values, writer, "meaning, with the unit";
/// ```
///
/// `as 3` after the type keeps only the three lowest bytes. `after [...]` after the struct name lists constant bytes,
/// which precede the fields on the wire. `#[repr(Rust, packed)]` removes padding in memory. An optional line `zero
/// together: a, b;` follows the struct. The last item is [`Header::seen_by_router`].
macro_rules! header {
    ($(#[doc = $about:literal])+ $(#[repr($($repr:ident),+)])? $vis:vis struct $name:ident $(after [$($constant:ident: $value:literal $text:literal),+])? {
        $($field:ident: $type:ty $(as $bytes:literal)? = $values:expr, $writer:ident, $doc:literal;)+
    }
    $(zero together: $a:ident, $b:ident;)?
    fn seen_by_router(&$self:ident) -> Option<bool> $seen:block) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq)]
        $(#[repr($($repr),+)])?
        $vis struct $name {
            $(#[doc = $doc] pub $field: $type,)+
        }

        impl $crate::header::Header for $name {
            const LAYOUT: $crate::header::Layout = $crate::header::Layout {
                doc: concat!($($about),+),
                fields: &[
                    $($($crate::header::Field {
                        name: stringify!($constant),
                        doc: $text,
                        bytes: 1,
                        writer: $crate::header::Writer::Sender,
                        values: $crate::header::Values::Only { value: $value, text: stringify!($value) },
                    },)+)?
                    $($crate::header::Field {
                        name: stringify!($field),
                        doc: $doc,
                        bytes: $crate::header::length!($type $(, $bytes)?),
                        writer: $crate::header::Writer::$writer,
                        values: $values,
                    },)+
                ],
                zero_together: $crate::header::pair!($($a, $b)?),
            };

            fn encode(&self, out: &mut [u8]) {
                let mut rest = &mut out[..Self::WIRE];
                $($({
                    let (place, after) = rest.split_at_mut(1);
                    place[0] = $value;
                    rest = after;
                })+)?
                $({
                    let (place, after) = rest.split_at_mut($crate::header::length!($type $(, $bytes)?));
                    $crate::header::Wire::put(self.$field, place);
                    rest = after;
                })+
                debug_assert!(rest.is_empty());
            }

            fn decode(wire: &[u8]) -> Result<Self, $crate::bytes::DecodeError> {
                let wire = $crate::bytes::exactly::<{ Self::WIRE }>(wire)?;
                let mut rest = &wire[..];
                $($(
                    rest = $crate::header::take_constant(rest, $value, stringify!($constant), stringify!($value))?;
                )+)?
                $(
                    let ($field, after): ($type, _) = $crate::header::take(
                        rest,
                        $crate::header::length!($type $(, $bytes)?),
                        stringify!($field),
                        const { &$values },
                    )?;
                    rest = after;
                )+
                debug_assert!(rest.is_empty());
                $(if ($a == 0.0) != ($b == 0.0) {
                    return Err($crate::bytes::DecodeError::Field {
                        name: stringify!($a),
                        allowed: concat!("0 if ", stringify!($b), " is 0, otherwise not 0"),
                    });
                })?
                Ok(Self { $($field),+ })
            }

            #[inline]
            fn seen_by_router(&$self) -> Option<bool> $seen
        }
    };
}
pub(crate) use header;

macro_rules! length {
    ($type:ty) => {
        size_of::<$type>()
    };
    ($type:ty, $bytes:literal) => {
        $bytes
    };
}
pub(crate) use length;

macro_rules! pair {
    () => {
        None
    };
    ($a:ident, $b:ident) => {
        Some((stringify!($a), stringify!($b)))
    };
}
pub(crate) use pair;

/// Rust type of a header field.
pub trait Wire: Copy {
    /// Fills `out` with the lowest bytes of the value.
    fn put(self, out: &mut [u8]);
    /// Reads a value from all bytes of `wire`.
    fn get(wire: &[u8]) -> Self;
    /// Returns true if the value is allowed.
    fn is_allowed(self, values: &Values) -> bool;
}

macro_rules! unsigned {
    ($($type:ident)+) => {
        $(impl Wire for $type {
            #[inline]
            fn put(self, out: &mut [u8]) {
                let bytes = self.to_be_bytes();
                out.copy_from_slice(&bytes[bytes.len() - out.len()..]);
            }

            #[inline]
            fn get(wire: &[u8]) -> Self {
                let mut bytes = [0; size_of::<Self>()];
                bytes[size_of::<Self>() - wire.len()..].copy_from_slice(wire);
                Self::from_be_bytes(bytes)
            }

            #[inline]
            fn is_allowed(self, _values: &Values) -> bool {
                true
            }
        })+
    };
}
unsigned!(u8 u16 u32);

/// Unsigned number of three bytes, as on the wire.
impl Wire for [u8; 3] {
    #[inline]
    fn put(self, out: &mut [u8]) {
        out.copy_from_slice(&self);
    }

    #[inline]
    fn get(wire: &[u8]) -> Self {
        [wire[0], wire[1], wire[2]]
    }

    #[inline]
    fn is_allowed(self, _values: &Values) -> bool {
        true
    }
}

impl Wire for f32 {
    #[inline]
    fn put(self, out: &mut [u8]) {
        self.to_bits().put(out);
    }

    #[inline]
    fn get(wire: &[u8]) -> Self {
        Self::from_bits(u32::get(wire))
    }

    #[inline]
    fn is_allowed(self, values: &Values) -> bool {
        matches!(values, Values::Float { low, high, .. } if *low <= self && self <= *high)
    }
}

/// Reads the next field. Returns its value and the remaining bytes.
#[inline]
pub(crate) fn take<'a, W: Wire>(
    wire: &'a [u8],
    bytes: usize,
    name: &'static str,
    values: &'static Values,
) -> Result<(W, &'a [u8]), DecodeError> {
    let (own, rest) = wire.split_at(bytes);
    let value = W::get(own);
    if value.is_allowed(values) {
        Ok((value, rest))
    } else {
        let allowed = values.text();
        Err(DecodeError::Field { name, allowed })
    }
}

/// Reads a constant byte. Returns the remaining bytes.
#[inline]
pub(crate) fn take_constant<'a>(
    wire: &'a [u8],
    value: u8,
    name: &'static str,
    allowed: &'static str,
) -> Result<&'a [u8], DecodeError> {
    if wire[0] == value {
        Ok(&wire[1..])
    } else {
        Err(DecodeError::Field { name, allowed })
    }
}
