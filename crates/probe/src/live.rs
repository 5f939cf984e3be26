//! UDP drivers of both ends, each in one thread.

use std::collections::hash_map::RandomState;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use levelflow_host::batch::{Batch, MAX_BATCH, MAX_BATCHES_PER_TURN};
use levelflow_host::clock::{Clock, ready, span};
use levelflow_host::stop::Stop;
use levelflow_host::udp::{overhead, udp};
use levelflow_host::{Error, sys};
use levelflow_units::{Duration, Rate, Time};
use rustix::event::{PollFd, PollFlags};

use crate::message::{CONTROL_BYTES, MAX_MESSAGE_BYTES};
use crate::probe::{Channel, Failure, Outcome, Probe, Settings};
use crate::{Limits, Reflector};

/// Longest sleep between two checks for signals, and interval between progress reports.
const MAX_SLEEP: Duration = Duration::from_ms(100);

/// Batch of up to [`MAX_BATCH`] datagrams to be sent.
struct Outgoing {
    room: Vec<[u8; MAX_MESSAGE_BYTES]>,
    waiting: Vec<(usize, Option<SocketAddr>)>,
}

impl Outgoing {
    fn new() -> Self {
        Self {
            room: vec![[0; MAX_MESSAGE_BYTES]; MAX_BATCH],
            waiting: Vec::with_capacity(MAX_BATCH),
        }
    }

    /// Appends a datagram. The batch must not be full.
    fn push(&mut self, wire: &[u8], to: Option<SocketAddr>) {
        self.room[self.waiting.len()][..wire.len()].copy_from_slice(wire);
        self.waiting.push((wire.len(), to));
    }

    fn is_full(&self) -> bool {
        self.waiting.len() == MAX_BATCH
    }

    /// Sends the batch. A datagram that the kernel rejects is lost.
    fn send(&mut self, batch: &mut Batch, socket: &UdpSocket) {
        if self.waiting.is_empty() {
            return;
        }
        let datagrams = self.waiting.iter().zip(&self.room);
        batch.send(socket, datagrams.map(|((length, to), wire)| (&wire[..*length], *to)));
        self.waiting.clear();
    }
}

/// Serves probes at an address until stopped or until `time` is over. Returns the number of sessions.
///
/// Calls `ready` with the bound address. Calls `read` with the client's address when a session starts, and with `None`
/// when a session ends.
///
/// # Errors
/// When the address is in use.
pub fn serve(
    at: SocketAddr,
    limits: Limits,
    time: Option<Duration>,
    stop: &Stop,
    ready: impl FnOnce(SocketAddr),
    mut read: impl FnMut(Option<IpAddr>),
) -> Result<u64, Error> {
    let socket = udp(at)?;
    ready(socket.local_addr().map_err(Error::failed)?);
    sys::sharp_timers();
    let mut reflector = Reflector::new(limits, RandomState::new());
    let (clock, mut batch, mut out) = (Clock::start(), Batch::default(), Outgoing::new());
    let end = time.map_or(Time::NEVER, |time| Time::ZERO + time);
    let (mut served, mut wire) = (None, [0; MAX_MESSAGE_BYTES]);
    while clock.now() < end {
        let next = reflector.poll_timeout().unwrap_or(Time::NEVER).min(end);
        if wait(&clock, &[&socket], stop, next)? {
            break;
        }
        reflector.handle_timeout(clock.now());
        for _ in 0..MAX_BATCHES_PER_TURN {
            let taken = batch.receive(&socket, |wire, origin| {
                let mut answer = [0; CONTROL_BYTES];
                let Some(from) = origin.from else { return };
                if let Some(length) = reflector.handle_input(clock.now(), from, wire, &mut answer) {
                    out.push(&answer[..length], Some(from));
                }
            });
            out.send(&mut batch, &socket);
            if !matches!(taken, Ok(MAX_BATCH..)) {
                break;
            }
        }
        // Load is sent after replies, so that load does not delay replies.
        while !out.is_full()
            && let Some((to, length)) = reflector.poll_transmit(clock.now(), &mut wire)
        {
            out.push(&wire[..length], Some(to));
        }
        out.send(&mut batch, &socket);
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

/// Measures the line to a reflector. Calls `read` every 0.1 s for progress. Returns `None` if stopped.
///
/// # Errors
/// When the reflector does not reply, or stops replying.
pub fn probe(
    to: SocketAddr,
    time: Duration,
    max_rate: Rate,
    stop: &Stop,
    mut read: impl FnMut(Time, &Probe),
) -> Result<Option<Outcome>, Error> {
    let sockets = [open(to)?, open(to)?];
    sys::sharp_timers();
    let clock = Clock::start();
    let settings = Settings {
        time,
        max_rate,
        around: overhead(&to),
    };
    let mut probe = Probe::new(clock.now(), settings, rand::random());
    let (mut batch, mut shown, mut wire) = (Batch::default(), Time::ZERO, [0; MAX_MESSAGE_BYTES]);
    let mut outs = [Outgoing::new(), Outgoing::new()];
    loop {
        if wait(&clock, &[&sockets[0], &sockets[1]], stop, probe.poll_timeout())? {
            return Ok(None);
        }
        probe.handle_timeout(clock.now());
        for (socket, lane) in sockets.iter().zip([Channel::Call, Channel::Load]) {
            for _ in 0..MAX_BATCHES_PER_TURN {
                // An error reports that an earlier datagram reached a closed port. The timeout covers this case.
                let taken = batch.receive(socket, |wire, _| probe.handle_input(clock.now(), lane, wire));
                if !matches!(taken, Ok(MAX_BATCH..)) {
                    break;
                }
            }
        }
        while !outs[1].is_full()
            && let Some((lane, length)) = probe.poll_transmit(clock.now(), &mut wire)
        {
            outs[lane as usize].push(&wire[..length], None);
        }
        for (out, socket) in outs.iter_mut().zip(&sockets) {
            out.send(&mut batch, socket);
        }
        match probe.outcome() {
            Some(Ok(outcome)) => return Ok(Some(outcome)),
            Some(Err(failure)) => return Err(Error::failed(why(failure, to))),
            None => {}
        }
        let now = clock.now();
        if now >= shown {
            read(now, &probe);
            shown = now + MAX_SLEEP;
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
