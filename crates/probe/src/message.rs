//! Messages between probe and reflector: an 8-byte header, then 64-bit numbers in big-endian order. Byte 6 of the
//! header is an ECN field.

/// Length of every message except load, bytes. Requests and replies have equal length. A reflector therefore never
/// amplifies the traffic of an attacker with a forged source address.
pub const CONTROL_BYTES: usize = 96;
/// Length of the longest message, bytes.
pub const MAX_MESSAGE_BYTES: usize = 1400;
const MAGIC: [u8; 4] = *b"LFPB";
const VERSION: u8 = 2;
const HEADER: usize = 8;
/// Numbers that fit into a message of [`CONTROL_BYTES`] bytes.
const MAX_FIELDS: usize = (CONTROL_BYTES - HEADER) / 8;
/// Largest ECN field: congestion experienced (CE, RFC 3168).
pub(crate) const MAX_ECN: u8 = 0b11;

/// Counts of the load packets that a receiver has received. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Packets received.
    pub packets: u64,
    /// Bytes received, on the wire.
    pub bytes: u64,
    /// Packets sent up to the newest received packet, including lost packets.
    pub sent: u64,
    /// Send time of the newest packet, by the sender's clock.
    pub last_sent: u64,
    /// Arrival time of the newest packet, by the receiver's clock.
    pub last_arrived: u64,
    /// Largest difference between arrival time and send time. The two clocks have different zeros, so a negative
    /// difference wraps.
    pub longest: u64,
    /// Packets that arrived with the ECN field CE.
    pub marked: u64,
}

/// Bounds of the counts in a reply to a ping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Load packets sent.
    pub(crate) sent: u64,
    /// Pings sent.
    pub(crate) pings: u64,
    /// Size of a load packet on the wire, bytes.
    pub(crate) size: u64,
    /// Time by the client's clock, ns.
    pub(crate) now: u64,
}

impl Bounds {
    /// True if a reply from the time `at` of the reflector's clock, with these counts of pings and load, is possible.
    pub(crate) fn allow(&self, at: u64, pings: u64, load: &Arrived) -> bool {
        load.packets <= load.sent
            && load.sent <= self.sent
            && load.marked <= load.packets
            && load.packets.checked_mul(self.size) == Some(load.bytes)
            && load.last_sent <= self.now
            && load.last_arrived <= at
            && pings <= self.pings
    }
}

/// Session between a probe and a reflector, after a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Session {
    /// Secret of the session.
    pub id: u64,
    /// Tokens of the two ports.
    pub tokens: [u64; 2],
    /// Pings sent.
    pub pings: u64,
    /// Load packets sent.
    pub sent: u64,
    /// Requests for load sent.
    pub pulls: u64,
    /// Upper bound on the load packets of the reflector.
    pub most_packets: u64,
    /// Size of the headers before the payload of a datagram on the wire, bytes.
    pub around: usize,
}

/// Message of a session. `id` is the secret of the session; `token` proves that the client receives at its source
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Client to reflector: requests a session.
    Hello {
        /// Secret of the session.
        id: u64,
    },
    /// Reflector to client: passes the token of the client's address.
    Welcome {
        /// Secret of the session.
        id: u64,
        /// Token to be sent in all further messages.
        token: u64,
        /// Limit on the rate of load that the reflector sends, bit/s.
        max_rate: u64,
    },
    /// Reflector to client: rejects the session, because another client is being served.
    Busy {
        /// Secret of the session.
        id: u64,
    },
    /// Client to reflector: requests a [`Message::Pong`].
    Ping {
        /// Secret of the session.
        id: u64,
        /// Token from [`Message::Welcome`].
        token: u64,
        /// Sequence number, from zero.
        seq: u64,
        /// ECN field of the ping as sent. The reply is sent with the same field.
        ecn: u8,
    },
    /// Reflector to client: replies to a ping.
    Pong {
        /// Secret of the session.
        id: u64,
        /// Sequence number of the ping.
        seq: u64,
        /// Time at which the reflector received the ping and sent the reply, ns.
        at: u64,
        /// Pings received since the start of the session.
        pings: u64,
        /// Load received since the start of the session.
        load: Arrived,
        /// ECN field of the ping as received.
        seen: u8,
    },
    /// Packet of load, in either direction.
    Load {
        /// Secret of the session.
        id: u64,
        /// Token from [`Message::Welcome`].
        token: u64,
        /// Sequence number, from zero.
        seq: u64,
        /// Send time, ns.
        sent: u64,
    },
    /// Client to reflector: requests load at a rate. A request expires after half a second.
    Pull {
        /// Secret of the session.
        id: u64,
        /// Token from [`Message::Welcome`].
        token: u64,
        /// Sequence number, from zero. The reflector ignores a request that is older than the newest request.
        seq: u64,
        /// Requested rate on the wire, bit/s; 0 to stop.
        rate: u64,
        /// ECN field of the requested load.
        ecn: u8,
    },
}

