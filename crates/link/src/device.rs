//! One end of a link: a network device. Receives all frames that arrive at the device, and sends frames.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use levelflow_units::{Duration, Time};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, netdevice, send, socket_with};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::segment::{self, PREFIX};
use levelflow_host::clock::Clock;
use levelflow_host::{Error, sys};

/// Largest size of a super-packet with its headers, bytes.
const MAX_FRAME_BYTES: usize = PREFIX + 14 + 4 + 65_536;
/// Limit on frames received from one device in one batch.
const BATCH_FRAMES: usize = 64;
/// Kernel receive buffer, bytes. The buffer holds arrivals while this process is not running.
const RING_BYTES: usize = 32 << 20;

/// Frames that a device did not receive or send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Frames lost because this process received them too slowly.
    pub missed: u64,
    /// Frames that could not be sent because the device's own queue was full.
    pub refused: u64,
    /// Frames not sent because they exceed the MTU of the device. The causes are offloads on neighbouring devices, or
    /// different MTUs.
    pub oversize: u64,
    /// Receive and send operations that failed because the device was down.
    pub down: u64,
    /// Super-packets of an unknown kind, or with an invalid header.
    pub odd: u64,
}

impl Trouble {
    /// Returns true if any counter is above 0.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// A device in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Device {
    name: String,
    index: u32,
    socket: OwnedFd,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    ancillary: Vec<u8>,
    latest: Time,
    /// True if the kernel reported "down" at the last operation. The kernel also reports this for a device that has
    /// vanished.
    suspect: bool,
    /// Counts of frames that could not be received, and of frames that could not be sent.
    pub trouble: Trouble,
}

impl Device {
    /// Opens an Ethernet device of the current thread's network namespace.
    ///
    /// # Errors
    /// Returns an error if the device does not exist or this process lacks the permission.
    pub fn open(name: &str) -> Result<Self, Error> {
        let may_not = |error: rustix::io::Errno| {
            let advice = if error == rustix::io::Errno::PERM {
                "; run it as root"
            } else {
                ""
            };
            Error::failed(format_args!("cannot open a packet socket on {name}: {error}{advice}"))
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // The socket is opened without a protocol. Otherwise, it would receive frames of all devices until it is bound.
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None).map_err(may_not)?;
        let index = netdevice::name_to_index(&socket, name).map_err(|_| {
            Error::input(format_args!(
                "there is no device {name} here; ip link lists all devices"
            ))
        })?;
        prepare(&socket, index).map_err(|e| Error::failed(format_args!("device {name}: {e}")))?;
        Ok(Self {
            name: name.to_owned(),
            index,
            socket,
            buffer: vec![0; MAX_FRAME_BYTES],
            scratch: Vec::with_capacity(MAX_FRAME_BYTES),
            ancillary: nix::cmsg_space!(libc::timespec, u32),
            latest: Time::ZERO,
            suspect: false,
            trouble: Trouble::default(),
        })
    }

    /// Returns the name of the device.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the socket, for polling.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns true if the device was down at the last operation. Such a device must be polled even if no frame
    /// arrives.
    #[must_use]
    pub fn suspect(&self) -> bool {
        self.suspect
    }

    /// Receives a batch of frames and calls `each` with the arrival time and bytes of each frame. Returns true if more
    /// frames may be available.
    ///
    /// # Errors
    /// Returns an error if the device has vanished.
    pub fn receive(&mut self, clock: &Clock, mut each: impl FnMut(Time, &[u8])) -> Result<bool, Error> {
        if self.suspect {
            self.exists()?;
        }
        for _ in 0..BATCH_FRAMES {
            let mut slices = [IoSliceMut::new(&mut self.buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut slices, Some(&mut self.ancillary), flags);
            let (size, stamp) = match message {
                Ok(message) => {
                    let (stamp, missed) = read(message.cmsgs());
                    if let Some(missed) = missed {
                        self.trouble.missed = u64::from(missed);
                    }
                    (message.bytes, stamp)
                }
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => continue,
                Err(error) => {
                    self.survive(error)?;
                    return Ok(false);
                }
            };
            self.suspect = false;
            let now = clock.now();
            let arrived = stamp.map_or(now, |stamp| before(now, stamp)).max(self.latest);
            self.latest = arrived;
            if !segment::split(&self.buffer[..size], &mut self.scratch, |frame| each(arrived, frame)) {
                self.trouble.odd += 1;
            }
        }
        Ok(true)
    }

    /// Sends a frame in the format of [`Device::receive`]. If the device rejects the frame, the frame is counted in
    /// `trouble`.
    ///
    /// # Errors
    /// Returns an error if the device has vanished.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        match send(&self.socket, frame, SendFlags::DONTWAIT) {
            Ok(_) => {
                self.suspect = false;
                Ok(())
            }
            Err(rustix::io::Errno::MSGSIZE) => {
                self.trouble.oversize += 1;
                Ok(())
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS | rustix::io::Errno::INTR) => {
                self.trouble.refused += 1;
                Ok(())
            }
            Err(rustix::io::Errno::INVAL) => {
                self.trouble.odd += 1;
                Ok(())
            }
            Err(error) => self.survive(Errno::from_raw(error.raw_os_error())),
        }
    }

    fn exists(&self) -> Result<(), Error> {
        match netdevice::index_to_name(&self.socket, self.index) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::failed(format_args!("device {} has vanished", self.name))),
        }
    }

    /// Ignores errors of a device that is down and may come up again. Returns an error if the device has vanished.
    fn survive(&mut self, error: Errno) -> Result<(), Error> {
        self.exists()?;
        match error {
            Errno::ENETDOWN | Errno::ENXIO => {
                self.suspect = true;
                self.trouble.down += 1;
                Ok(())
            }
            _ => Err(Error::failed(format_args!("device {}: {error}", self.name))),
        }
    }
}

fn prepare(socket: &OwnedFd, index: u32) -> std::io::Result<()> {
    let fd = socket.as_fd();
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    sys::set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(socket, sockopt::RxqOvfl, &1)?;
    setsockopt(socket, sockopt::RcvBufForce, &RING_BYTES)?;
    setsockopt(socket, sockopt::SndBufForce, &RING_BYTES)?;
    sys::promiscuous(fd, index)?;
    sys::bind_packet(fd, index)
}

/// Returns the kernel's timestamp of a frame, and the total number of frames that the socket has missed.
fn read(messages: nix::Result<nix::sys::socket::CmsgIterator<'_>>) -> (Option<u64>, Option<u32>) {
    let (mut stamp, mut missed) = (None, None);
    for message in messages.into_iter().flatten() {
        match message {
            ControlMessageOwned::ScmTimestampns(at) => {
                stamp = Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64);
            }
            ControlMessageOwned::RxqOvfl(count) => missed = Some(count),
            _ => {}
        }
    }
    (stamp, missed)
}

/// Converts a timestamp of the realtime clock to a `Time`. Returns `now` if the realtime clock was set after the
/// timestamp.
fn before(now: Time, stamp: u64) -> Time {
    let wall = clock_gettime(ClockId::Realtime);
    let wall = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
    let ago = wall.checked_sub(stamp).filter(|&ago| ago < 1_000_000_000).unwrap_or(0);
    now.as_ps()
        .checked_sub(Duration::from_ns(ago).as_ps())
        .map_or(now, Time::from_ps)
}
