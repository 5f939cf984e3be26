//! Queue at a device's root, as the kernel reports it: backlog, counters, limit and rate.

use std::path::Path;
use std::{fs, io};

use levelflow_units::{Bytes, Rate};
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_ECHO, NLM_F_REQUEST, Nla as _};
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::Error;
use crate::limit::{Limit, Unit, limit_of, rate_of};

/// Size of the buffer for a reply about one device or queue, bytes.
const MAX_REPLY_BYTES: usize = 1 << 16;

/// Reading of a device's queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Queue {
    /// Kind of the discipline at the root, such as `tbf`; `noqueue` if there is no queue.
    pub kind: String,
    /// Backlog, bytes, including Ethernet headers.
    pub backlog: u64,
    /// Backlog, packets.
    pub packets: u32,
    /// Packets dropped since the discipline was created, modulo 2^32.
    pub drops: u32,
    /// Bytes sent since the discipline was created.
    pub sent_bytes: u64,
    /// Packets sent since the discipline was created, modulo 2^32.
    pub sent_packets: u32,
    /// Queue limit, if the discipline reports one.
    pub limit: Option<Limit>,
    /// Rate of the discipline, if the discipline is a shaper.
    pub rate: Option<Rate>,
}

impl Queue {
    /// Returns the packets dropped since an earlier reading; 0 if the discipline has been replaced.
    #[must_use]
    pub fn dropped_since(&self, earlier: &Self) -> u32 {
        if self.kind != earlier.kind || self.sent_bytes < earlier.sent_bytes {
            return 0;
        }
        self.drops.wrapping_sub(earlier.drops)
    }
}

/// State of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The device is up and has a carrier.
    Up,
    /// The device exists, but is down or has no carrier.
    Down,
    /// The device no longer exists.
    Gone,
}

/// Device of this network namespace.
#[derive(Debug)]
pub struct Device {
    /// Name when it was opened.
    pub name: String,
    /// Interface index. A new device of the same name has another index.
    pub index: u32,
    socket: Socket,
    room: Vec<u8>,
}

impl Device {
    /// Opens the device of that name.
    ///
    /// # Errors
    /// When there is no such device, or the kernel does not reply.
    pub fn open(name: &str) -> Result<Self, Error> {
        let index = nix::net::if_::if_nametoindex(name)
            .map_err(|e| Error::input(format!("--dev {name}: {} (see: ip link)", e.desc())))?;
        let cannot = |e: io::Error| Error::failed(format!("--dev {name}: netlink: {e}"));
        let mut socket = Socket::new(NETLINK_ROUTE).map_err(cannot)?;
        socket.bind_auto().map_err(cannot)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(cannot)?;
        Ok(Self {
            name: name.to_owned(),
            index,
            socket,
            room: Vec::with_capacity(MAX_REPLY_BYTES),
        })
    }

