//! A router for tests: one direction has a capacity, a queue and a law.

use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration as Span;

use levelflow_protocols::shim::{ETHERNET, IPV4, LENGTH, Shim, UDP};
use levelflow_protocols::{AnyHeader, AnyParams, AnyRouter, Arriving, Kind, PortInfo, PortView, RouterLaw};
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::clock::Clock;

/// Longest queue, in time.
const QUEUE: Duration = Duration::from_ms(50);

pub struct Router {
    address: SocketAddr,
    drops: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Router {
    pub fn start(law: &str, capacity: Rate, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Span::from_millis(1))).unwrap();
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
        let params = levelflow_sim::scenario::law_params(law, &BTreeMap::new()).unwrap();
        let router = Self {
            address: socket.local_addr().unwrap(),
            drops: Arc::default(),
            stop: Arc::default(),
        };
        let (drops, stop) = (router.drops.clone(), router.stop.clone());
        std::thread::spawn(move || Forward::new(socket, params, capacity, server, drops, stop).run());
        router
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn drops(&self) -> u64 {
        self.drops.load(Ordering::Relaxed)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Forward {
    front: UdpSocket,
    server: SocketAddr,
    params: AnyParams,
    law: AnyRouter,
    capacity: Rate,
    clock: Clock,
    closed: Time,
    /// When the link has sent all that waits.
    free: Time,
    backs: HashMap<SocketAddr, UdpSocket>,
    drops: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Forward {
    fn new(
        front: UdpSocket,
        params: AnyParams,
        capacity: Rate,
        server: SocketAddr,
        drops: Arc<AtomicU64>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            law: AnyRouter::new(&params, &PortInfo { id: 1, capacity }),
            front,
            server,
            params,
            capacity,
            clock: Clock::start(),
            closed: Time::ZERO,
            free: Time::ZERO,
            backs: HashMap::new(),
            drops,
            stop,
        }
    }

    fn run(mut self) {
        let (queue, waiting) = mpsc::channel::<(Time, UdpSocket, Vec<u8>)>();
        let clock = self.clock;
        std::thread::spawn(move || {
            for (at, socket, bytes) in waiting {
                std::thread::sleep(clock.until(at));
                let _ = socket.send(&bytes);
            }
        });
        let mut buffer = [0; 2048];
        while !self.stop.load(Ordering::Relaxed) {
            let received = self.front.recv_from(&mut buffer);
            self.close_interval();
            if let Ok((length, from)) = received {
                self.forward(&mut buffer[..length], from, &queue);
            }
        }
    }

    fn backlog(&self, now: Time) -> Duration {
        self.free.since(now)
    }

    fn close_interval(&mut self) {
        let now = self.clock.now();
        let elapsed = now.since(self.closed);
        if elapsed < self.law.interval(&self.params) {
            return;
        }
        let queue = Bytes::new(self.capacity.bytes_in(self.backlog(now)) as u64);
        let view = PortView {
            queue,
            packets: (queue.get() / 1400) as u32,
            dropped: Bytes::ZERO,
        };
        self.law.on_interval(&self.params, elapsed, &view);
        self.closed = now;
    }

    fn forward(&mut self, packet: &mut [u8], from: SocketAddr, queue: &mpsc::Sender<(Time, UdpSocket, Vec<u8>)>) {
        let now = self.clock.now();
        let size = Bytes::new((ETHERNET + IPV4 + UDP + packet.len()) as u64);
        let waits = Bytes::new(self.capacity.bytes_in(self.backlog(now)) as u64);
        let arriving = Arriving {
            now,
            size,
            queue: waits,
            packets: (waits.get() / 1400) as u32,
        };
        let stamped = Shim::decode(packet).ok().filter(|(shim, ..)| shim.kind != Kind::Ack);
        let header = stamped.and_then(|(_, header, _)| AnyHeader::decode(&self.params, header).ok());
        match header {
            Some(mut header) => {
                self.law.on_arrival(&self.params, &arriving, Some(&mut header));
                self.law.on_departure(&self.params, size, &mut header);
                header.encode(&mut packet[LENGTH..]);
            }
            None => self.law.on_arrival(&self.params, &arriving, None),
        }
        if self.backlog(now) > QUEUE {
            self.drops.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.free = self.free.max(now) + self.capacity.time_to_send(size).unwrap();
        let back = self.back(from).try_clone().unwrap();
        let _ = queue.send((self.free, back, packet.to_vec()));
    }

    /// The socket by which a client's packets go on, and answers come back.
    fn back(&mut self, from: SocketAddr) -> &UdpSocket {
        let (front, server, stop) = (&self.front, self.server, &self.stop);
        self.backs.entry(from).or_insert_with(|| {
            let back = UdpSocket::bind("127.0.0.1:0").unwrap();
            back.connect(server).unwrap();
            back.set_read_timeout(Some(Span::from_millis(100))).unwrap();
            let (own, front, stop) = (back.try_clone().unwrap(), front.try_clone().unwrap(), stop.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 2048];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(length) = own.recv(&mut buffer) {
                        let _ = front.send_to(&buffer[..length], from);
                    }
                }
            });
            back
        })
    }
}
