//! Many datagrams per system call.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg, sendmmsg};

/// Datagrams per call.
pub const MAX_BATCH: usize = 32;
/// Batches that are read before other work has its turn, however much more waits.
pub const MAX_BATCHES_PER_TURN: usize = 16;
/// Room for the longest datagram there is.
const ROOM: usize = 1 << 16;
/// What a queue that marks writes into the last two bits of the traffic class (RFC 3168).
const CONGESTED: u8 = 0b11;

/// Room for as many datagrams as one call takes. One for each socket that receives, or for sockets of one address family: the
/// lengths of addresses that a call leaves are the room of the next.
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
            room: vec![0; MAX_BATCH * ROOM],
        }
    }
}

impl Batch {
    /// Takes what has arrived at a socket, without waiting; `take` sees each datagram and where it is from. Gives how many there were; fewer than [`MAX_BATCH`] when nothing is left.
    ///
    /// # Errors
    /// What the socket says, such as that an earlier datagram reached nobody; nothing has been taken then.
    pub fn receive(&mut self, socket: impl AsFd, mut take: impl FnMut(&mut [u8], Origin)) -> Result<usize, Errno> {
        let mut lengths = [(0, Origin::default()); MAX_BATCH];
        let mut count = 0;
        {
            let mut slices: Vec<_> = self.room.chunks_mut(ROOM).map(|room| [IoSliceMut::new(room)]).collect();
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
        for ((length, origin), room) in lengths[..count].iter().zip(self.room.chunks_mut(ROOM)) {
            take(&mut room[..*length], *origin);
        }
        Ok(count)
    }

    /// Sends datagrams, at most [`MAX_BATCH`], each to its address or, without one, to where the socket is connected. Gives how
    /// many could not be sent; the system has no room for them, or nobody listens.
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
                // What an earlier datagram met; this one has not been tried.
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

/// Where a datagram is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    /// Who sent it; none where the system does not say.
    pub from: Option<SocketAddr>,
    /// A queue on its way marked it (ECN), if the socket tells that, as those of [`load`](levelflow_load) do.
    pub marked: bool,
}

impl Origin {
    fn of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Self {
        let field = message
            .cmsgs()
            .ok()
            .and_then(|mut all| all.find_map(|one| traffic_class(&one)));
        Self {
            from: message.address.as_ref().and_then(address),
            marked: field.is_some_and(|field| field & CONGESTED == CONGESTED),
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
