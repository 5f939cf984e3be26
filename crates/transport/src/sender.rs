//! The sending end of a flow.

use levelflow_laws::journal::{Log, LoggedSender, Sink};
use levelflow_laws::shim::{LENGTH, Shim};
use levelflow_laws::{
    Any, AnyHeader, AnyParams, AnySender, Bottleneck, Feedback, FlowInfo, Kind, Loss, Opening, Outgoing, Protocol,
    SenderLaw, Transport,
};
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::rtt::Rtt;
use crate::silence::stretched;
use crate::track::{LostPacket, Track};
use crate::{Refusals, Refused};

/// An opening packet is sent again after this long, doubled at each retry.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MOST_DOUBLINGS: u32 = 6;
/// A sender that was held up makes up at once for what it missed in this time, or for one packet, and for no more.
const CATCH_UP: Duration = Duration::from_us(250);
/// Unless told otherwise, a sender stays below this whatever it hears.
const MAX_RATE: f64 = 10e9;

/// What a flow has sent and heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Packets sent, opening and closing ones included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Answers that count.
    pub answers: u64,
    /// Data packets and bytes known to have arrived.
    pub delivered: u64,
    /// See `delivered`.
    pub delivered_bytes: u64,
    /// Data packets taken for lost.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Of these packets, how many turned out to have arrived.
    pub returned: u64,
    /// Times that no answer came in time.
    pub timeouts: u64,
    /// Answers that do not count.
    pub refused: Refusals,
}

/// What an answer told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// What kind of packet was answered.
    pub kind: Kind,
    /// Time from sending to answer, without the time that the receiver held it back.
    pub rtt: Duration,
    /// Data packets now known to have arrived that were not before.
    pub acked: u32,
    /// Their bytes.
    pub acked_bytes: Bytes,
    /// Bytes of packets now taken for lost.
    pub lost_bytes: Bytes,
    /// Whether a router of the law wrote into the header; none where that cannot be told.
    pub routed: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Waits for the answer to its opening packet, which is sent (again) at this time.
    Opening {
        at: Time,
        retries: u32,
    },
    Running,
}

/// One flow under a law: numbers, pace, losses, and what to believe. It has no clock and no socket.
///
/// `now` never goes back; stamps are nanoseconds by a clock of the host's that may jump.
#[derive(Debug)]
pub struct Sender<S: Sink> {
    params: AnyParams,
    transport: Transport,
    law: LoggedSender<S>,
    packet: Bytes,
    flow: u32,
    max_rate: Rate,
    phase: Phase,
    track: Track,
    rtt: Rtt,
    /// When the last packet left, or should have, and its size.
    last: Option<(Time, Bytes)>,
    /// Since when no answer has come: the last one, or the first packet.
    heard: Option<Time>,
    /// When the timer was started: at an answer, or when a packet left while none was away.
    armed: Time,
    counters: Counters,
}

impl<S: Sink> Sender<S> {
    /// A flow with packets of up to `packet` bytes on the wire, and a random number by which its answers know it.
    #[must_use]
    pub fn new(params: AnyParams, packet: Bytes, flow: u32) -> Self {
        let transport = Any::transport(&params);
        Self {
            law: LoggedSender::new(&params, &FlowInfo { packet_size: packet }, None),
            packet,
            params,
            transport,
            flow,
            max_rate: Rate::clamped(MAX_RATE),
            phase: match transport.opening {
                Opening::Handshake => Phase::Opening {
                    at: Time::ZERO,
                    retries: 0,
                },
                Opening::Immediate => Phase::Running,
            },
            track: Track::default(),
            rtt: Rtt::new(transport.min_timeout),
            last: None,
            heard: None,
            armed: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// Whatever feedback says, packets leave no faster than this (10 Gb/s unless set).
    #[must_use]
    pub fn with_max_rate(mut self, max_rate: Rate) -> Self {
        self.max_rate = max_rate;
        self
    }

    /// Before the first packet: writes down what the law is told. The log was started with the same parameters and packets.
    #[must_use]
    pub fn with_log(mut self, log: Log<S>) -> Self {
        let info = FlowInfo {
            packet_size: self.packet,
        };
        self.law = LoggedSender::new(&self.params, &info, Some(log));
        self
    }

    /// The parameters it runs with.
    #[must_use]
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// What the law needs of the transport.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The number by which answers know the flow.
    #[must_use]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Whether data may leave; before that, only opening packets do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Running
    }

    /// What the next packet is: one that opens the flow, or data.
    #[must_use]
    pub fn next_kind(&self) -> Kind {
        if self.is_open() { Kind::Data } else { Kind::Syn }
    }

    /// Rate of the law, bounded by the largest allowed.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.bounded(self.law.rate())
    }

