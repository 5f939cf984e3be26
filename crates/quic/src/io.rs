//! UDP socket that sends and receives several datagrams at a time.

use std::io::{self, IoSliceMut};

use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;

/// Socket, with the state of segmentation offload.
#[derive(Debug)]
pub(super) struct Io {
    pub socket: tokio::net::UdpSocket,
    pub state: UdpSocketState,
}

impl Io {
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            state: UdpSocketState::new((&socket).into())?,
            socket: tokio::net::UdpSocket::from_std(socket)?,
        })
    }

    /// Sends datagrams, unless the socket would block.
    pub fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let send = || self.state.try_send((&self.socket).into(), transmit);
        self.socket.try_io(Interest::WRITABLE, send)
    }

    /// Receives datagrams into the buffers, unless the socket would block; returns the number of filled buffers.
    pub fn try_receive(&self, buffers: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> io::Result<usize> {
        let receive = || self.state.recv((&self.socket).into(), buffers, meta);
        self.socket.try_io(Interest::READABLE, receive)
    }
}