    /// Reads the queue at the device's root.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn queue(&mut self) -> io::Result<Queue> {
        let mut message = TcMessage::with_index(self.index.cast_signed());
        message.header.parent = TcHandle::ROOT;
        let answer = self.request(RouteNetlinkMessage::GetQueueDiscipline(message))?;
        Ok(match answer {
            Some(RouteNetlinkMessage::NewQueueDiscipline(found)) => read(&found.attributes),
            _ => Queue {
                kind: "noqueue".into(),
                ..Queue::default()
            },
        })
    }

    /// Returns the current state of the device.
    #[must_use]
    pub fn presence(&mut self) -> Presence {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        match self.request(RouteNetlinkMessage::GetLink(message)) {
            Ok(Some(RouteNetlinkMessage::NewLink(link))) => {
                let running = LinkFlags::Up | LinkFlags::LowerUp;
                if link.header.flags.contains(running) {
                    Presence::Up
                } else {
                    Presence::Down
                }
            }
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Presence::Gone,
            _ => Presence::Down,
        }
    }

    /// Returns the line rate: the rate of the shaper or, without a shaper, of the hardware.
    pub fn capacity(&mut self) -> Option<Rate> {
        let shaped = self.queue().ok().and_then(|queue| queue.rate);
        shaped.or_else(|| self.hardware_rate())
    }

    /// Returns the rate of real hardware; `None` for virtual devices, which report 10 Gb/s.
    #[must_use]
    pub fn hardware_rate(&self) -> Option<Rate> {
        let at = Path::new("/sys/class/net").join(&self.name);
        let number = |file: &str| fs::read_to_string(at.join(file)).ok()?.trim().parse::<u32>().ok();
        if number("ifindex") != Some(self.index) || !at.join("device").exists() {
            return None;
        }
        Rate::new(f64::from(number("speed")?) * 1e6).filter(|rate| rate.bps() > 0.0)
    }

    /// Returns true if the device sends Ethernet frames.
    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        let kind = fs::read_to_string(Path::new("/sys/class/net").join(&self.name).join("type"));
        kind.is_ok_and(|kind| kind.trim() == "1")
    }

    /// Sends a request to the kernel; returns `None` if the reply is only a confirmation.
    ///
    /// # Errors
    /// When the kernel rejects the request, or the device is gone.
    pub fn request(&mut self, question: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        // Without the echo flag, the kernel would send the requested queue to other listeners only.
        let mut answers = self.exchange(question, NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO)?;
        Ok(answers.pop())
    }

    /// Requests all objects of a kind.
    ///
    /// # Errors
    /// When the kernel rejects the request.
    pub fn dump(&mut self, question: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(question, NLM_F_REQUEST | NLM_F_DUMP)
    }

    fn exchange(&mut self, question: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
        message.finalize();
        let mut out = vec![0; message.buffer_len()];
        message.serialize(&mut out);
        self.socket.send(&out, 0)?;
        let mut found = Vec::new();
        loop {
            self.room.clear();
            self.socket.recv(&mut self.room, 0)?;
            let mut rest = &self.room[..];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(inner) => found.push(inner),
                    NetlinkPayload::Error(e) => return e.code.map_or(Ok(found), |_| Err(e.to_io())),
                    NetlinkPayload::Done(_) => return Ok(found),
                    _ => {}
                }
            }
        }
    }
}

/// Decodes a queue from the attributes of a netlink message.
pub fn read(attributes: &[TcAttribute]) -> Queue {
    let mut queue = Queue::default();
    for attribute in attributes {
        match attribute {
            TcAttribute::Kind(kind) => queue.kind.clone_from(kind),
            TcAttribute::Stats2(stats) => stats.iter().for_each(|stat| match stat {
                TcStats2::Basic(sent) => (queue.sent_bytes, queue.sent_packets) = (sent.bytes, sent.packets),
                TcStats2::Queue(now) => {
                    (queue.backlog, queue.packets, queue.drops) = (now.backlog.into(), now.qlen, now.drops);
                }
                _ => {}
            }),
            TcAttribute::Options(options) => {
                let kind = queue.kind.clone();
                for bytes in options.iter().filter_map(raw) {
                    options_of(&kind, &bytes, &mut queue);
                }
            }
            _ => {}
        }
    }
    queue
}

/// Returns the raw bytes of an option that the library does not decode.
#[must_use]
pub fn raw(option: &TcOption) -> Option<Vec<u8>> {
    let TcOption::Other(nla) = option else { return None };
    let mut bytes = vec![0; nla.value_len()];
    nla.emit_value(&mut bytes);
    Some(bytes)
}

/// Decodes the limit and the rate from a discipline's options: `struct tc_fifo_qopt` or `struct tc_tbf_qopt` of the
/// kernel.
pub fn options_of(kind: &str, bytes: &[u8], queue: &mut Queue) {
    let limit = Unit::of(kind).zip(limit_of(kind, bytes));
    queue.limit = limit.map(|(unit, limit)| unit.size(limit));
    if kind == "tbf" {
        queue.rate = rate_of(bytes);
    }
}

/// Estimates the bytes of `packets` dropped packets, because the kernel counts only their number. The assumed size of a
/// packet is the mean size of `of` other packets with `bytes` in total.
#[must_use]
pub fn bytes_of(packets: u32, bytes: u64, of: u64) -> Bytes {
    Bytes::new(bytes.checked_div(of).unwrap_or(0).saturating_mul(packets.into()))
}
