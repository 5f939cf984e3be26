//! Load for tests: flows of a law and their receivers.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration as Span, Instant};

use levelflow_host::clock::{Clock, stamp};
use levelflow_journal::Sender;
use levelflow_laws::{AnyParams, FlowInfo};
use levelflow_transport::{Received, Receiver};
use levelflow_units::Bytes;
use levelflow_units::headers::{ETHERNET, IPV4, UDP};
use levelflow_wire::shim::Shim;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Sends a flow of a law until `end`. Returns the flow's sender.
#[must_use]
pub fn flow(params: AnyParams, number: u32, to: SocketAddr, end: Instant) -> Sender {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(to).unwrap();
    socket.set_nonblocking(true).unwrap();
    let clock = Clock::start();
    let mut sender = Sender::new(params, FlowInfo::of(Bytes::new(1000)), number);
    let mut room = [0; 2000];
    while Instant::now() < end {
        let now = clock.now();
        sender.handle_timeout(now);
        let mut packet = [0; 2000];
        if let Some(encoded) = sender.poll_transmit(now, stamp(), &mut packet) {
            let length = (encoded.size.get() as usize)
                .saturating_sub(ETHERNET + IPV4 + UDP)
                .max(60);
            let _ = socket.send(&packet[..length]);
        }
        let due = sender.poll_timeout();
        let wait = due
            .map_or(Span::from_millis(5), |at| clock.until(at))
            .min(Span::from_millis(5));
        // The kernel rounds the socket's own timeout to ticks. The socket is therefore polled with a separate timeout.
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: wait.subsec_nanos().into(),
        };
        let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&limit));
        if let Ok(length) = socket.recv(&mut room)
            && let Ok((shim, header, rest)) = Shim::decode(&room[..length])
        {
            let _ = sender.handle_ack(clock.now(), stamp(), &shim, header, rest);
        }
    }
    sender
}

/// Acknowledges packets until `end`. Returns the number of bytes of each flow that arrived between `begin` and `end`.
#[must_use]
pub fn acks(socket: &UdpSocket, begin: Instant, end: Instant) -> HashMap<u32, u64> {
    let mut bytes = HashMap::new();
    for (_, flow, size) in arrivals(socket, end).iter().filter(|(at, ..)| *at >= begin) {
        *bytes.entry(*flow).or_default() += size;
    }
    bytes
}

/// Acknowledges packets until `end`. Returns the arrival time, the flow and the size of each packet.
#[must_use]
pub fn arrivals(socket: &UdpSocket, end: Instant) -> Vec<(Instant, u32, u64)> {
    let clock = Clock::start();
    let (mut flows, mut all) = (HashMap::new(), Vec::new());
    socket.set_read_timeout(Some(Span::from_millis(20))).unwrap();
    let mut room = [0; 2000];
    while Instant::now() < end {
        let Ok((length, from)) = socket.recv_from(&mut room) else {
            continue;
        };
        let Ok((shim, header, _)) = Shim::decode(&room[..length]) else {
            continue;
        };
        let size = Bytes::new((ETHERNET + IPV4 + UDP + length) as u64);
        let receiver = flows
            .entry(shim.flow)
            .or_insert_with(|| Receiver::new(shim.signalling).unwrap());
        let mut ack = [0; 100];
        let (_, length) = receiver
            .ack(
                clock.now(),
                Received {
                    shim: &shim,
                    header,
                    size,
                    marked: false,
                },
                length,
                &mut ack,
            )
            .unwrap();
        let _ = socket.send_to(&ack[..length], from);
        all.push((Instant::now(), shim.flow, size.get()));
    }
    all
}
