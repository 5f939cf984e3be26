//! Flow to a peer: outgoing shims, the ACKs received for them, and the ACKs sent for the peer's shims.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use levelflow_laws::{AnyParams, Bottleneck, FlowInfo, SenderLaw};
use levelflow_units::headers::{ETHERNET, IPV4, UDP};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::Role;
use levelflow_wire::shim::{MAX_PREFIX_BYTES, Shim, prefix_bytes};
use noq::udp::{RecvMeta, Transmit};

use super::flows::{FlowSlot, Flows};
use super::incoming::{Held, Incoming};
use super::io::Io;
use super::limits::{DATAGRAM_BYTES, IDLE, IDLE_RTTS, MIN_DATA_BYTES};
use super::quantum::quantum;
use super::selector::{Control, ControllerSelector};
use super::timer::{self, Timer};
use levelflow_host::clock::{Clock, span, stamp};
use levelflow_host::udp::overhead;
use levelflow_journal::{Journal, Sender};
use levelflow_transport::{FlowCounters, Limits};

/// Maximum time between packets at any rate of the law. Without packets, the law would receive no feedback.
const LONGEST_GAP: Duration = Duration::from_ms(500);
/// Maximum delay of an ACK that waits for a datagram to carry it.
const ACK_DELAY: std::time::Duration = std::time::Duration::from_millis(1);
/// Window that never limits.
const UNLIMITED_WINDOW: u64 = 1 << 40;

/// Law with its parameters.
#[derive(Debug, Clone)]
pub(super) struct LawConfig {
    /// The law with its parameters.
    pub params: AnyParams,
    /// Parameter values, in the order and units of a log.
    pub values: Vec<f64>,
    /// Log of the law's inputs.
    pub journal: Option<Journal>,
}

/// State of a flow and its feedback so far.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Active controller.
    pub control: Control,
    /// Sending rate of the law, counting bytes on the wire.
    pub rate: Rate,
    /// Bottleneck of the flow, if the law identifies it.
    pub bottleneck: Bottleneck,
    /// Shims sent and ACKs received.
    pub counters: FlowCounters,
}

/// Shared state of an endpoint.
#[derive(Debug)]
pub(super) struct Core {
    pub io: Io,
    pub timer: Timer<Job>,
    pub clock: Clock,
    /// Peers of outgoing flows and of incoming flows, by flow number.
    pub outgoing: Arc<Flows<Peer>>,
    pub incoming: Arc<Flows<Peer>>,
}

impl Core {
    pub fn new(socket: std::net::UdpSocket) -> std::io::Result<Self> {
        Ok(Self {
            io: Io::new(socket)?,
            timer: Timer::start()?,
            clock: Clock::start(),
            outgoing: Arc::default(),
            incoming: Arc::default(),
        })
    }
}

/// Deferred job.
pub(super) enum Job {
    /// Wakes a task whose packet may leave.
    Wake(Waker),
    /// Sends the delayed ACKs to a peer.
    Ack(Weak<Peer>),
}

impl timer::Job for Job {
    fn run(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Ack(peer) => {
                if let Some(peer) = peer.upgrade() {
                    peer.send_acks();
                }
            }
        }
    }
}

/// Sending half of a flow with a law.
struct Outgoing {
    law_config: LawConfig,
    sender: Sender,
    entry: FlowSlot<Peer>,
    selector: ControllerSelector,
    /// Time of the last departure of data.
    sent: Option<Time>,
    /// Tasks that wait for the pacer.
    waiting: Vec<Waker>,
}

struct State {
    outgoing: Option<Outgoing>,
    incoming: Incoming<Peer>,
    scheduled: bool,
    datagram: u64,
}

/// See the [module](self).
pub(super) struct Peer {
    core: Arc<Core>,
    own: Weak<Peer>,
    state: Mutex<State>,
    /// Values that the connection's congestion controller reads: [`Control`], congestion window and batch size. Window
    /// and batch size are in bytes.
    control: AtomicU8,
    window: AtomicU64,
    quantum: AtomicU64,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Peer")
    }
}

