//! System calls that no crate wraps safely: the only unsafe code here. One call each.
#![allow(
    unsafe_code,
    reason = "system calls that no safe crate wraps; each says why it is sound"
)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the child die with the thread that starts it, however that ends.
///
/// The kernel ties it to the *thread*, so start children on a thread that lives as long as they may.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let at_birth = move || {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        // It may have died before we asked.
        if nix::unistd::getppid().as_raw().cast_unsigned() == parent {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::BrokenPipe))
        }
    };
    // SAFETY: between fork and exec, only prctl and getppid run; both are async-signal-safe, and nothing is allocated.
    unsafe { command.pre_exec(at_birth) };
}

/// Lets timers of this thread end within nanoseconds of when they are due, instead of 50 us.
pub fn sharp_timers() {
    let _ = nix::sys::prctl::set_timerslack(1); // without it, timers are late and nothing else changes
}

/// Puts this thread before all ordinary ones (SCHED_FIFO, low priority).
///
/// # Errors
/// Without CAP_SYS_NICE or a limit on real-time priorities that permits it.
pub fn realtime() -> io::Result<()> {
    // SAFETY: it is plain numbers, for which zero is a value; musl has more of them than glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 20;
    // SAFETY: the pointer is to a live struct of the right type; 0 means this thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sets an option of a socket to a whole number.
///
/// # Errors
/// If the socket has no such option or refuses the value.
pub fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    set(socket, level, option, &value)
}

/// Puts the device of a packet socket into promiscuous mode, until the socket is closed.
///
/// # Errors
/// If there is no such device.
pub fn promiscuous(socket: BorrowedFd<'_>, device: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: device.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Ties a packet socket to a device; from now on it receives every frame that comes in there.
///
/// # Errors
/// If there is no such device.
pub fn bind_packet(socket: BorrowedFd<'_>, device: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: device.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: pointer and length are those of a live `sockaddr_ll`, which the kernel only reads.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn set<T>(socket: BorrowedFd<'_>, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live value, which the kernel only reads; it checks the length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The number of a socket's network namespace, which no other one gets until the machine starts anew.
///
/// # Errors
/// When the kernel is older than 5.14.
pub fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let (mut cookie, mut length) = (0_u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: pointer and length are those of a live number, which the kernel fills.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(cookie)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What the kernel says of a TCP connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Smoothed round-trip time, us; 0 before the first one.
    pub rtt_us: u32,
    /// Congestion window, segments.
    pub window: u32,
    /// What was written and is not yet acknowledged: segments under way plus bytes not yet sent; 0 for nothing.
    pub waiting: u32,
    /// Segments sent again.
    pub resent: u32,
    /// Segments with data sent, again included.
    pub segments: u32,
    /// Their payload, bytes.
    pub bytes: u64,
}

/// Reads what the kernel says of a TCP connection (`TCP_INFO`).
///
/// # Errors
/// When it is no TCP socket, or the kernel is older than 4.19.
pub fn tcp_state(socket: BorrowedFd<'_>) -> io::Result<TcpState> {
    // The structure only ever grows at its end; these offsets are those of `struct tcp_info` in linux/tcp.h.
    let mut info = [0u8; 208];
    let mut length = info.len() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: pointer and length describe `info`, which the kernel fills with plain numbers.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if length as usize != info.len() {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let word = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&info[200..208]);
    Ok(TcpState {
        rtt_us: word(68),
        window: word(80),
        waiting: word(24).saturating_add(word(144)),
        resent: word(100),
        segments: word(156),
        bytes: u64::from_ne_bytes(bytes),
    })
}
