//! Sender on a real network: a [`Sender`] that writes and reads shims.

use levelflow_laws::{
    Any, AnyHeader, AnyParams, AnySender, Bottleneck, FlowInfo, Kind, Protocol, SenderLaw, Transport,
};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{Log, LoggedSender, Sink};
use levelflow_wire::shim::{HISTORY_BYTES, SHIM_BYTES, Shim, prefix_bytes};

use crate::pacer::Limits;
use crate::recovery::Totals;
use crate::scoreboard::MAX_PACKETS;
use crate::sender::{Ack, Rules, Sender, Transmit};
use crate::validate::{Rejected, Rejections};

/// Counters of a flow at its sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct FlowCounters {
    /// Packets sent, including those that open and close the flow.
    pub packets: u64,
    /// Bytes of the sent packets, on the wire.
    pub bytes: u64,
    /// ACKs accepted.
    pub acks: u64,
    /// Counts of data delivered, lost and retransmitted. Bytes include headers.
    #[serde(flatten)]
    pub data: Totals,
    /// ACKs rejected.
    pub refused: Rejections,
}

/// Result of an accepted ACK.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AckReport {
    /// Round-trip time, minus the delay of the ACK at the receiver.
    pub rtt: Duration,
    /// True if a router of the law wrote into the header. `None` if the header cannot show this.
    pub routed: Option<bool>,
}

/// Lengths of an encoded packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded {
    /// Size of the packet on the wire.
    pub size: Bytes,
    /// Length of shim and header, bytes; the payload follows.
    pub prefix: usize,
}