impl Outgoing {
    fn new(law_config: LawConfig, flows: &Arc<Flows<Peer>>, own: &Weak<Peer>) -> Self {
        let sender = flow(&law_config);
        Self {
            entry: Flows::enter(flows, sender.flow(), own),
            sender,
            law_config,
            selector: ControllerSelector::new(),
            sent: None,
            waiting: Vec::new(),
        }
    }

    fn paces(&self) -> bool {
        self.selector.control() != Control::Standard && self.sender.law().paces()
    }

    /// Returns the earliest departure time of the next data.
    fn departure(&self) -> Time {
        match self.sent {
            Some(sent) => self.sender.departure().min(sent.saturating_add(LONGEST_GAP)),
            None => Time::ZERO,
        }
    }

    /// Prepares the departure of data: restarts the flow after a pause, and handles timeouts of missing ACKs.
    fn before_data(&mut self, now: Time) {
        let rtt = self.sender.rtt().unwrap_or(Duration::ZERO);
        let idle = IDLE.max(rtt.checked_mul(IDLE_RTTS).unwrap_or(Duration::MAX));
        if self.sent.is_some_and(|sent| now.since(sent) > idle) {
            self.sender = flow(&self.law_config);
            self.entry = self.entry.replaced_by(self.sender.flow());
            self.selector.on_pause();
        }
        self.sender.handle_timeout(now);
        self.selector.on_send(now, rtt);
        self.sent = Some(now);
    }

    fn wake(&mut self) {
        for waker in self.waiting.drain(..) {
            waker.wake();
        }
    }
}

fn flow(law_config: &LawConfig) -> Sender {
    let largest =
        ETHERNET + IPV4 + UDP + prefix_bytes(law_config.params.law().signalling) + usize::from(DATAGRAM_BYTES);
    let packet = Bytes::new(largest as u64);
    let limits = Limits {
        max_rate: Some(Rate::clamped(Limits::MAX_RATE)),
        catch_up: Limits::ASYNC_RUNTIME,
        control: 0,
        headers: 0,
        least: 0,
    };
    let info = FlowInfo::of(packet).with(rand::random(), None);
    let mut sender = Sender::new(law_config.params.clone(), info, rand::random())
        .with_limits(limits)
        .without_handshake()
        .with_transfer(None, None, false);
    if let Some(journal) = &law_config.journal {
        let role = Role::Sender(law_config.params.law(), info);
        sender = sender.with_log(journal.log(role, &law_config.values));
    }
    sender
}

/// Returns true if these datagrams are data; see [`MIN_DATA_BYTES`].
fn is_data(transmit: &Transmit<'_>) -> bool {
    transmit
        .segment_size
        .unwrap_or(transmit.contents.len())
        .min(transmit.contents.len())
        >= MIN_DATA_BYTES
}

impl Peer {
    pub fn new(core: Arc<Core>, law_config: Option<LawConfig>) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            own: Weak::clone(own),
            state: Mutex::new(State {
                outgoing: law_config.map(|law_config| Outgoing::new(law_config, &core.outgoing, own)),
                incoming: Incoming::new(Arc::clone(&core.incoming), Weak::clone(own)),
                scheduled: false,
                datagram: 1200,
            }),
            control: AtomicU8::new(Control::Standard as u8),
            window: AtomicU64::new(UNLIMITED_WINDOW),
            quantum: AtomicU64::new(u64::from(DATAGRAM_BYTES)),
            core,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the active controller.
    pub fn control(&self) -> Control {
        match self.control.load(Ordering::Relaxed) {
            c if c == Control::Law as u8 => Control::Law,
            c if c == Control::Both as u8 => Control::Both,
            _ => Control::Standard,
        }
    }

    /// Returns the congestion window of the law, in bytes.
    pub fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that may leave in one batch.
    pub fn quantum(&self) -> u64 {
        self.quantum.load(Ordering::Relaxed)
    }

    /// Returns the state of the law and its feedback; `None` without a law.
    pub fn status(&self) -> Option<Status> {
        let state = self.lock();
        let outgoing = state.outgoing.as_ref()?;
        Some(Status {
            control: outgoing.selector.control(),
            rate: outgoing.sender.rate(),
            bottleneck: outgoing.sender.bottleneck(),
            counters: outgoing.sender.counters(),
        })
    }

