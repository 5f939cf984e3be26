//! UDP drivers of both ends, each in one thread.

use std::collections::hash_map::RandomState;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use levelflow_host::batch::{Batch, MAX_BATCH, MAX_BATCHES_PER_TURN};
use levelflow_host::clock::{Clock, ready, span};
use levelflow_host::stop::Stop;
use levelflow_host::udp::{overhead, set_ecn, udp};
use levelflow_host::{Error, sys};
use levelflow_units::{Duration, Rate, Time};
use rustix::event::{PollFd, PollFlags};

use crate::ecn::{EcnOutcome, EcnProbe};
use crate::message::{CONTROL_BYTES, MAX_MESSAGE_BYTES, Session};
use crate::probe::{Channel, Failure, Outcome, Probe, Settings};
use crate::responsive::{self, TcpOutcome};
use crate::tcp::{self, FarEnd};
use crate::{Limits, Reflector};

/// Longest sleep between two checks for signals, and interval between progress reports.
const MAX_SLEEP: Duration = Duration::from_ms(100);

/// Batch of up to [`MAX_BATCH`] datagrams to be sent by one socket.
struct Outgoing {
    room: Vec<[u8; MAX_MESSAGE_BYTES]>,
    /// Length, destination and ECN field of each datagram.
    waiting: Vec<(usize, Option<SocketAddr>, u8)>,
    /// ECN field of the socket.
    ecn: u8,
}

impl Outgoing {
    fn new() -> Self {
        Self {
            room: vec![[0; MAX_MESSAGE_BYTES]; MAX_BATCH],
            waiting: Vec::with_capacity(MAX_BATCH),
            ecn: 0,
        }
    }

    /// Appends a datagram. The batch must not be full.
    fn push(&mut self, wire: &[u8], to: Option<SocketAddr>, ecn: u8) {
        self.room[self.waiting.len()][..wire.len()].copy_from_slice(wire);
        self.waiting.push((wire.len(), to, ecn));
    }

    fn is_full(&self) -> bool {
        self.waiting.len() == MAX_BATCH
    }

    /// Sends the batch. A datagram that the kernel rejects is lost.
    fn send(&mut self, batch: &mut Batch, socket: &UdpSocket) {
        let mut room = &self.room[..];
        for equal in self.waiting.chunk_by(|one, next| one.2 == next.2) {
            if self.ecn != equal[0].2 && set_ecn(socket, equal[0].2).is_ok() {
                self.ecn = equal[0].2;
            }
            let datagrams = equal.iter().zip(room);
            batch.send(socket, datagrams.map(|((length, to, _), wire)| (&wire[..*length], *to)));
            room = &room[equal.len()..];
        }
        self.waiting.clear();
    }
}

/// Opens the sockets of a reflector at an address, with the same port for UDP and TCP.
///
/// # Errors
/// When the address is in use.
pub fn bind(at: SocketAddr) -> Result<(UdpSocket, TcpListener), Error> {
    let socket = udp(at)?;
    let at = socket.local_addr().map_err(Error::failed)?;
    let listener = TcpListener::bind(at).map_err(|e| Error::failed(format!("cannot open TCP at {at}: {e}")))?;
    Ok((socket, listener))
}

/// Serves probes until stopped or until `time` is over. Returns the number of sessions.
///
/// Calls `ready` with the bound address. Calls `read` with the client's address when a session starts, and with `None`
/// when a session ends.
///
/// # Errors
/// When a socket fails.
pub fn serve(
    (socket, listener): &(UdpSocket, TcpListener),
    limits: Limits,
    time: Option<Duration>,
    stop: &Stop,
    ready: impl FnOnce(SocketAddr),
    mut read: impl FnMut(Option<IpAddr>),
) -> Result<u64, Error> {
    let at = socket.local_addr().map_err(Error::failed)?;
    let (current, over) = (tcp::Served::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| tcp::serve(listener, &current, limits.max_rate, &over));
        ready(at);
        let sessions = reflect(socket, limits, time, stop, |session| {
            *current.lock().unwrap_or_else(PoisonError::into_inner) = session;
            read(session.map(|(ip, _)| ip));
        });
        over.store(true, Ordering::Relaxed);
        sessions
    })
}

