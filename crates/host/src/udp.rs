//! UDP sockets, and the size of datagrams on the wire.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use levelflow_units::headers::{ETHERNET, IPV4, IPV6, UDP};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::Error;

/// Requested size of each socket buffer, bytes; the system may grant less.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Returns the bytes of headers before the UDP payload on the wire, for datagrams to or from this address.
#[must_use]
pub fn overhead(peer: &SocketAddr) -> usize {
    let ip = match peer.ip() {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => IPV4,
        IpAddr::V6(_) => IPV6,
    };
    ETHERNET + ip + UDP
}

/// Sets ECN-capable transport on outgoing packets, so that queues may mark them instead of dropping them. Uses ECT(0)
/// (RFC 3168), or ECT(1) for a scalable sender (RFC 9331).
///
/// # Errors
/// When the system rejects the option.
pub fn enable_marks(socket: &UdpSocket, scalable: bool) -> Result<(), Error> {
    set_ecn(socket, if scalable { 0b01 } else { 0b10 })
}

/// Sets the ECN field of outgoing packets.
///
/// # Errors
/// When the system rejects the option.
pub fn set_ecn(socket: &UdpSocket, field: u8) -> Result<(), Error> {
    let (options, field) = (SockRef::from(socket), u32::from(field));
    let asked = match socket.local_addr() {
        // The IPv4 option applies to packets that an IPv6 socket sends over IPv4.
        Ok(SocketAddr::V6(_)) => options.set_tclass_v6(field).and(options.set_tos_v4(field)),
        _ => options.set_tos_v4(field),
    };
    asked.map_err(|e| Error::failed(format!("ECN: {e}")))
}

/// Opens a non-blocking UDP socket at this address. The socket reports the ECN field of received packets.
///
/// # Errors
/// When the address is in use, or does not belong to this machine.
pub fn udp(at: SocketAddr) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        let _ = (
            socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES),
            socket.set_send_buffer_size(SOCKET_BUFFER_BYTES),
        ); // errors are ignored, since smaller buffers suffice
        if at.is_ipv6() && at.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        // The options must be set before the first packet. An IPv6 socket may also receive IPv4 packets.
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
