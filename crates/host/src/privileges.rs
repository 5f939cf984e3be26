//! Rights that a program keeps after it has opened what it needs. A mistake in the code that reads packets then cannot
//! be used to run programs, to read files or to change the system.
//!
//! The rights belong to a thread and to the threads that it starts later. Drop them before other threads start: all
//! threads share their memory, so a mistake in one thread can use the rights that another one keeps.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, path_beneath_rules,
};
pub use rustix::thread::CapabilitySet;
use rustix::thread::{CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::Error;

/// Capabilities that a router in the kernel keeps: updates of maps before Linux 5.19, and the removal of its filter.
pub const KERNEL_ROUTER: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::NET_ADMIN);

/// Folder with the numbers of processors. The kernel router sums its counters over processors.
pub const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Rights that a thread keeps. The default is none: descriptors that are already open, memory, threads, clocks, and
/// sockets for netlink and UDP.
#[derive(Debug, Clone, Copy)]
pub struct Rights<'a> {
    /// Capabilities, if the thread has them.
    pub capabilities: CapabilitySet,
    /// Folders and files that the thread may read.
    pub reads: &'a [&'a Path],
    /// Folders in which the thread may read, write, create, rename and remove files.
    pub writes: &'a [&'a Path],
    /// True if the thread may open TCP sockets. It may always use those that are open.
    pub tcp: bool,
}

/// System calls that no thread with dropped rights needs. The list has forbidden calls and not allowed ones, because
/// new versions of the C library use new calls.
const FORBIDDEN: &[libc::c_long] = &[
    // Other programs and processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    // Namespaces and file systems.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    // The kernel and its attack surface.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_personality,
    // Owners, modes, attributes and times of files. Landlock does not restrict them.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_utimensat,
];
/// Older forms of these calls, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_OLD: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_OLD: &[libc::c_long] = &[];
// Numbers of calls that `libc` lacks for some processors. New calls have the same number on all processors.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;
/// Calls that send a signal to the process in their first argument. Signals to the own process are allowed.
const SIGNALS: [libc::c_long; 4] = [
    libc::SYS_kill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
];
/// Calls that change limits or scheduling of the process or thread in their first argument. 0 is the caller.
const LIMITS: [libc::c_long; 5] = [
    libc::SYS_prlimit64,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];
/// Commands of `fcntl` and `ioctl` that select another process as the receiver of signals.
const SIGNAL_OWNERS: [(libc::c_long, [u64; 2]); 2] = [
    (libc::SYS_fcntl, [libc::F_SETOWN as u64, F_SETOWN_EX]),
    (libc::SYS_ioctl, [FIOSETOWN, SIOCSPGRP]),
];
const F_SETOWN_EX: u64 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
/// Flags of `clone` that create namespaces. `clone` has no flag for namespaces of time.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// Lowest number of a call in the x32 form. x86-64 kernels may accept it for each call.
const X32: u32 = 1 << 30;
/// Commands of `bpf` that create maps and load programs. Updates of existing maps are allowed.
const FORBIDDEN_BPF: [u64; 2] = [0, 5];
/// Part of a socket's type without flags.
const TYPE_MASK: u64 = 0xf;

impl Default for Rights<'_> {
    fn default() -> Self {
        Self {
            capabilities: CapabilitySet::empty(),
            reads: &[],
            writes: &[],
            tcp: false,
        }
    }
}