impl Message {
    /// Encodes the message into the first [`CONTROL_BYTES`] bytes of `out`. The remaining bytes of a load packet have
    /// no meaning.
    ///
    /// # Panics
    /// If `out` is shorter than [`CONTROL_BYTES`].
    pub fn encode(&self, out: &mut [u8]) {
        let (kind, numbers): (u8, &[u64]) = match *self {
            Self::Hello { id } => (0, &[id]),
            Self::Welcome { id, token, max_rate } => (1, &[id, token, max_rate]),
            Self::Busy { id } => (2, &[id]),
            Self::Ping { id, token, seq, .. } => (3, &[id, token, seq]),
            Self::Pong {
                id,
                seq,
                at,
                pings,
                load,
                ..
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
                    load.marked,
                ],
            ),
            Self::Load { id, token, seq, sent } => (5, &[id, token, seq, sent]),
            Self::Pull {
                id, token, seq, rate, ..
            } => (6, &[id, token, seq, rate]),
        };
        let ecn = match *self {
            Self::Ping { ecn, .. } | Self::Pull { ecn, .. } => ecn,
            Self::Pong { seen, .. } => seen,
            _ => 0,
        };
        out[..CONTROL_BYTES].fill(0);
        out[..4].copy_from_slice(&MAGIC);
        (out[4], out[5], out[6]) = (VERSION, kind, ecn);
        for (number, room) in numbers.iter().zip(out[HEADER..CONTROL_BYTES].chunks_exact_mut(8)) {
            room.copy_from_slice(&number.to_be_bytes());
        }
    }

    /// Decodes a message; `None` if it is invalid.
    #[must_use]
    pub fn decode(wire: &[u8]) -> Option<Self> {
        if wire.len() < CONTROL_BYTES
            || wire.len() > MAX_MESSAGE_BYTES
            || wire[..4] != MAGIC
            || wire[4] != VERSION
            || wire[6] > MAX_ECN
            || wire[7] != 0
        {
            return None;
        }
        let mut n = [0; MAX_FIELDS];
        for (number, bytes) in n.iter_mut().zip(wire[HEADER..CONTROL_BYTES].chunks_exact(8)) {
            *number = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        let ([id, token, seq], ecn) = ([n[0], n[1], n[2]], wire[6]);
        let message = match wire[5] {
            0 => Self::Hello { id },
            1 => Self::Welcome {
                id,
                token,
                max_rate: n[2],
            },
            2 => Self::Busy { id },
            3 => Self::Ping { id, token, seq, ecn },
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
                    marked: n[10],
                },
                seen: ecn,
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
                ecn,
            },
            _ => return None,
        };
        let has_ecn = matches!(message, Self::Ping { .. } | Self::Pong { .. } | Self::Pull { .. });
        // Only load messages may be longer than `CONTROL_BYTES`.
        let fits = wire.len() == CONTROL_BYTES || matches!(message, Self::Load { .. });
        (fits && (has_ecn || ecn == 0)).then_some(message)
    }
}
