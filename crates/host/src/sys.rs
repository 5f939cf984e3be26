//! System calls that have no safe wrapper, one per function. This is the only unsafe code of the crate.
#![allow(
    unsafe_code,
    reason = "system calls that no safe crate wraps; each explains why it is sound"
)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Kills the child when the thread that started it ends, for any reason.
///
/// The kernel ties the child to the *thread*. Start children on a thread that outlives them.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let at_birth = move || {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        // If the parent died before this call, no signal will arrive, so the start of the child fails here.
        if nix::unistd::getppid().as_raw().cast_unsigned() == parent {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::BrokenPipe))
        }
    };
    // SAFETY: between fork and exec, only prctl and getppid run. Both calls are async-signal-safe and allocate nothing.
    unsafe { command.pre_exec(at_birth) };
}

/// Reduces the timer slack of this thread from 50 us to 1 ns.
pub fn sharp_timers() {
    let _ = nix::sys::prctl::set_timerslack(1); // a failure only makes timers less precise
}

/// Gives this thread priority over all ordinary threads (SCHED_FIFO, low priority).
///
/// # Errors
/// When the process has neither CAP_SYS_NICE nor a sufficient limit on real-time priorities.
pub fn realtime() -> io::Result<()> {
    // SAFETY: the struct contains only integers, for which zero is valid; musl has more fields than glibc.
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

/// Sets an integer option of a socket.
///
/// # Errors
/// If the socket lacks the option or rejects the value.
pub fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    set(socket, level, option, &value)
}

/// Puts the device of a packet socket into promiscuous mode, until the socket is closed.
///
/// # Errors
/// If the device does not exist.
pub fn promiscuous(socket: BorrowedFd<'_>, device: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: device.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Binds a packet socket to a device. From then on, the socket receives every incoming frame of the device.
///
/// # Errors
/// If the device does not exist.
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

/// Returns the cookie of a socket's network namespace, which is unique until the machine restarts.
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

/// State of a TCP connection in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Smoothed round-trip time, us; 0 before the first sample.
    pub rtt_us: u32,
    /// Congestion window, segments.
    pub window: u32,
    /// Sum of the segments in flight and the bytes not yet sent. It is 0 only if all written data is acknowledged.
    pub waiting: u32,
    /// Retransmitted segments.
    pub resent: u32,
    /// Data segments sent, retransmissions included.
    pub segments: u32,
    /// Payload of the data segments sent, bytes.
    pub bytes: u64,
}

/// Reads the state of a TCP connection (`TCP_INFO`).
///
/// # Errors
/// When the socket is not TCP, or the kernel is older than 4.19.
pub fn tcp_state(socket: BorrowedFd<'_>) -> io::Result<TcpState> {
    // The structure only grows at its end, so these offsets in `struct tcp_info` of linux/tcp.h do not change.
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