impl Rights<'_> {
    /// Drops all other rights of this thread. No later call returns them.
    ///
    /// The kernel may lack Landlock or seccomp. In this case, the other restrictions remain.
    ///
    /// # Errors
    /// When the kernel rejects a restriction that it has.
    pub fn keep_only(&self) -> Result<(), Error> {
        let cannot = |what: &str, e: &dyn std::fmt::Display| Error::failed(format!("cannot drop {what}: {e}"));
        set_no_new_privs(true).map_err(|e| cannot("privileges", &e))?;
        self.restrict_files().map_err(|e| cannot("access to files", &e))?;
        let held = capabilities(None).map_err(|e| cannot("capabilities", &e))?.permitted & self.capabilities;
        let sets = CapabilitySets {
            effective: held,
            permitted: held,
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, sets).map_err(|e| cannot("capabilities", &e))?;
        let Some(filter) = filter(self.tcp) else {
            return Ok(());
        };
        let applied = [&filter[..], &FILTER_OF_NUMBERS]
            .into_iter()
            .try_for_each(seccompiler::apply_filter);
        match applied {
            Err(seccompiler::Error::Seccomp(e)) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            applied => applied.map_err(|e| cannot("system calls", &e)),
        }
    }

    fn restrict_files(&self) -> Result<(), RulesetError> {
        let abi = ABI::V5;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .create()?
            .add_rules(path_beneath_rules(self.reads, AccessFs::from_read(abi)))?
            .add_rules(path_beneath_rules(self.writes, AccessFs::from_all(abi)))?
            .restrict_self()?;
        Ok(())
    }
}

/// Filter that needs only the number of a call. It rejects all calls in the x32 form. `clone3` passes its flags in
/// memory, which no filter can read. `ENOSYS` makes the C library use `clone`.
const FILTER_OF_NUMBERS: [sock_filter; 6] = {
    const fn instruction(code: u32, k: u32, jf: u8) -> sock_filter {
        sock_filter {
            code: code as u16,
            jt: 0,
            jf,
            k,
        }
    }
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const JUMP: u32 = libc::BPF_JMP | libc::BPF_K;
    [
        // The number is at the start of the data of a filter.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(JUMP | libc::BPF_JGE, X32, 1),
        instruction(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
        instruction(JUMP | libc::BPF_JEQ, libc::SYS_clone3 as u32, 1),
        instruction(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0),
        instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0),
    ]
};

