//! A device as the end of a link: every frame that comes in there, and frames to send.

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

/// A super-packet and its headers.
const LARGEST: usize = PREFIX + 14 + 4 + 65_536;
/// Frames taken before anything else is looked at.
const BATCH: usize = 64;
/// What the kernel keeps for us while we are not running, bytes.
const ROOM: usize = 32 << 20;

/// What a device did not do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Frames that came while we were too slow to take them.
    pub missed: u64,
    /// Frames that could not be sent because the device's own queue was full.
    pub refused: u64,
    /// Frames longer than the device can send: switch off its neighbours' offloads, or equal the MTUs.
    pub oversize: u64,
    /// Frames that came or were to be sent while it was down.
    pub down: u64,
    /// Super-packets that could not be understood.
    pub odd: u64,
}

impl Trouble {
    /// Whether there was any.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// A device of the namespace in which it was opened.
#[derive(Debug)]
pub struct Port {
    name: String,
    index: u32,
    socket: OwnedFd,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    ancillary: Vec<u8>,
    latest: Time,
    /// It is down, and may be about to vanish: the kernel tells only the former.
    suspect: bool,
    /// What went wrong so far.
    pub trouble: Trouble,
}

impl Port {
    /// Opens an Ethernet device of this thread's namespace.
    ///
    /// # Errors
    /// If there is none of that name, or this process may not.
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
        // No protocol yet: frames of other devices must not come in before it is bound.
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None).map_err(may_not)?;
        let index = netdevice::name_to_index(&socket, name).map_err(|_| {
            Error::input(format_args!(
                "there is no device {name} here; ip link shows those that are"
            ))
        })?;
        prepare(&socket, index).map_err(|e| Error::failed(format_args!("device {name}: {e}")))?;
        Ok(Self {
            name: name.to_owned(),
            index,
            socket,
            buffer: vec![0; LARGEST],
            scratch: Vec::with_capacity(LARGEST),
            ancillary: nix::cmsg_space!(libc::timespec, u32),
            latest: Time::ZERO,
            suspect: false,
            trouble: Trouble::default(),
        })
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// To wait for.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether it was down when it was last used: then it wants to be asked even if nothing has come.
    #[must_use]
    pub fn suspect(&self) -> bool {
        self.suspect
    }

    /// Passes on some of the frames that have come, each with the time when it did; `true`: there may be more.
    ///
    /// # Errors
    /// If the device has vanished.
    pub fn receive(&mut self, clock: &Clock, mut each: impl FnMut(Time, &[u8])) -> Result<bool, Error> {
        if self.suspect {
            self.exists()?;
        }
        for _ in 0..BATCH {
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

    /// Sends a frame, as [`Port::receive`] gave it. What the device does not take is counted.
    ///
    /// # Errors
    /// If the device has vanished.
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

    /// A device may go down and come up again; it may not vanish.
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
    setsockopt(socket, sockopt::RcvBufForce, &ROOM)?;
    setsockopt(socket, sockopt::SndBufForce, &ROOM)?;
    sys::promiscuous(fd, index)?;
    sys::bind_packet(fd, index)
}

/// When the kernel says that a frame came, and how many had no room before it.
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

/// The time of a stamp of the machine's calendar clock; now, if that clock has been set since.
fn before(now: Time, stamp: u64) -> Time {
    let wall = clock_gettime(ClockId::Realtime);
    let wall = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
    let ago = wall.checked_sub(stamp).filter(|&ago| ago < 1_000_000_000).unwrap_or(0);
    now.as_ps()
        .checked_sub(Duration::from_ns(ago).as_ps())
        .map_or(now, Time::from_ps)
}
