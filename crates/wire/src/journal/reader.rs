//! Reads logs. Whatever the bytes are, a record is one that could have been written, or is refused.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{DELIVERY, GAP, MAGIC, MARKED, MOST_PARAMS, NO_HEADER, Record, Role, Stamped, Start, kind};
use levelflow_laws::LAWS;
use levelflow_laws::bytes::DecodeError;
use levelflow_laws::offload::Words;
use levelflow_laws::{
    Arrived, Arriving, Delivery, Feedback, FlowInfo, Kind, LawInfo, Loss, Outgoing, PortInfo, PortView,
};

/// Times and durations above this, 53 days, are refused, so that laws can add some of them.
const LONGEST_PS: u64 = 1 << 62;
/// Sizes and queues above this are refused, for the same reason.
const MOST_BYTES: u64 = 1 << 48;

/// Records of a log, one after the other.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins to read a log.
    ///
    /// # Errors
    /// When the bytes are no log of this version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (name, version) = MAGIC.split_at(3);
        if !bytes.starts_with(name) {
            return refused("magic", "LVJ");
        }
        if bytes.get(3..4) != Some(version) {
            return refused(
                "version",
                "2; a log of version 1 replays with the Levelflow that wrote it",
            );
        }
        Ok(Self { bytes, at: MAGIC.len() })
    }

    /// Where the next record begins, bytes from the start of the log.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next record and its instance; `None` at the end. After an error, the position is that of the bad record.
    ///
    /// # Errors
    /// [`DecodeError::Short`] when the log ends within the record, [`DecodeError::Field`] when nobody writes such a record.
    pub fn next_record(&mut self) -> Result<Option<(u32, Record<'a>)>, DecodeError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let mut input = In {
            bytes: self.bytes,
            at: self.at,
        };
        let tag = input.byte()?;
        let instance = input.word()?;
        let record = input.record(tag)?;
        self.at = input.at;
        Ok(Some((instance, record)))
    }
}

fn refused<T>(name: &'static str, allowed: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError::Field { name, allowed })
}

