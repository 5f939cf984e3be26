//! The sending half on the wire: a [`Sender`] between shims.

use levelflow_laws::{
    Any, AnyHeader, AnyParams, AnySender, Bottleneck, FlowInfo, Kind, Protocol, SenderLaw, Transport,
};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{Log, LoggedSender, Sink};
use levelflow_wire::shim::{LENGTH, Shim};

use crate::history::HISTORY;
use crate::pacer::Limits;
use crate::recovery::Totals;
use crate::scoreboard::MAX_PACKETS;
use crate::sender::{Ack, Rules, Sender, Transmit};
use crate::validate::{Rejected, Rejections};

/// What a flow has sent and heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Packets sent, opening and closing ones included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// ACKs that count.
    pub acks: u64,
    /// What became of data.
    #[serde(flatten)]
    pub data: Totals,
    /// ACKs that do not count.
    pub refused: Rejections,
}

/// What an ACK says that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct News {
    /// Time from sending to ACK, without the time that the receiver held it back.
    pub rtt: Duration,
    /// Whether a router of the law wrote into the header; none where that cannot be known.
    pub routed: Option<bool>,
}

/// Where the bytes of a packet end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded {
    /// Size of the packet on the wire.
    pub size: Bytes,
    /// Length of shim and header, which precede the payload.
    pub prefix: usize,
}

/// One flow under a law on the wire. It has no clock and no socket: `now` never goes back, and stamps are nanoseconds by any
/// clock of the host's.
#[derive(Debug)]
pub struct WireSender<S: Sink> {
    params: AnyParams,
    transport: Transport,
    limits: Limits,
    info: FlowInfo,
    flow: u32,
    sender: Sender<Any, LoggedSender<S>, u64>,
    packets: u64,
    bytes: u64,
    acks: u64,
    rejected: Rejections,
}

impl<S: Sink> WireSender<S> {
    /// Creates an unlimited flow; ACKs carry its random number `flow`.
    #[must_use]
    pub fn new(params: AnyParams, info: FlowInfo, flow: u32) -> Self {
        let transport = Any::transport(&params);
        let law = LoggedSender::new(&params, &info, None);
        let least = (LENGTH + params.law().header_bytes()) as u16;
        Self {
            sender: Sender::new(law, &transport, Time::ZERO).with_recovery(&transport, true, MAX_PACKETS),
            limits: Limits {
                max_rate: Some(Rate::clamped(Limits::MAX_RATE)),
                catch_up: Limits::OWN_THREAD,
                control: least,
                least,
            },
            info,
            params,
            transport,
            flow,
            packets: 0,
            bytes: 0,
            acks: 0,
            rejected: Rejections::default(),
        }
    }

    /// Within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whatever ACKs say, packets leave no faster than this (10 Gb/s unless set).
    #[must_use]
    pub fn with_max_rate(mut self, max_rate: Rate) -> Self {
        self.limits.max_rate = Some(max_rate);
        self
    }

    /// It carries so many bytes on the wire, and stops at a time; `retransmits`: lost data are sent again.
    #[must_use]
    pub fn with_transfer(mut self, size: Option<u64>, stop: Option<Time>, retransmits: bool) -> Self {
        let mut sender = self.sender.with_recovery(&self.transport, retransmits, MAX_PACKETS);
        if let Some(size) = size {
            sender = sender.with_size(size);
        }
        self.sender = sender.with_stop(stop.unwrap_or(Time::NEVER));
        self
    }

