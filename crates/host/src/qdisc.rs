//! The queue of a device, as the kernel reports it at its root: what waits there, and what was sent and dropped.

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

/// Longest answer about one device or queue.
const LONGEST: usize = 1 << 16;

/// One reading of a device's queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Queue {
    /// Kind of the discipline at the root, such as `tbf`; `noqueue` where nothing can wait.
    pub kind: String,
    /// Bytes that wait, Ethernet headers included.
    pub backlog: u64,
    /// Packets that wait.
    pub packets: u32,
    /// Packets dropped since the discipline was set up; begins again after 2^32.
    pub drops: u32,
    /// Bytes sent since then.
    pub sent_bytes: u64,
    /// Packets sent since then; begins again after 2^32.
    pub sent_packets: u32,
    /// Room, if the discipline says.
    pub limit: Option<Limit>,
    /// Rate, if the discipline has one.
    pub rate: Option<Rate>,
}

impl Queue {
    /// Packets dropped since an earlier reading; 0 if the discipline has been set up anew.
    #[must_use]
    pub fn dropped_since(&self, earlier: &Self) -> u32 {
        if self.kind != earlier.kind || self.sent_bytes < earlier.sent_bytes {
            return 0;
        }
        self.drops.wrapping_sub(earlier.drops)
    }
}

/// How a device is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is up and has a carrier.
    Up,
    /// It is there and carries nothing.
    Down,
    /// It is not there any more.
    Gone,
}

/// A device of this network namespace.
#[derive(Debug)]
pub struct Device {
    /// Its name when it was opened.
    pub name: String,
    /// Its number, which a new device of the same name does not have.
    pub index: u32,
    socket: Socket,
    room: Vec<u8>,
}

impl Device {
    /// Finds the device of that name.
    ///
    /// # Errors
    /// When there is none, or the kernel does not answer.
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
            room: Vec::with_capacity(LONGEST),
        })
    }

    /// Reads the queue at the device's root.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn queue(&mut self) -> io::Result<Queue> {
        let mut message = TcMessage::with_index(self.index.cast_signed());
        message.header.parent = TcHandle::ROOT;
        let answer = self.ask(RouteNetlinkMessage::GetQueueDiscipline(message))?;
        Ok(match answer {
            Some(RouteNetlinkMessage::NewQueueDiscipline(found)) => read(&found.attributes),
            _ => Queue {
                kind: "noqueue".into(),
                ..Queue::default()
            },
        })
    }

    /// Whether it is there, and up.
    #[must_use]
    pub fn presence(&mut self) -> Presence {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        match self.ask(RouteNetlinkMessage::GetLink(message)) {
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

    /// The rate of its line: what its discipline lets through, or else what the hardware says.
    pub fn capacity(&mut self) -> Option<Rate> {
        let shaped = self.queue().ok().and_then(|queue| queue.rate);
        shaped.or_else(|| self.hardware_rate())
    }

    /// Only of real hardware: pairs of virtual devices claim 10 Gb/s.
    #[must_use]
    pub fn hardware_rate(&self) -> Option<Rate> {
        let at = Path::new("/sys/class/net").join(&self.name);
        let number = |file: &str| fs::read_to_string(at.join(file)).ok()?.trim().parse::<u32>().ok();
        if number("ifindex") != Some(self.index) || !at.join("device").exists() {
            return None;
        }
        Rate::new(f64::from(number("speed")?) * 1e6).filter(|rate| rate.bps() > 0.0)
    }

    /// Whether frames of Ethernet leave it.
    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        let kind = fs::read_to_string(Path::new("/sys/class/net").join(&self.name).join("type"));
        kind.is_ok_and(|kind| kind.trim() == "1")
    }

    /// Sends a request to the kernel; `None` if it only confirms.
    ///
    /// # Errors
    /// When the kernel refuses it, or the device is gone.
    pub fn ask(&mut self, question: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        // Without an echo, the kernel tells only others about the queue that we ask for.
        let mut answers = self.exchange(question, NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO)?;
        Ok(answers.pop())
    }

    /// Requests every object of a kind.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn ask_all(&mut self, question: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
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

/// The queue that a message of the kernel describes.
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

/// The bytes of an option that the library does not know, which are those of the disciplines here.
#[must_use]
pub fn raw(option: &TcOption) -> Option<Vec<u8>> {
    let TcOption::Other(nla) = option else { return None };
    let mut bytes = vec![0; nla.value_len()];
    nla.emit_value(&mut bytes);
    Some(bytes)
}

/// Limit and rate from the options of the disciplines that have one; `struct tc_fifo_qopt` and `struct tc_tbf_qopt` of the kernel.
pub fn options_of(kind: &str, bytes: &[u8], queue: &mut Queue) {
    let limit = Unit::of(kind).zip(limit_of(kind, bytes));
    queue.limit = limit.map(|(unit, limit)| unit.size(limit));
    if kind == "tbf" {
        queue.rate = rate_of(bytes);
    }
}

/// A number of bytes for each of so many packets dropped, when only packets are counted: their mean size.
#[must_use]
pub fn bytes_of(packets: u32, bytes: u64, of: u64) -> Bytes {
    Bytes::new(bytes.checked_div(of).unwrap_or(0).saturating_mul(packets.into()))
}