/// Returns the filter of system calls; `None` for a processor that the library does not know. `opens_tcp` allows new
/// TCP sockets.
fn filter(opens_tcp: bool) -> Option<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let when = |conditions: Vec<Condition>| SeccompRule::new(conditions).ok();
    let is = |argument, op, value| Condition::new(argument, Length::Dword, op, value).ok();
    let forbidden = FORBIDDEN.iter().chain(FORBIDDEN_OLD);
    let mut rules: BTreeMap<_, _> = forbidden.map(|&call| (call, Vec::new())).collect();
    let commands = FORBIDDEN_BPF.iter().map(|&command| when(vec![is(0, Op::Eq, command)?]));
    rules.insert(libc::SYS_bpf, commands.collect::<Option<_>>()?);
    let own = u64::from(std::process::id());
    let of_others = SIGNALS.map(|call| (call, own)).into_iter();
    for (call, allowed) in of_others.chain(LIMITS.map(|call| (call, 0))) {
        rules.insert(call, vec![when(vec![is(0, Op::Ne, allowed)?])?]);
    }
    for (call, commands) in SIGNAL_OWNERS {
        let commands = commands.map(|command| when(vec![is(1, Op::Eq, command)?]));
        rules.insert(call, commands.into_iter().collect::<Option<_>>()?);
    }
    let flags = NEW_NAMESPACES.map(|flag| flag as u64);
    let flags = flags.map(|flag| when(vec![is(0, Op::MaskedEq(flag), flag)?]));
    rules.insert(libc::SYS_clone, flags.into_iter().collect::<Option<_>>()?);
    let [netlink, ipv4, ipv6] = [libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6].map(|family| family as u64);
    let stream = libc::SOCK_STREAM as u64;
    let tcp = |family| when(vec![is(0, Op::Eq, family)?, is(1, Op::MaskedEq(TYPE_MASK), stream)?]);
    let others = [netlink, ipv4, ipv6].map(|family| is(0, Op::Ne, family));
    let others = when(others.into_iter().collect::<Option<_>>()?);
    let streams = [tcp(ipv4), tcp(ipv6)].into_iter().filter(|_| !opens_tcp);
    rules.insert(libc::SYS_socket, streams.chain([others]).collect::<Option<_>>()?);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)
        .ok()?
        .try_into()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{ErrorKind, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::process::Command;

    use socket2::{Domain, Socket, Type};

    use super::*;

    /// Runs a closure on a thread with these rights.
    fn with<T: Send>(rights: Rights<'_>, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                rights.keep_only().unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }

    fn is_denied<T>(result: std::io::Result<T>) -> bool {
        result.err().is_some_and(|e| e.kind() == ErrorKind::PermissionDenied)
    }

    #[test]
    fn a_thread_without_rights_starts_no_program_and_opens_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut open = File::create(&path).unwrap();
        with(Rights::default(), || {
            assert!(is_denied(Command::new("/bin/true").status()));
            assert!(is_denied(File::open(&path)));
            assert!(is_denied(File::create(folder.path().join("other"))));
            assert!(is_denied(fs::remove_file(&path)));
            assert!(is_denied(fs::read_dir("/")));
            open.write_all(b"open files stay open").unwrap();
            let thread = std::thread::spawn(move || is_denied(File::open(path)));
            assert!(thread.join().unwrap(), "a later thread has the same rights");
        });
        assert!(
            Command::new("/bin/true").status().unwrap().success(),
            "other threads keep their rights"
        );
    }

    #[test]
    fn a_thread_without_rights_opens_only_harmless_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let client = TcpStream::connect(at).unwrap();
        with(Rights::default(), || {
            assert!(is_denied(TcpStream::connect(at)));
            assert!(is_denied(Socket::new(Domain::UNIX, Type::STREAM, None)));
            assert!(is_denied(Socket::new(Domain::PACKET, Type::RAW, None)));
            assert!(is_denied(Socket::new(
                Domain::IPV4,
                Type::RAW,
                Some(socket2::Protocol::ICMPV4)
            )));
            UdpSocket::bind("127.0.0.1:0").unwrap();
            let accepted = listener.accept().unwrap();
            assert_eq!(accepted.1, client.local_addr().unwrap(), "open sockets stay open");
            crate::qdisc::Device::open("lo").unwrap().queue().unwrap();
        });
    }

    #[test]
    fn a_thread_without_rights_cannot_enter_or_change_namespaces() {
        with(Rights::default(), || {
            assert_eq!(
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER),
                Err(nix::Error::EPERM)
            );
        });
    }

    /// Makes a system call with invalid arguments, which has no effect, and returns its error.
    fn error_of(call: libc::c_long, arguments: [libc::c_long; 2]) -> Option<i32> {
        let [first, second] = arguments;
        // SAFETY: no pointer is valid for the kernel, and no call of these tests succeeds with these arguments.
        #[allow(unsafe_code, reason = "calls that no safe crate wraps")]
        let result = unsafe { libc::syscall(call, first, second, -1, -1, -1, -1) };
        assert_eq!(result, -1, "{call}{arguments:?}");
        std::io::Error::last_os_error().raw_os_error()
    }

    fn calls_on_files() -> impl Iterator<Item = libc::c_long> {
        let calls = FORBIDDEN.iter().skip_while(|&&call| call != libc::SYS_fchmod);
        calls.chain(FORBIDDEN_OLD).copied()
    }

    /// Checks that calls are rejected on a thread without rights, and fail for another reason on other threads.
    fn are_rejected(calls: &[(libc::c_long, [libc::c_long; 2])], error: i32) {
        for &(call, arguments) in calls {
            assert_ne!(error_of(call, arguments), Some(error), "{call}{arguments:?}");
        }
        with(Rights::default(), || {
            for &(call, arguments) in calls {
                assert_eq!(error_of(call, arguments), Some(error), "{call}{arguments:?}");
            }
        });
    }

    #[test]
    fn a_thread_without_rights_cannot_create_namespaces_by_clone() {
        // CLONE_SIGHAND without CLONE_VM is invalid, so no call creates a process.
        let calls = NEW_NAMESPACES.map(|flag| {
            let flags = libc::c_long::from(flag | libc::CLONE_SIGHAND);
            (libc::SYS_clone, [flags, 0])
        });
        are_rejected(&calls, libc::EPERM);
        are_rejected(&[(libc::SYS_clone3, [-1, -1])], libc::ENOSYS);
        let thread = with(Rights::default(), || std::thread::spawn(|| 7).join().unwrap());
        assert_eq!(thread, 7, "threads still start");
    }

    #[test]
    fn a_thread_without_rights_cannot_change_owners_modes_and_times_of_files() {
        let calls: Vec<_> = calls_on_files().map(|call| (call, [-1, -1])).collect();
        are_rejected(&calls, libc::EPERM);
        let file = tempfile::NamedTempFile::new().unwrap();
        with(Rights::default(), || {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            assert!(is_denied(file.as_file().set_permissions(mode)));
            assert!(is_denied(
                file.as_file().set_modified(std::time::SystemTime::UNIX_EPOCH)
            ));
        });
    }

    #[test]
    fn a_thread_without_rights_cannot_control_other_processes() {
        let mut child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let pid = libc::c_long::from(child.id());
        let mut calls: Vec<_> = SIGNALS
            .into_iter()
            .chain(LIMITS)
            .map(|call| (call, [pid, -1]))
            .collect();
        calls.extend([libc::SYS_pidfd_send_signal, libc::SYS_tkill].map(|call| (call, [-1, -1])));
        calls.extend([libc::SYS_setpriority, libc::SYS_ioprio_set].map(|call| (call, [-1, -1])));
        for (call, commands) in SIGNAL_OWNERS {
            calls.extend(commands.map(|command| (call, [-1, command as libc::c_long])));
        }
        are_rejected(&calls, libc::EPERM);
        let [own, other] = [std::process::id(), child.id()].map(|pid| nix::unistd::Pid::from_raw(pid as i32));
        let is_signalled = with(Rights::default(), || {
            [own, other].map(|pid| nix::sys::signal::kill(pid, None).is_ok())
        });
        assert_eq!(is_signalled, [true, false]);
        with(Rights::default(), || {
            rustix::process::getrlimit(rustix::process::Resource::Nofile)
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_without_rights_makes_no_calls_in_the_x32_form() {
        let of_x32 = |call| (libc::c_long::from(X32) | call, [-1, -1]);
        let calls: Vec<_> = calls_on_files().map(of_x32).collect();
        are_rejected(&calls, libc::EPERM);
    }

    #[test]
    fn listed_files_can_be_read_and_listed_folders_written() {
        let [read, write, neither] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        for folder in [&read, &write, &neither] {
            fs::write(folder.path().join("old"), "text").unwrap();
        }
        let rights = Rights {
            reads: &[read.path()],
            writes: &[write.path()],
            ..Rights::default()
        };
        with(rights, || {
            assert_eq!(fs::read_to_string(read.path().join("old")).unwrap(), "text");
            assert!(is_denied(fs::write(read.path().join("old"), "")));
            let new = write.path().join("new");
            fs::write(&new, "new").unwrap();
            fs::rename(&new, write.path().join("old")).unwrap();
            assert_eq!(fs::read_to_string(write.path().join("old")).unwrap(), "new");
            assert!(is_denied(fs::read(neither.path().join("old"))));
            assert!(is_denied(fs::read(
                write.path().join("../").join(neither.path()).join("old")
            )));
        });
    }

    #[test]
    fn only_kept_capabilities_remain() {
        let held = capabilities(None).unwrap().permitted;
        let kept = CapabilitySet::NET_ADMIN | CapabilitySet::BPF;
        let rights = Rights {
            capabilities: kept,
            ..Rights::default()
        };
        let left = with(rights, || {
            assert!(is_denied(
                set_capabilities(
                    None,
                    CapabilitySets {
                        effective: held,
                        permitted: CapabilitySet::all(),
                        inheritable: CapabilitySet::empty(),
                    }
                )
                .map_err(Into::into)
            ));
            capabilities(None).unwrap()
        });
        assert_eq!(left.permitted, held & kept);
        assert_eq!(left.effective, held & kept);
        assert_eq!(capabilities(None).unwrap().permitted, held);
    }
}