    /// As [`Sender::with_application`].
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.sender = self.sender.with_application();
        self
    }

    /// As [`Sender::write`].
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// As [`Sender::is_delivered`].
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.sender.is_delivered()
    }

    /// It sends data at once: its owner has had a handshake.
    #[must_use]
    pub fn without_handshake(mut self) -> Self {
        self.sender = self.sender.without_handshake();
        self
    }

    /// Before the first packet: writes down the inputs of the law. The log was started with the same parameters and flow.
    #[must_use]
    pub fn with_log(mut self, log: Log<S>) -> Self {
        self.sender
            .replace_law(LoggedSender::new(&self.params, &self.info, Some(log)));
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

    /// The number by which ACKs know the flow.
    #[must_use]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Rate of the law, bounded by the largest allowed.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.sender.rate(&self.limits)
    }

    /// Rate that the law would like next, likewise bounded.
    #[must_use]
    pub fn proposal(&self) -> Rate {
        self.limits.bounded(self.law().proposal())
    }

    /// Most data packets that may be under way.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.law().window()
    }

    /// Data packets under way, as far as is known.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.sender.outstanding()
    }

    /// Whether there is something to send at `now`.
    #[must_use]
    pub fn has_data(&self, now: Time) -> bool {
        self.sender.has_data(now)
    }

    /// Whether everything has been sent and, as far as that is known, has arrived, or the flow has stopped.
    #[must_use]
    pub fn is_done(&self, now: Time) -> bool {
        self.sender.is_done(now)
    }

    /// What limits the flow, as far as its law knows.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        self.law().bottleneck()
    }

    /// Smoothed round-trip time, none before the first ACK.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.sender.smoothed_rtt()
    }

    /// What was sent and heard so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            packets: self.packets,
            bytes: self.bytes,
            acks: self.acks,
            data: self.sender.totals(),
            refused: self.rejected,
        }
    }

    /// State of the law.
    #[must_use]
    pub fn law(&self) -> &AnySender {
        self.sender.law()
    }

    /// As if so many packets had been sent.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u32) {
        self.sender.skip_to(number);
    }

    fn rules<'a>(params: &'a AnyParams, transport: &'a Transport, limits: &'a Limits) -> Rules<'a, Any> {
        Rules {
            params,
            transport,
            limits,
        }
    }

    /// When the pace allows the next packet, whether or not the window does.
    #[must_use]
    pub fn departure(&self) -> Time {
        self.sender.departure(&self.limits)
    }

    /// The pace begins now: until now, something else set it.
    pub fn restart_pacing(&mut self, now: Time) {
        self.sender.restart_pacing(now);
    }

    /// When something is to be done, if no ACK comes before; it may be in the past.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.poll_timeout(&rules)
    }

    /// At this time, what was under way for too long counts as lost.
    pub fn handle_timeout(&mut self, now: Time) {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.handle_timeout(&rules, now);
    }

    /// The packet that leaves now, if one is due: writes what precedes its payload.
    ///
    /// # Panics
    /// When `out` is shorter than [`shim::LONGEST`](levelflow_wire::shim::LONGEST).
    pub fn poll_transmit(&mut self, now: Time, stamp_ns: u64, out: &mut [u8]) -> Option<Encoded> {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.poll_transmit(&rules, now, stamp_ns)?;
        Some(self.encode(&packet, stamp_ns, false, out))
    }

    /// Writes what precedes the payload of a data packet of this size, which leaves whatever pace and window say; with `more`,
    /// another shim follows.
    ///
    /// # Panics
    /// As [`poll_transmit`](Self::poll_transmit).
    pub fn transmit_sized(&mut self, now: Time, stamp_ns: u64, size: u16, more: bool, out: &mut [u8]) -> Encoded {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.transmit_sized(&rules, now, size, stamp_ns);
        self.encode(&packet, stamp_ns, more, out)
    }

    /// The packet that tells the receiver that the flow is over.
    ///
    /// # Panics
    /// As [`poll_transmit`](Self::poll_transmit).
    pub fn transmit_end(&mut self, now: Time, stamp_ns: u64, out: &mut [u8]) -> Encoded {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.transmit_end(&rules, now, stamp_ns);
        self.encode(&packet, stamp_ns, false, out)
    }

    fn encode(&mut self, packet: &Transmit<AnyHeader>, time: u64, more: bool, out: &mut [u8]) -> Encoded {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        let length = packet.header.encode(&mut out[LENGTH..]);
        let shim = Shim {
            kind: packet.kind,
            marked: false,
            more,
            unacknowledged: !self.transport.acknowledged,
            law: self.params.law().number,
            header: length as u8,
            flow: self.flow,
            number: packet.number,
            time,
        };
        shim.encode(out);
        Encoded {
            size: Bytes::new(u64::from(packet.size)),
            prefix: LENGTH + length,
        }
    }

    /// Takes an ACK that came at `now`, by the clock of stamps at `stamp_ns`. What follows its header is its history, if there
    /// is one: with it, a lost ACK is no lost packet.
    ///
    /// # Errors
    /// When it does not count; it then changed nothing but the counters.
    pub fn handle_ack(
        &mut self,
        now: Time,
        stamp_ns: u64,
        shim: &Shim,
        header: &[u8],
        rest: &[u8],
    ) -> Result<News, Rejected> {
        let (kind, header) = match self.validate(stamp_ns, shim, header) {
            Ok(valid) => valid,
            Err(rejected) => {
                self.rejected.count(rejected);
                return Err(rejected);
            }
        };
        let ack = Ack {
            number: shim.number,
            kind,
            rtt: Duration::from_ps((stamp_ns - shim.time).saturating_mul(1000)),
            header,
            marked: shim.marked,
            history: rest
                .first_chunk::<HISTORY>()
                .map_or(0, |bytes| u128::from_be_bytes(*bytes)),
        };
        self.acks += 1;
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.handle_ack(&rules, now, &ack);
        Ok(News {
            rtt: ack.rtt,
            routed: header.seen_by_router(),
        })
    }

    fn validate(&self, stamp_ns: u64, shim: &Shim, header: &[u8]) -> Result<(Kind, AnyHeader), Rejected> {
        if shim.kind != Kind::Ack || shim.flow != self.flow {
            return Err(Rejected::UnknownFlow);
        }
        let law = self.params.law();
        if shim.law != law.number || header.len() != law.header_bytes() {
            return Err(Rejected::Law);
        }
        let (kind, sent, acked) = self.sender.sent(shim.number).ok_or(Rejected::Unknown)?;
        if acked {
            return Err(Rejected::Replayed);
        }
        if !(sent..=stamp_ns).contains(&shim.time) {
            return Err(Rejected::Time);
        }
        let header = AnyHeader::decode(&self.params, header).map_err(Rejected::Header)?;
        Ok((kind, header))
    }
}