    /// Rate that the law would like next, likewise bounded.
    #[must_use]
    pub fn proposal(&self) -> Rate {
        self.bounded(self.law.proposal())
    }

    fn bounded(&self, rate: Rate) -> Rate {
        if rate < self.max_rate { rate } else { self.max_rate }
    }

    /// Most data packets that may be on their way.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.law.window()
    }

    /// Data packets on their way, as far as is known.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.track.outstanding()
    }

    /// Size on the wire of the next data packet.
    #[must_use]
    pub fn packet_size(&self) -> Bytes {
        self.law.packet_size(&self.params)
    }

    /// What limits the flow, as far as its law knows.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        self.law.bottleneck()
    }

    /// Smoothed round-trip time, none before the first answer.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// What was sent and heard so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// State of the law, for whoever compares it with another run of it.
    #[must_use]
    pub fn law(&self) -> &AnySender {
        &self.law
    }

    /// As if so many packets had been sent.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, number: u32) {
        self.track.skip_to(number);
    }

    /// When the next packet may leave, which may be in the past; none while the window is full.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        if let Phase::Opening { at, .. } = self.phase {
            return Some(at);
        }
        if self.track.outstanding() >= self.law.window() {
            return None;
        }
        let Some((last, size)) = self.last else {
            return Some(Time::ZERO);
        };
        let rate = if self.law.paces() { self.rate() } else { self.max_rate };
        let gap = rate.time_to_send(size)?;
        let gap = match self.heard {
            Some(heard) => stretched(gap, last, heard, self.rtt.smoothed()),
            None => gap,
        };
        last.checked_add(gap)
    }

    /// When to call [`on_timer`](Self::on_timer), unless an answer comes before.
    #[must_use]
    pub fn timer(&self) -> Option<Time> {
        if self.track.outstanding() == 0 {
            return None;
        }
        self.armed.checked_add(self.rtt.timeout())
    }

    /// The timer ran out: all that is away counts as lost. Gives those bytes.
    pub fn on_timer(&mut self, now: Time) -> Bytes {
        if self.timer().is_none_or(|timer| now < timer) {
            return Bytes::ZERO;
        }
        let (packets, bytes) = self.track.on_timeout();
        self.rtt.on_timeout();
        self.counters.timeouts += 1;
        self.counters.lost += u64::from(packets);
        self.counters.lost_bytes += bytes.get();
        if self.transport.tracks_losses {
            self.law.on_timeout(&self.params, now, self.track.next());
            self.last = None;
        }
        bytes
    }

    /// Writes what precedes the payload of a packet that now leaves, whose size on the wire is `size`; gives its length.
    ///
    /// # Panics
    /// When `out` is shorter than [`shim::LONGEST`](levelflow_laws::shim::LONGEST).
    pub fn stamp(&mut self, now: Time, stamp_ns: u64, kind: Kind, size: Bytes, out: &mut [u8]) -> usize {
        self.stamp_before(now, stamp_ns, kind, size, false, out)
    }

    /// As [`stamp`](Self::stamp), for a packet in which another shim follows if `more` is set.
    ///
    /// # Panics
    /// As [`stamp`](Self::stamp).
    pub fn stamp_before(
        &mut self,
        now: Time,
        stamp_ns: u64,
        kind: Kind,
        size: Bytes,
        more: bool,
        out: &mut [u8],
    ) -> usize {
        let due = self.next();
        if let Phase::Opening { at, retries } = &mut self.phase {
            *at = now.checked_add(FIRST_RETRY * (1 << *retries)).unwrap_or(now);
            *retries = (*retries + 1).min(MOST_DOUBLINGS);
        }
        if self.track.outstanding() == 0 {
            self.armed = now;
        }
        self.heard.get_or_insert(now);
        let number = self.track.next();
        if let Some(lost) = self.track.on_send(now, stamp_ns, kind, size) {
            self.lose(now, lost);
        }
        self.last = Some((self.base(now, due, size), size));
        self.counters.packets += 1;
        self.counters.bytes += size.get();
        let outgoing = Outgoing { number, size, kind };
        let header = self.law.on_send(&self.params, now, &outgoing);
        let length = header.encode(&mut out[LENGTH..]);
        let shim = Shim {
            kind,
            marked: false,
            more,
            law: self.params.law().number,
            header: length as u8,
            flow: self.flow,
            number,
            time: stamp_ns,
        };
        shim.encode(out);
        LENGTH + length
    }

    /// The time from which the gap after a packet counts: when it was due, unless that is too long ago.
    fn base(&self, now: Time, due: Option<Time>, size: Bytes) -> Time {
        let gap = self.rate().time_to_send(size).unwrap_or(Duration::ZERO);
        let earliest = Time::ZERO + now.since(Time::ZERO + gap.max(CATCH_UP).min(Duration::from_secs(1)));
        due.unwrap_or(now).max(earliest).min(now)
    }

    fn lose(&mut self, now: Time, lost: LostPacket) {
        self.counters.lost += 1;
        self.counters.lost_bytes += lost.size.get();
        if self.transport.tracks_losses {
            let loss = Loss {
                number: lost.number,
                next: self.track.next(),
                outstanding: lost.outstanding,
            };
            self.law.on_loss(&self.params, now, &loss);
        }
    }

    /// Takes an answer that came at `now`, by the clock of stamps at `stamp_ns`.
    ///
    /// # Errors
    /// When it does not count; it then changed nothing but the counters.
    pub fn on_answer(&mut self, now: Time, stamp_ns: u64, shim: &Shim, header: &[u8]) -> Result<Answer, Refused> {
        self.on_answer_with(now, stamp_ns, shim, header, 0)
    }

    /// As [`on_answer`](Self::on_answer), with what [`Receiver::history`](super::Receiver::history) says of packets before it:
    /// with it, a lost answer is no lost packet.
    ///
    /// # Errors
    /// As [`on_answer`](Self::on_answer).
    pub fn on_answer_with(
        &mut self,
        now: Time,
        stamp_ns: u64,
        shim: &Shim,
        header: &[u8],
        history: u128,
    ) -> Result<Answer, Refused> {
        match self.check(stamp_ns, shim, header) {
            Ok(header) => Ok(self.believe(now, stamp_ns, shim, header, history)),
            Err(refused) => {
                self.counters.refused.count(refused);
                Err(refused)
            }
        }
    }

    fn check(&self, stamp_ns: u64, shim: &Shim, header: &[u8]) -> Result<AnyHeader, Refused> {
        if shim.kind != Kind::Ack || shim.flow != self.flow {
            return Err(Refused::Stranger);
        }
        let law = self.params.law();
        if shim.law != law.number || header.len() != law.header_bytes {
            return Err(Refused::Law);
        }
        self.track.check(shim.number, shim.time, stamp_ns)?;
        AnyHeader::decode(&self.params, header).map_err(Refused::Header)
    }

    fn believe(&mut self, now: Time, stamp_ns: u64, shim: &Shim, header: AnyHeader, history: u128) -> Answer {
        let rtt = Duration::from_ps((stamp_ns - shim.time).saturating_mul(1000));
        self.rtt.on_sample(rtt);
        self.heard = Some(now);
        self.armed = now;
        let next = self.track.next();
        let (law, params, counters) = (&mut self.law, &self.params, &mut self.counters);
        let lost_before = counters.lost_bytes;
        let tracks = self.transport.tracks_losses;
        let news = self.track.on_answer(now, shim.number, history, |lost| {
            counters.lost += 1;
            counters.lost_bytes += lost.size.get();
            let (number, outstanding) = (lost.number, lost.outstanding);
            if tracks {
                let loss = Loss {
                    number,
                    next,
                    outstanding,
                };
                law.on_loss(params, now, &loss);
            }
        });
        counters.answers += 1;
        counters.delivered += u64::from(news.acked);
        counters.returned += u64::from(news.returned);
        counters.delivered_bytes += news.acked_bytes.get();
        let mut feedback = Feedback::plain(shim.number, news.kind, rtt, header);
        feedback.marked = shim.marked;
        if tracks {
            feedback.outstanding = self.track.outstanding();
            if news.kind == Kind::Data {
                (feedback.acked, feedback.gap, feedback.delivery) = (news.acked, news.gap, news.delivery);
            }
        }
        self.law.on_feedback(&self.params, now, &feedback);
        if !self.is_open() {
            self.phase = Phase::Running;
            self.last = None;
        }
        Answer {
            kind: news.kind,
            rtt,
            acked: news.acked,
            acked_bytes: news.acked_bytes,
            lost_bytes: Bytes::new(self.counters.lost_bytes - lost_before),
            routed: header.seen_by_router(),
        }
    }
}
