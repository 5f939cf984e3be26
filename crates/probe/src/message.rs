//! What the two ends say to each other: a header of eight bytes, then 64-bit numbers, big-endian.

/// Bytes of every message but load, so that no answer is longer than what it answers.
pub const SMALL: usize = 96;
/// Longest message.
pub const LONGEST: usize = 1400;
const MAGIC: [u8; 4] = *b"LFPB";
const VERSION: u8 = 1;
const HEADER: usize = 8;
/// Numbers that fit into a small message.
const FIELDS: usize = (SMALL - HEADER) / 8;

/// Load that has arrived, as its receiver counts it. Times are nanoseconds of the clock of the end that says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that were sent up to the newest that arrived.
    pub sent: u64,
    /// When the newest was sent, by the sender's clock.
    pub last_sent: u64,
    /// When it arrived, by the receiver's.
    pub last_arrived: u64,
    /// Longest way of one, from the sender's clock to the receiver's: their difference is in it, so it may wrap.
    pub longest: u64,
}

/// A message. `id` is the secret of a session, `token` what proves that its sender has the address that it sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Client: who is there?
    Hello {
        /// Session.
        id: u64,
    },
    /// Reflector: you may go on with this token.
    Welcome {
        /// Session.
        id: u64,
        /// To be shown from now on.
        token: u64,
        /// Most that it sends, bit/s.
        max_rate: u64,
    },
    /// Reflector: another client is being served.
    Busy {
        /// Session.
        id: u64,
    },
    /// Client: answer this.
    Ping {
        /// Session.
        id: u64,
        /// As in the welcome.
        token: u64,
        /// From zero.
        seq: u64,
    },
    /// Reflector: answered.
    Pong {
        /// Session.
        id: u64,
        /// Of the ping.
        seq: u64,
        /// When the ping came, and this left.
        at: u64,
        /// Pings that have come.
        pings: u64,
        /// Load that has come.
        load: Arrived,
    },
    /// Load, either way.
    Load {
        /// Session.
        id: u64,
        /// As in the welcome.
        token: u64,
        /// From zero.
        seq: u64,
        /// When it was sent.
        sent: u64,
    },
    /// Client: send load at this rate; what has been asked for lapses soon.
    Pull {
        /// Session.
        id: u64,
        /// As in the welcome.
        token: u64,
        /// From zero; older requests than the newest say nothing.
        seq: u64,
        /// On the wire, bit/s; 0 to stop.
        rate: u64,
    },
}

impl Message {
    /// Writes it into the first [`SMALL`] bytes; what follows in load means nothing.
    ///
    /// # Panics
    /// When there is less room.
    pub fn encode(&self, out: &mut [u8]) {
        let (kind, numbers): (u8, &[u64]) = match *self {
            Self::Hello { id } => (0, &[id]),
            Self::Welcome { id, token, max_rate } => (1, &[id, token, max_rate]),
            Self::Busy { id } => (2, &[id]),
            Self::Ping { id, token, seq } => (3, &[id, token, seq]),
            Self::Pong {
                id,
                seq,
                at,
                pings,
                load,
            } => (
                4,
                &[
                    id,
                    seq,
                    at,
                    pings,
                    load.packets,
                    load.bytes,
                    load.sent,
                    load.last_sent,
                    load.last_arrived,
                    load.longest,
                ],
            ),
            Self::Load { id, token, seq, sent } => (5, &[id, token, seq, sent]),
            Self::Pull { id, token, seq, rate } => (6, &[id, token, seq, rate]),
        };
        out[..SMALL].fill(0);
        out[..4].copy_from_slice(&MAGIC);
        (out[4], out[5]) = (VERSION, kind);
        for (number, room) in numbers.iter().zip(out[HEADER..SMALL].chunks_exact_mut(8)) {
            room.copy_from_slice(&number.to_be_bytes());
        }
    }

    /// Reads one; none if it is something else.
    #[must_use]
    pub fn decode(wire: &[u8]) -> Option<Self> {
        if wire.len() < SMALL
            || wire.len() > LONGEST
            || wire[..4] != MAGIC
            || wire[4] != VERSION
            || wire[6..8] != [0; 2]
        {
            return None;
        }
        let mut n = [0; FIELDS];
        for (number, bytes) in n.iter_mut().zip(wire[HEADER..SMALL].chunks_exact(8)) {
            *number = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        let [id, token, seq] = [n[0], n[1], n[2]];
        let message = match wire[5] {
            0 => Self::Hello { id },
            1 => Self::Welcome {
                id,
                token,
                max_rate: n[2],
            },
            2 => Self::Busy { id },
            3 => Self::Ping { id, token, seq },
            4 => Self::Pong {
                id,
                seq: n[1],
                at: n[2],
                pings: n[3],
                load: Arrived {
                    packets: n[4],
                    bytes: n[5],
                    sent: n[6],
                    last_sent: n[7],
                    last_arrived: n[8],
                    longest: n[9],
                },
            },
            5 => Self::Load {
                id,
                token,
                seq,
                sent: n[3],
            },
            6 => Self::Pull {
                id,
                token,
                seq,
                rate: n[3],
            },
            _ => return None,
        };
        // Only load is longer.
        (wire.len() == SMALL || matches!(message, Self::Load { .. })).then_some(message)
    }
}