    /// Returns the name of the law, if the connection has a law.
    pub fn law(&self) -> Option<&'static str> {
        self.lock().outgoing.as_ref().map(|o| o.law_config.params.law().name)
    }

    /// Handles a new size of the connection's datagrams.
    pub fn on_mtu(&self, datagram: u16) {
        let mut state = self.lock();
        state.datagram = datagram.into();
        self.publish(&state);
    }

    /// Handles bytes that the connection reports as delivered or lost.
    pub fn on_delivery(&self, delivered: u64, lost: u64) {
        let mut state = self.lock();
        if let Some(outgoing) = &mut state.outgoing {
            outgoing.selector.on_delivery(self.core.clock.now(), delivered, lost);
            self.publish(&state);
        }
    }

    fn publish(&self, state: &State) {
        let Some(outgoing) = &state.outgoing else { return };
        let window = match outgoing.sender.window() {
            u32::MAX => UNLIMITED_WINDOW,
            packets => u64::from(packets) * state.datagram,
        };
        self.window.store(window, Ordering::Relaxed);
        self.control.store(outgoing.selector.control() as u8, Ordering::Relaxed);
        let batch = quantum(outgoing.sender.rate(), state.datagram);
        self.quantum.store(batch, Ordering::Relaxed);
    }

    /// Returns true if these datagrams must wait. In this case, `waker` is called when they may leave.
    pub fn must_wait(&self, transmit: &Transmit<'_>, waker: &Waker) -> bool {
        if !is_data(transmit) {
            return false;
        }
        let mut state = self.lock();
        let Some(outgoing) = state.outgoing.as_mut().filter(|o| o.paces()) else {
            return false;
        };
        let now = self.core.clock.now();
        let opens = outgoing.departure();
        if opens <= now {
            return false;
        }
        if !outgoing.waiting.iter().any(|w| w.will_wake(waker)) {
            outgoing.waiting.push(waker.clone());
        }
        let at = Instant::now() + span(opens.since(now));
        drop(state);
        self.core.timer.at(at, Job::Wake(waker.clone()));
        true
    }

    /// Writes the encoded datagrams to `out`; returns the segment size if there are several datagrams.
    pub fn encode(&self, transmit: &Transmit<'_>, out: &mut Vec<u8>) -> Option<usize> {
        let mut state = self.lock();
        let state = &mut *state;
        let alone = transmit.segment_size.is_none_or(|size| size >= transmit.contents.len());
        let ack = if alone && transmit.contents.len() <= 1200 {
            state.incoming.held.pop_front()
        } else {
            None
        };
        let prefix = match &mut state.outgoing {
            Some(outgoing) if is_data(transmit) => {
                let now = self.core.clock.now();
                encode_data(outgoing, now, transmit, ack.is_some(), out)
            }
            _ => 0,
        };
        if prefix > 0 {
            self.publish(state);
        }
        if prefix == 0 {
            if let Some(held) = ack {
                held.write(out);
            }
            out.extend_from_slice(transmit.contents);
        } else if let Some(held) = ack {
            let data = out.split_off(prefix);
            held.write(out);
            out.extend_from_slice(&data);
        }
        transmit.segment_size.map(|size| size + prefix)
    }

    /// Prepares the ACK of a packet that the peer has sent. Sends the delayed ACKs if their number has reached its
    /// limit.
    pub fn hold(&self, shim: &Shim, header: &[u8], length: usize, meta: &RecvMeta) {
        let size = Bytes::new((overhead(&meta.addr) + length) as u64);
        let mut state = self.lock();
        let now = self.core.clock.now();
        state.incoming.hold(now, shim, header, size, meta);
        if state.incoming.is_full() {
            drop(state);
            self.send_acks();
        }
    }

    /// Handles an ACK, which may belong to another flow.
    pub fn on_ack(&self, shim: &Shim, header: &[u8]) {
        let mut state = self.lock();
        // The clock is read with the lock held, so that the law's time never decreases.
        let now = self.core.clock.now();
        let Some(outgoing) = &mut state.outgoing else { return };
        let (rate, control) = (outgoing.sender.rate(), outgoing.selector.control());
        let Ok(news) = outgoing.sender.handle_ack(now, stamp(), shim, header, &[]) else {
            return;
        };
        if let Some(routed) = news.routed {
            outgoing.selector.on_ack(now, routed);
        }
        let new = outgoing.sender.rate();
        if outgoing.selector.control() != control {
            outgoing.sender.restart_pacing(now); // the other controller has paced so far
            outgoing.wake();
        } else if new > rate {
            outgoing.wake();
        }
        self.publish(&state);
    }

    /// Schedules the ACKs of a received batch of packets.
    pub fn after_batch(&self) {
        let mut state = self.lock();
        if state.incoming.held.len() > 1 {
            drop(state);
            self.send_acks();
        } else if !state.incoming.held.is_empty() && !state.scheduled {
            state.scheduled = true;
            drop(state);
            self.core
                .timer
                .at(Instant::now() + ACK_DELAY, Job::Ack(Weak::clone(&self.own)));
        }
    }

    /// Sends the delayed ACKs that were not piggybacked. Each system call sends as many ACKs as possible.
    pub fn send_acks(&self) {
        let mut held = {
            let mut state = self.lock();
            state.scheduled = false;
            std::mem::take(&mut state.incoming.held)
        };
        let segments = self.core.io.state.max_gso_segments().get();
        for alike in held.make_contiguous().chunk_by(Held::leaves_with) {
            for batch in alike.chunks(segments) {
                self.send_batch(batch);
            }
        }
    }

    fn send_batch(&self, batch: &[Held]) {
        let Some(first) = batch.first() else { return };
        let mut wire = Vec::with_capacity(batch.len() * first.length);
        for ack in batch {
            ack.write(&mut wire);
        }
        // ACKs that cannot leave are lost. After a device has rejected a super-packet, each batch has only one ACK.
        let _ = self.core.io.try_send(&Transmit {
            destination: first.to,
            ecn: None,
            contents: &wire,
            segment_size: (batch.len() > 1).then_some(first.length),
            src_ip: first.from,
        });
    }
}