/// Sender of one flow with a law, on a real network. It has no clock and no socket. The argument `now` never decreases.
/// Timestamps are in nanoseconds of any clock of the host.
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
    /// Creates a flow of unlimited size. `flow` is the random number that ACKs of the flow carry.
    #[must_use]
    pub fn new(params: AnyParams, info: FlowInfo, flow: u32) -> Self {
        let transport = Any::transport(&params);
        let law = LoggedSender::new(&params, &info);
        let prefix = prefix_bytes(params.law().signalling) as u16;
        Self {
            sender: Sender::new(law, &transport, Time::ZERO).with_recovery(&transport, true, MAX_PACKETS),
            limits: Limits {
                max_rate: Some(Rate::clamped(Limits::MAX_RATE)),
                catch_up: Limits::OWN_THREAD,
                control: prefix,
                headers: 0,
                least: prefix,
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

    /// Sets the limits of the host.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the rate limit, which no ACK can raise. The default is 10 Gb/s.
    #[must_use]
    pub fn with_max_rate(mut self, max_rate: Rate) -> Self {
        self.limits.max_rate = Some(max_rate);
        self
    }

    /// Sets size and stop time of the transfer. The size excludes the headers of packets. If `retransmits` is true,
    /// lost data is retransmitted.
    #[must_use]
    pub fn with_transfer(mut self, size: Option<u64>, stop: Option<Time>, retransmits: bool) -> Self {
        let mut sender = self.sender.with_recovery(&self.transport, retransmits, MAX_PACKETS);
        if let Some(size) = size {
            sender = sender.with_size(size);
        }
        self.sender = sender.with_stop(stop.unwrap_or(Time::NEVER));
        self
    }

    /// Calls [`Sender::with_application`].
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.sender = self.sender.with_application();
        self
    }

    /// Calls [`Sender::write`].
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// Calls [`Sender::is_delivered`].
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.sender.is_delivered()
    }

    /// Opens the flow at once. The owner has already completed a handshake.
    #[must_use]
    pub fn without_handshake(mut self) -> Self {
        self.sender = self.sender.without_handshake();
        self
    }

    /// Logs the inputs of the law. Call this method before the first packet. The log must have the parameters and the
    /// flow information of this sender.
    #[must_use]
    pub fn with_log(mut self, log: Log<S>) -> Self {
        self.sender.replace_law(LoggedSender::with_log(
            AnySender::new(&self.params, &self.info),
            Some(log),
        ));
        self
    }

    /// Returns the parameters of the law.
    #[must_use]
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// Returns the transport requirements of the law.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns the random number that ACKs of the flow carry.
    #[must_use]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Returns the rate of the law, or the host's rate limit if that is lower.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.sender.rate(&self.limits)
    }

    /// Returns the next rate that the law proposes, or the host's rate limit if that is lower.
    #[must_use]
    pub fn proposal(&self) -> Rate {
        self.limits.bounded(self.law().proposal())
    }

    /// Returns the congestion window of the law: the limit on data packets in flight.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.law().window()
    }

    /// Returns the number of data packets in flight, according to the ACKs received so far.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.sender.outstanding()
    }

    /// Returns true if the flow has data to send at `now`.
    #[must_use]
    pub fn has_data(&self, now: Time) -> bool {
        self.sender.has_data(now)
    }

    /// Returns true if the flow has stopped, or if ACKs show that all its data has arrived.
    #[must_use]
    pub fn is_done(&self, now: Time) -> bool {
        self.sender.is_done(now)
    }

    /// Returns the bottleneck that limits the flow's rate, according to its law.
    #[must_use]
    pub fn bottleneck(&self) -> Bottleneck {
        self.law().bottleneck()
    }

    /// Returns the smoothed round-trip time. `None` before the first ACK.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.sender.smoothed_rtt()
    }

    /// Returns counters of packets sent and ACKs received so far.
    #[must_use]
    pub fn counters(&self) -> FlowCounters {
        let headers = u64::from(self.limits.headers);
        let mut data = self.sender.totals();
        data.delivered_bytes += headers * data.delivered;
        data.lost_bytes += headers * data.lost;
        FlowCounters {
            packets: self.packets,
            bytes: self.bytes,
            acks: self.acks,
            data,
            refused: self.rejected,
        }
    }

    /// Returns the state of the law.
    #[must_use]
    pub fn law(&self) -> &AnySender {
        self.sender.law()
    }

    /// Skips packet numbers up to `number`.
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

    /// Returns the time at which pacing allows the next packet, regardless of the congestion window.
    #[must_use]
    pub fn departure(&self) -> Time {
        self.sender.departure(&self.limits)
    }

    /// Restarts pacing at `now`, after another pacer has been used.
    pub fn restart_pacing(&mut self, now: Time) {
        self.sender.restart_pacing(now);
    }

    /// Returns the time of the next action, under the assumption that no ACK arrives earlier. This time may be in the
    /// past.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.poll_timeout(&rules)
    }

    /// Declares packets lost if the timer has expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.handle_timeout(&rules, now);
    }

    /// Writes shim and header of a packet if one is due now.
    ///
    /// # Panics
    /// Panics if `out` is shorter than [`shim::MAX_PREFIX_BYTES`](levelflow_wire::shim::MAX_PREFIX_BYTES).
    pub fn poll_transmit(&mut self, now: Time, stamp_ns: u64, out: &mut [u8]) -> Option<Encoded> {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.poll_transmit(&rules, now, stamp_ns)?;
        Some(self.encode(&packet, stamp_ns, false, out))
    }

    /// Writes shim and header of a data packet of this size. The packet leaves regardless of pacing and congestion
    /// window. If `more` is true, another shim follows in the datagram.
    ///
    /// # Panics
    /// Panics if `out` is too short, as for [`poll_transmit`](Self::poll_transmit).
    pub fn transmit_sized(&mut self, now: Time, stamp_ns: u64, size: u16, more: bool, out: &mut [u8]) -> Encoded {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.transmit_sized(&rules, now, size, stamp_ns);
        self.encode(&packet, stamp_ns, more, out)
    }

    /// Writes the packet that signals the end of the flow.
    ///
    /// # Panics
    /// Panics if `out` is too short, as for [`poll_transmit`](Self::poll_transmit).
    pub fn transmit_end(&mut self, now: Time, stamp_ns: u64, out: &mut [u8]) -> Encoded {
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        let packet = self.sender.transmit_end(&rules, now, stamp_ns);
        self.encode(&packet, stamp_ns, false, out)
    }

    fn encode(&mut self, packet: &Transmit<AnyHeader>, time: u64, more: bool, out: &mut [u8]) -> Encoded {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        let length = packet.header.encode(&mut out[SHIM_BYTES..]);
        let shim = Shim {
            kind: packet.kind,
            marked: false,
            more,
            unacknowledged: !self.transport.acknowledged,
            signalling: self.params.law().signalling.number,
            header: length as u8,
            flow: self.flow,
            number: packet.number,
            time,
        };
        shim.encode(out);
        Encoded {
            size: Bytes::new(u64::from(packet.size)),
            prefix: SHIM_BYTES + length,
        }
    }

    /// Handles an ACK that arrives at `now`. `stamp_ns` is the same time on the timestamp clock. `rest` begins with the
    /// history of the ACK, if there is one.
    ///
    /// # Errors
    /// Returns an error if the ACK is rejected. In this case, only counters change.
    pub fn handle_ack(
        &mut self,
        now: Time,
        stamp_ns: u64,
        shim: &Shim,
        header: &[u8],
        rest: &[u8],
    ) -> Result<AckReport, Rejected> {
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
                .first_chunk::<HISTORY_BYTES>()
                .map_or(0, |bytes| u128::from_be_bytes(*bytes)),
        };
        self.acks += 1;
        let rules = Self::rules(&self.params, &self.transport, &self.limits);
        self.sender.handle_ack(&rules, now, &ack);
        Ok(AckReport {
            rtt: ack.rtt,
            routed: header.seen_by_router(),
        })
    }

    fn validate(&self, stamp_ns: u64, shim: &Shim, header: &[u8]) -> Result<(Kind, AnyHeader), Rejected> {
        if shim.kind != Kind::Ack || shim.flow != self.flow {
            return Err(Rejected::UnknownFlow);
        }
        let signalling = self.params.law().signalling;
        if shim.signalling != signalling.number || header.len() != signalling.header_bytes() {
            return Err(Rejected::Signalling);
        }
        let (kind, sent, acked) = self.sender.sent(shim.number).ok_or(Rejected::Unknown)?;
        if acked {
            return Err(Rejected::Replayed);
        }
        if !(sent..=stamp_ns).contains(&shim.time) {
            return Err(Rejected::Time);
        }
        let header = AnyHeader::decode(signalling, header).map_err(Rejected::Header)?;
        Ok((kind, header))
    }
}
