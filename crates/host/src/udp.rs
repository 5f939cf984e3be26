//! Sockets, and sizes on the wire.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use levelflow_wire::shim::{ETHERNET, IPV4, IPV6, UDP};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::Error;

/// Room that a socket asks for, bytes; the system may give less.
const ROOM: usize = 4 << 20;

/// What precedes the payload of a datagram to or from this address, bytes on the wire.
#[must_use]
pub fn overhead(peer: &SocketAddr) -> usize {
    let ip = match peer.ip() {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => IPV4,
        IpAddr::V6(_) => IPV6,
    };
    ETHERNET + ip + UDP
}

/// Packets that leave say that queues may mark them instead of dropping them: ECT(0) (RFC 3168), or ECT(1) of a scalable sender
/// (RFC 9331).
///
/// # Errors
/// When the system refuses.
pub fn ask_for_marks(socket: &UdpSocket, scalable: bool) -> Result<(), Error> {
    let field = if scalable { 0b01 } else { 0b10 };
    let options = SockRef::from(socket);
    let asked = match socket.local_addr() {
        Ok(SocketAddr::V6(_)) => options.set_tclass_v6(field),
        _ => options.set_tos_v4(field),
    };
    asked.map_err(|e| Error::failed(format!("ECN: {e}")))
}

/// A UDP socket at this address, which does not wait, and tells of what arrives whether a queue marked it.
///
/// # Errors
/// When the address is taken or not one of this machine.
pub fn udp(at: SocketAddr) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        let _ = (socket.set_recv_buffer_size(ROOM), socket.set_send_buffer_size(ROOM)); // less will do
        if at.is_ipv6() && at.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        // Before the first packet; one of IPv6 may take in IPv4, too.
        socket.set_recv_tos_v4(true)?;
        if at.is_ipv6() {
            socket.set_recv_tclass_v6(true)?;
        }
        socket.bind(&at.into())?;
        socket.set_nonblocking(true)?;
        Ok(UdpSocket::from(socket))
    };
    open().map_err(|e: std::io::Error| Error::failed(format!("cannot open UDP at {at}: {e}")))
}
