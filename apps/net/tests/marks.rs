//! Tests that ECN marks of queues reach the law of `send` through `recv`.

use std::io::{BufRead as _, BufReader, IoSliceMut, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use levelflow_net_testing::program::{Guard, net};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use socket2::SockRef;

/// Returns the ECN field of a packet, its payload length and its sender; `None` if no packet arrives.
fn receive(socket: &UdpSocket, room: &mut [u8]) -> Option<(u8, usize, SocketAddr)> {
    let mut slices = [IoSliceMut::new(room)];
    let mut said = nix::cmsg_space!(i32);
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut said), MsgFlags::empty()).ok()?;
    let field = message.cmsgs().unwrap().find_map(|one| match one {
        ControlMessageOwned::Ipv4Tos(field) => Some(field),
        ControlMessageOwned::Ipv6TClass(field) => Some(field as u8),
        _ => None,
    });
    let from = message.address.unwrap();
    let from = match (from.as_sockaddr_in(), from.as_sockaddr_in6()) {
        (Some(v4), _) => SocketAddr::V4((*v4).into()),
        (_, v6) => SocketAddr::V6((*v6.unwrap()).into()),
    };
    Some((field.unwrap() & 3, message.bytes, from))
}

/// Queue that forwards packets to `recv` and, if requested, marks them. It forwards ACKs in batches, every 10 ms. It
/// runs until it is dropped.
struct Queue {
    at: String,
    /// Number of ECN-capable packets, and number of other packets.
    capable: Arc<[AtomicU64; 2]>,
    over: Arc<AtomicBool>,
}

impl Queue {
    fn start(to: &str, marks: bool) -> Self {
        let host: SocketAddr = to.parse().unwrap();
        let any = SocketAddr::new(host.ip(), 0);
        let (front, back) = (UdpSocket::bind(any).unwrap(), UdpSocket::bind(any).unwrap());
        back.connect(to).unwrap();
        front.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        back.set_nonblocking(true).unwrap();
        let (first, second) = (SockRef::from(&front), SockRef::from(&back));
        if host.is_ipv4() {
            first.set_recv_tos_v4(true).unwrap();
        } else {
            first.set_recv_tclass_v6(true).unwrap();
        }
        if marks && host.is_ipv4() {
            second.set_tos_v4(3).unwrap();
        } else if marks {
            second.set_tclass_v6(3).unwrap();
        }
        let queue = Self {
            at: front.local_addr().unwrap().to_string(),
            capable: Arc::default(),
            over: Arc::default(),
        };
        let (capable, over) = (Arc::clone(&queue.capable), Arc::clone(&queue.over));
        let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let (acks, reply) = (back.try_clone().unwrap(), front.try_clone().unwrap());
        let (known, ended) = (Arc::clone(&client), Arc::clone(&over));
        std::thread::spawn(move || {
            let mut room = [0; 2000];
            while !over.load(Ordering::Relaxed) {
                let Some((field, length, from)) = receive(&front, &mut room) else {
                    continue;
                };
                capable[usize::from(field != 2)].fetch_add(1, Ordering::Relaxed);
                *client.lock().unwrap() = Some(from);
                let _ = back.send(&room[..length]);
            }
        });
        std::thread::spawn(move || {
            let mut room = [0; 2000];
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
                while let Ok(length) = acks.recv(&mut room) {
                    if let Some(client) = *known.lock().unwrap() {
                        let _ = reply.send_to(&room[..length], client);
                    }
                }
            }
        });
        queue
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Runs a flow for one second through a [`Queue`]. Returns three numbers of packets: all packets, ECN-capable packets,
/// and packets that arrived marked.
fn through(host: &str, law: &str, marks: bool) -> [u64; 3] {
    let mut recv = Guard(
        net(&["recv", &format!("{host}:0"), "--for", "20 s", "--flows", "1"])
            .spawn()
            .unwrap(),
    );
    let mut out = BufReader::new(recv.0.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let queue = Queue::start(line.trim().strip_prefix("listening at ").unwrap(), marks);
    let send = [
        "send",
        &queue.at,
        "--law",
        law,
        "--time",
        "1 s",
        "--max-rate",
        "20 Mb/s",
        "--quiet",
    ];
    assert!(net(&send).status().unwrap().success());
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let marked = text
        .lines()
        .find_map(|line| line.strip_suffix(" packets were marked by queues (ECN)"));
    let marked = marked.map_or(0, |count| count.parse().unwrap());
    let [capable, not] = [0, 1].map(|i| queue.capable[i].load(Ordering::Relaxed));
    [capable + not, capable, marked]
}

#[test]
fn marks_of_queues_reach_the_laws_that_ask_for_them() {
    for host in ["127.0.0.1", "[::1]"] {
        let [all, capable, marked] = through(host, "dctcp", false);
        assert!(
            all > 50 && capable == all && marked == 0,
            "{host}: {all} {capable} {marked}"
        );
        let [fewer, capable, marked] = through(host, "dctcp", true);
        assert!(
            capable == fewer && marked + 5 >= fewer,
            "{host}: {fewer} {capable} {marked}"
        );
        assert!(fewer * 2 < all, "{host}: {fewer} packets with marks, {all} without");
    }
    let [all, capable, _] = through("127.0.0.1", "aimd", false);
    assert!(all > 0 && capable == 0, "aimd packets are not ECN-capable");
}
