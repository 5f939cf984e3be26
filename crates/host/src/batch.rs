//! Batches of datagrams, sent or received with one system call.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg, sendmmsg};

/// Limit on datagrams per system call.
pub const MAX_BATCH: usize = 32;
/// Limit on batches that a loop reads before it does other work.
pub const MAX_BATCHES_PER_TURN: usize = 16;
/// Buffer size for one datagram of maximum size, bytes.
const MAX_DATAGRAM_BYTES: usize = 1 << 16;
/// ECN field of a marked packet: both bits set (RFC 3168).
const ECN_CE: u8 = 0b11;

/// Buffers for one batch. All sockets that receive into one instance must have the same address family. The reason is
/// that the length of a received address limits the space for the address in the next call.
pub struct Batch {
    incoming: MultiHeaders<SockaddrStorage>,
    outgoing: MultiHeaders<SockaddrStorage>,
    room: Vec<u8>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            incoming: MultiHeaders::preallocate(MAX_BATCH, Some(nix::cmsg_space!(i32))),
            outgoing: MultiHeaders::preallocate(MAX_BATCH, None),
            room: vec![0; MAX_BATCH * MAX_DATAGRAM_BYTES],
        }
    }
}

impl Batch {
    /// Receives the datagrams that a socket holds, without waiting, and passes each with its origin to `take`. Returns
    /// their number, which is below [`MAX_BATCH`] if no more datagrams wait in the socket.
    ///
    /// # Errors
    /// Error of the socket, such as a closed port at the destination of an earlier datagram. On an error, no datagram
    /// was received.
    pub fn receive(&mut self, socket: impl AsFd, mut take: impl FnMut(&mut [u8], Origin)) -> Result<usize, Errno> {
        let mut lengths = [(0, Origin::default()); MAX_BATCH];
        let mut count = 0;
        {
            let mut slices: Vec<_> = self
                .room
                .chunks_mut(MAX_DATAGRAM_BYTES)
                .map(|room| [IoSliceMut::new(room)])
                .collect();
            let fd = socket.as_fd().as_raw_fd();
            let arrived = match recvmmsg(fd, &mut self.incoming, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(0),
                other => other?,
            };
            for (slot, message) in lengths.iter_mut().zip(arrived) {
                *slot = (message.bytes, Origin::of(&message));
                count += 1;
            }
        }
        for ((length, origin), room) in lengths[..count].iter().zip(self.room.chunks_mut(MAX_DATAGRAM_BYTES)) {
            take(&mut room[..*length], *origin);
        }
        Ok(count)
    }

    /// Sends at most [`MAX_BATCH`] datagrams. A datagram without an address is sent to the peer of the socket. Returns
    /// the number of datagrams that could not be sent, because buffers are full or the port is closed.
    pub fn send<'a>(
        &mut self,
        socket: impl AsFd,
        datagrams: impl Iterator<Item = (&'a [u8], Option<SocketAddr>)>,
    ) -> usize {
        let (slices, to): (Vec<_>, Vec<_>) = datagrams
            .take(MAX_BATCH)
            .map(|(bytes, to)| ([IoSlice::new(bytes)], to.map(SockaddrStorage::from)))
            .unzip();
        let fd = socket.as_fd().as_raw_fd();
        let (mut begun, mut failed) = (0, 0);
        let mut again = true;
        while begun < slices.len() {
            let rest = &slices[begun..];
            match sendmmsg(fd, &mut self.outgoing, rest, &to[begun..], [], MsgFlags::MSG_DONTWAIT) {
                Ok(sent) => begun += sent.count().max(1),
                // An earlier datagram or a signal caused this error, so this datagram is tried once more.
                Err(Errno::ECONNREFUSED | Errno::EINTR) if again => again = false,
                Err(_) => {
                    begun += 1;
                    failed += 1;
                }
            }
        }
        failed
    }
}

/// Origin of a datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    /// Address of the sender; `None` if the system does not report it.
    pub from: Option<SocketAddr>,
    /// ECN field of the IP header; 0 for a socket that does not report it.
    pub ecn: u8,
}

impl Origin {
    /// True if a queue marked the datagram.
    #[must_use]
    pub fn marked(&self) -> bool {
        self.ecn == ECN_CE
    }

    fn of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Self {
        let field = message
            .cmsgs()
            .ok()
            .and_then(|mut all| all.find_map(|one| traffic_class(&one)));
        Self {
            from: message.address.as_ref().and_then(address),
            ecn: field.unwrap_or(0) & ECN_CE,
        }
    }
}

fn traffic_class(said: &ControlMessageOwned) -> Option<u8> {
    match said {
        ControlMessageOwned::Ipv4Tos(field) => Some(*field),
        ControlMessageOwned::Ipv6TClass(field) => Some(*field as u8),
        _ => None,
    }
}

fn address(from: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = from.as_sockaddr_in().map(|a| SocketAddrV4::from(*a).into());
    v4.or_else(|| from.as_sockaddr_in6().map(|a| SocketAddrV6::from(*a).into()))
}