struct In<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at + count;
        let taken = self.bytes.get(self.at..end).ok_or(DecodeError::Short {
            have: self.bytes.len(),
            need: end,
        })?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut own = [0; N];
        own.copy_from_slice(self.take(N)?);
        Ok(own)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn word(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    fn float(&mut self) -> Result<f64, DecodeError> {
        self.array().map(f64::from_le_bytes)
    }

    fn time(&mut self) -> Result<Time, DecodeError> {
        match self.long()? {
            ps if ps <= LONGEST_PS => Ok(Time::from_ps(ps)),
            _ => refused("time", "at most 2^62 ps"),
        }
    }

    fn duration(&mut self) -> Result<Duration, DecodeError> {
        self.time().map(|time| Duration::from_ps(time.as_ps()))
    }

    fn size(&mut self) -> Result<Bytes, DecodeError> {
        match self.long()? {
            bytes if bytes <= MOST_BYTES => Ok(Bytes::new(bytes)),
            _ => refused("bytes", "at most 2^48"),
        }
    }

    fn kind(&mut self) -> Result<Kind, DecodeError> {
        kind(self.byte()?).map_or_else(|| refused("kind", "0 to 3"), Ok)
    }

    fn slice(&mut self) -> Result<&'a [u8], DecodeError> {
        match self.byte()? {
            length @ 0..=64 => self.take(length.into()),
            _ => refused("length", "0 to 64"),
        }
    }

    fn stamped(&mut self) -> Result<Stamped<'a>, DecodeError> {
        let before = self.slice()?;
        let after = self.take(before.len())?;
        Ok(Stamped { before, after })
    }

    fn record(&mut self, tag: u8) -> Result<Record<'a>, DecodeError> {
        Ok(match tag {
            0 => Record::Start(self.start()?),
            1 => Record::Send {
                now: self.time()?,
                packet: Outgoing {
                    number: self.word()?,
                    size: self.size()?,
                    kind: self.kind()?,
                },
                header: self.slice()?,
            },
            2 => Record::Feedback {
                now: self.time()?,
                feedback: self.feedback()?,
            },
            3 => Record::Loss {
                now: self.time()?,
                loss: Loss {
                    number: self.word()?,
                    next: self.word()?,
                    outstanding: self.word()?,
                },
            },
            4 => Record::Timeout {
                now: self.time()?,
                next: self.word()?,
            },
            5 => Record::Arrival {
                packet: Arriving {
                    now: self.time()?,
                    size: self.size()?,
                    queue: self.size()?,
                    packets: self.word()?,
                },
                header: self.maybe_stamped()?,
            },
            6 => Record::Departure {
                size: self.size()?,
                header: self.stamped()?,
            },
            7 => Record::Interval {
                elapsed: self.duration()?,
                port: PortView {
                    queue: self.size()?,
                    packets: self.word()?,
                    dropped: self.size()?,
                },
            },
            8 => Record::Absorb { counted: self.sums()? },
            9 => Record::Reflect {
                arrived: self.arrived()?,
                header: self.stamped()?,
            },
            10 => Record::State { digest: self.long()? },
            _ => return refused("record", "0 to 10"),
        })
    }

    fn maybe_stamped(&mut self) -> Result<Option<Stamped<'a>>, DecodeError> {
        if self.bytes.get(self.at) == Some(&NO_HEADER) {
            self.at += 1;
            return Ok(None);
        }
        self.stamped().map(Some)
    }

    fn sums(&mut self) -> Result<Words, DecodeError> {
        let mut sums = Words::default();
        for sum in &mut sums {
            *sum = self.long()?;
        }
        Ok(sums)
    }

    fn arrived(&mut self) -> Result<Arrived, DecodeError> {
        Ok(Arrived {
            now: self.time()?,
            kind: self.kind()?,
            size: self.size()?,
        })
    }

    fn feedback(&mut self) -> Result<Feedback<&'a [u8]>, DecodeError> {
        let (number, acked, outstanding) = (self.word()?, self.word()?, self.word()?);
        let (kind, flags) = (self.kind()?, self.byte()?);
        if flags & !(MARKED | GAP | DELIVERY) != 0 {
            return refused("flags", "0 to 7");
        }
        let rtt = self.duration()?;
        let header = self.slice()?;
        let delivery = if flags & DELIVERY == 0 {
            None
        } else {
            Some(Delivery {
                total: self.word()?,
                prior: self.word()?,
                interval: self.duration()?,
            })
        };
        Ok(Feedback {
            number,
            kind,
            rtt,
            header,
            marked: flags & MARKED != 0,
            acked,
            outstanding,
            gap: flags & GAP != 0,
            delivery,
        })
    }

    /// Parameters that the law has now and had not when the log was written have their defaults.
    fn start(&mut self) -> Result<Start, DecodeError> {
        let name = self.slice()?;
        let Some(law) = LAWS.iter().find(|law| law.name.as_bytes() == name) else {
            return refused("law", "one that `levelflow list laws` shows");
        };
        let mut values = [0.0; MOST_PARAMS];
        for (value, row) in values.iter_mut().zip(law.params) {
            *value = row.default;
        }
        for _ in 0..self.byte()? {
            self.parameter(law, &mut values)?;
        }
        let role = match self.byte()? {
            0 => Role::Sender(FlowInfo {
                packet_size: match self.size()? {
                    size if (1..=65_535).contains(&size.get()) => size,
                    _ => return refused("packet size", "1 to 65535 bytes"),
                },
            }),
            1 => Role::Router(PortInfo {
                id: self.word()?,
                capacity: match Rate::new(self.float()?) {
                    Some(rate) if rate.bps() > 0.0 && rate.bps().is_finite() => rate,
                    _ => return refused("capacity", "a rate above 0"),
                },
            }),
            2 => Role::Receiver,
            _ => return refused("role", "0 to 2"),
        };
        Ok(Start { law, role, values })
    }

    fn parameter(&mut self, law: &LawInfo, values: &mut [f64; MOST_PARAMS]) -> Result<(), DecodeError> {
        let name = self.slice()?;
        let value = self.float()?;
        let mut rows = values.iter_mut().zip(law.params);
        let Some((own, row)) = rows.find(|(_, row)| row.name.as_bytes() == name) else {
            return refused("parameter", "one of its law");
        };
        if row.check(value).is_err() {
            return refused("parameter", "a value in its range");
        }
        *own = value;
        Ok(())
    }
}