/// Writes shim, header and payload of each segment; returns the length of shim and header.
fn encode_data(outgoing: &mut Outgoing, now: Time, transmit: &Transmit<'_>, more: bool, out: &mut Vec<u8>) -> usize {
    outgoing.before_data(now);
    let contents = transmit.contents;
    let prefix = prefix_bytes(outgoing.sender.params().law().signalling);
    let below = overhead(&transmit.destination);
    for segment in contents.chunks(transmit.segment_size.unwrap_or(contents.len()).max(1)) {
        let size = (below + prefix + segment.len()) as u16;
        let mut shim = [0; MAX_PREFIX_BYTES];
        let packet = outgoing.sender.transmit_sized(now, stamp(), size, more, &mut shim);
        debug_assert_eq!(packet.prefix, prefix);
        out.extend_from_slice(&shim[..prefix]);
        out.extend_from_slice(segment);
    }
    prefix
}

#[cfg(test)]
mod tests {
    use levelflow_scenario::settings;

    use super::*;

    #[tokio::test]
    async fn a_flow_that_begins_anew_has_the_window_of_its_law_before_the_next_ack() {
        let params = settings::params("xcp", &[]).unwrap();
        let law_config = LawConfig {
            params,
            values: Vec::new(),
            journal: None,
        };
        let core = Core::new(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        let peer = Peer::new(Arc::new(core), Some(law_config.clone()));
        peer.lock().outgoing.as_mut().unwrap().sent = Some(Time::ZERO);
        tokio::time::sleep(span(IDLE + Duration::from_ms(100))).await;
        peer.window.store(1 << 30, Ordering::Relaxed);
        let data = Transmit {
            destination: "127.0.0.1:9".parse().unwrap(),
            ecn: None,
            contents: &[0; 1200],
            segment_size: None,
            src_ip: None,
        };
        peer.encode(&data, &mut Vec::new());
        assert_eq!(peer.window(), u64::from(flow(&law_config).window()) * 1200);
    }
}