/// Serves probes over UDP. Calls `read` with the client's address and the secret when a session starts, and with `None`
/// when a session ends.
fn reflect(
    socket: &UdpSocket,
    limits: Limits,
    time: Option<Duration>,
    stop: &Stop,
    mut read: impl FnMut(Option<(IpAddr, u64)>),
) -> Result<u64, Error> {
    sys::sharp_timers();
    let mut reflector = Reflector::new(limits, RandomState::new());
    let (clock, mut batch, mut out) = (Clock::start(), Batch::default(), Outgoing::new());
    let end = time.map_or(Time::NEVER, |time| Time::ZERO + time);
    let (mut served, mut wire) = (None, [0; MAX_MESSAGE_BYTES]);
    while clock.now() < end {
        let next = reflector.poll_timeout().unwrap_or(Time::NEVER).min(end);
        if wait(&clock, &[socket], stop, next)? {
            break;
        }
        reflector.handle_timeout(clock.now());
        for _ in 0..MAX_BATCHES_PER_TURN {
            let taken = batch.receive(socket, |wire, origin| {
                let mut answer = [0; CONTROL_BYTES];
                let Some(from) = origin.from else { return };
                if let Some((length, ecn)) = reflector.handle_input(clock.now(), from, wire, origin.ecn, &mut answer) {
                    out.push(&answer[..length], Some(from), ecn);
                }
            });
            out.send(&mut batch, socket);
            if !matches!(taken, Ok(MAX_BATCH..)) {
                break;
            }
        }
        // Load is sent after replies, so that load does not delay replies.
        while !out.is_full()
            && let Some((to, length, ecn)) = reflector.poll_transmit(clock.now(), &mut wire)
        {
            out.push(&wire[..length], Some(to), ecn);
        }
        out.send(&mut batch, socket);
        if reflector.serves() != served {
            served = reflector.serves();
            read(served);
        }
    }
    Ok(reflector.sessions)
}

/// Waits for a datagram or a signal, at most until the time `until` and at most for [`MAX_SLEEP`]. Returns true if a
/// signal requests a stop.
fn wait(clock: &Clock, sockets: &[&UdpSocket], stop: &Stop, until: Time) -> Result<bool, Error> {
    let left = span(until.since(clock.now()).min(MAX_SLEEP));
    let mut watched: Vec<_> = sockets
        .iter()
        .map(|one| PollFd::from_borrowed_fd(one.as_fd(), PollFlags::IN))
        .collect();
    watched.push(PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN));
    ready(&mut watched, left)?;
    Ok(watched.last().is_some_and(|stop_fd| !stop_fd.revents().is_empty()))
}

/// State machine of the near end.
trait Near {
    type Outcome;
    fn finished(&self) -> Option<Result<Self::Outcome, Failure>>;
    fn wake_up(&self) -> Time;
    fn expire(&mut self, now: Time);
    fn receive(&mut self, now: Time, lane: Channel, wire: &[u8], ecn: u8);
    fn transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize, u8)>;
}

impl Near for Probe {
    type Outcome = Outcome;
    fn finished(&self) -> Option<Result<Outcome, Failure>> {
        self.outcome()
    }
    fn wake_up(&self) -> Time {
        self.poll_timeout()
    }
    fn expire(&mut self, now: Time) {
        self.handle_timeout(now);
    }
    fn receive(&mut self, now: Time, lane: Channel, wire: &[u8], _ecn: u8) {
        self.handle_input(now, lane, wire);
    }
    fn transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize, u8)> {
        self.poll_transmit(now, wire).map(|(lane, length)| (lane, length, 0))
    }
}

impl Near for EcnProbe {
    type Outcome = EcnOutcome;
    fn finished(&self) -> Option<Result<EcnOutcome, Failure>> {
        self.outcome()
    }
    fn wake_up(&self) -> Time {
        self.poll_timeout()
    }
    fn expire(&mut self, now: Time) {
        self.handle_timeout(now);
    }
    fn receive(&mut self, now: Time, lane: Channel, wire: &[u8], ecn: u8) {
        self.handle_input(now, lane, wire, ecn);
    }
    fn transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize, u8)> {
        self.poll_transmit(now, wire)
    }
}

/// Near end of a line, connected to a reflector.
pub struct Line<'a> {
    to: SocketAddr,
    sockets: [UdpSocket; 2],
    outs: [Outgoing; 2],
    batch: Batch,
    clock: Clock,
    stop: &'a Stop,
    /// Session after a measurement.
    session: Option<Session>,
}

impl<'a> Line<'a> {
    /// Opens the sockets to a reflector.
    ///
    /// # Errors
    /// When no socket can be opened.
    pub fn new(to: SocketAddr, stop: &'a Stop) -> Result<Self, Error> {
        sys::sharp_timers();
        Ok(Self {
            to,
            sockets: [open(to)?, open(to)?],
            outs: [Outgoing::new(), Outgoing::new()],
            batch: Batch::default(),
            clock: Clock::start(),
            stop,
            session: None,
        })
    }

    /// Measures the line with load for at most `time` per direction and at most `max_rate`. Calls `read` every 0.1 s
    /// for progress. Returns `None` if stopped.
    ///
    /// # Errors
    /// When the reflector does not reply, or stops replying.
    pub fn measure(
        &mut self,
        time: Duration,
        max_rate: Rate,
        read: impl FnMut(Time, &Probe),
    ) -> Result<Option<Outcome>, Error> {
        let settings = Settings {
            time,
            max_rate,
            around: overhead(&self.to),
        };
        let mut probe = Probe::new(self.clock.now(), settings, rand::random());
        let outcome = self.run(&mut probe, read)?;
        self.session = probe.session();
        Ok(outcome)
    }

    /// Tests the measured line for L4S. Calls `read` every 0.1 s for progress. Returns `None` if stopped.
    ///
    /// # Errors
    /// When the line was not measured before, or the reflector stops replying.
    pub fn test_ecn(
        &mut self,
        measured: &Outcome,
        read: impl FnMut(Time, &EcnProbe),
    ) -> Result<Option<EcnOutcome>, Error> {
        let session = self.session.ok_or_else(|| Error::failed("the line was not measured"))?;
        let capacity = measured.loaded.each_ref().map(|way| way.capacity);
        let mut probe = EcnProbe::new(self.clock.now(), session, capacity, &measured.idle);
        self.run(&mut probe, read)
    }

    /// Loads both directions at once with TCP, for at most `time`, and measures the responsiveness. An empty `control`
    /// selects the default congestion control of each end. Calls `read` every second for progress. Returns `None` if
    /// stopped.
    ///
    /// # Errors
    /// When the line was not measured before, or a connection fails.
    pub fn test_tcp(
        &mut self,
        control: &str,
        time: Duration,
        mut read: impl FnMut(Time, usize),
    ) -> Result<Option<TcpOutcome>, Error> {
        let session = self.session.ok_or_else(|| Error::failed("the line was not measured"))?;
        let failed = |e| Error::failed(format!("{}: TCP: {e}", self.to));
        let far = FarEnd {
            at: self.to,
            id: session.id,
            control: control.to_owned(),
        };
        let mut test = responsive::Tcp::new(far, self.clock.now() + time);
        let mut pings = responsive::Pings::new(session);
        loop {
            let now = self.clock.now();
            if test.step(now, &mut read).map_err(failed)? {
                break;
            }
            if let Some((length, wire)) = pings.poll_transmit(now) {
                self.outs[0].push(&wire[..length], None, 0);
                self.outs[0].send(&mut self.batch, &self.sockets[0]);
            }
            if wait(&self.clock, &[&self.sockets[0]], self.stop, now + responsive::TICK)? {
                return Ok(None);
            }
            let (clock, batch) = (&self.clock, &mut self.batch);
            // An error reports that an earlier datagram reached a closed port.
            let _ = batch.receive(&self.sockets[0], |wire, _| pings.handle_input(clock.now(), wire));
        }
        self.session = Some(pings.session());
        Ok(test.outcome(&pings))
    }

    fn run<N: Near>(&mut self, near: &mut N, mut read: impl FnMut(Time, &N)) -> Result<Option<N::Outcome>, Error> {
        let Self {
            sockets,
            outs,
            batch,
            clock,
            stop,
            ..
        } = self;
        let (mut shown, mut wire) = (Time::ZERO, [0; MAX_MESSAGE_BYTES]);
        loop {
            if wait(clock, &[&sockets[0], &sockets[1]], stop, near.wake_up())? {
                return Ok(None);
            }
            near.expire(clock.now());
            for (socket, lane) in sockets.iter().zip([Channel::Call, Channel::Load]) {
                for _ in 0..MAX_BATCHES_PER_TURN {
                    // An error reports that an earlier datagram reached a closed port. The timeout covers this case.
                    let taken = batch.receive(socket, |wire, origin| {
                        near.receive(clock.now(), lane, wire, origin.ecn);
                    });
                    if !matches!(taken, Ok(MAX_BATCH..)) {
                        break;
                    }
                }
            }
            while !outs[1].is_full()
                && !outs[0].is_full()
                && let Some((lane, length, ecn)) = near.transmit(clock.now(), &mut wire)
            {
                outs[lane as usize].push(&wire[..length], None, ecn);
            }
            for (out, socket) in outs.iter_mut().zip(&*sockets) {
                out.send(batch, socket);
            }
            match near.finished() {
                Some(Ok(outcome)) => return Ok(Some(outcome)),
                Some(Err(failure)) => return Err(Error::failed(why(failure, self.to))),
                None => {}
            }
            let now = clock.now();
            if now >= shown {
                read(now, near);
                shown = now + MAX_SLEEP;
            }
        }
    }
}

fn open(to: SocketAddr) -> Result<UdpSocket, Error> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = udp(SocketAddr::new(any, 0))?;
    socket.connect(to).map_err(|e| Error::failed(format!("{to}: {e}")))?;
    Ok(socket)
}

fn why(failure: Failure, to: SocketAddr) -> String {
    match failure {
        Failure::NoReply => {
            format!("{to}: no reply; check that levelflow-net probe --serve runs there, and that firewalls pass UDP")
        }
        Failure::Busy => format!("{to}: another client is being served; try again in a minute"),
        Failure::TimedOut => format!("{to}: it replied at first, and no longer does"),
    }
}
