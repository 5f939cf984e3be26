//! Selection of a device's queue, with the properties of its line.

use std::io;

use levelflow_units::Rate;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};

use super::line::{self, Line};
use super::trouble::failed;
use levelflow_host::Error;
use levelflow_host::limit::{Unit, limit_of};
use levelflow_host::qdisc::Device;
use levelflow_host::tc::{Found, Handle};

/// Length of the Ethernet header before a packet, bytes.
const ETHERNET: u32 = 14;
/// MTU of Ethernet. It is assumed if the kernel reports no MTU.
const USUAL_MTU: u32 = 1500;

/// Queue whose limit can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct SizedQueue {
    /// Handle of the queue.
    pub handle: Handle,
    /// `pfifo`, `bfifo`, or `tbf` with its built-in queue.
    pub kind: String,
    /// Unit of the queue's limit.
    pub unit: Unit,
    /// Size of the largest packet, bytes. This size converts limits between bytes and packets.
    pub frame: u32,
    /// Rate of the line behind the queue.
    pub capacity: Rate,
    /// Extra bytes per packet. The line counts these bytes, and the queue does not.
    pub extra: u32,
    /// Original limit.
    pub limit: u32,
    /// Original options.
    pub options: Vec<u8>,
    /// Line as reported by the kernel.
    pub line: Line,
}

/// Finds the queue at the root of a device, or the queue with the given handle or class.
///
/// # Errors
/// When there is no such queue, its limit cannot be set, or the rate of its line is unknown.
pub fn find(device: &mut Device, at: Option<Handle>, capacity: Option<Rate>) -> Result<SizedQueue, Error> {
    let found = match at {
        None => at_root(device)?,
        Some(handle) if handle.minor == 0 => named(device, handle)?,
        Some(class) => at_class(device, class)?,
    };
    let found = inside(device, found)?;
    let kind = found.queue.kind.clone();
    let settable = Unit::of(&kind).zip(limit_of(&kind, &found.options));
    let Some((unit, limit)) = settable.filter(|_| found.handle.major > 0) else {
        return Err(unsupported(device, &found));
    };
    let line = line::behind(device, &found)?;
    // A rate given by the user counts the bytes that the queue counts.
    let extra = if capacity.is_some() { 0 } else { line.extra };
    let capacity = capacity.or(line.rate).filter(|c| c.bps() > 0.0).ok_or_else(|| {
        Error::input(format!(
            "--capacity: the kernel does not report the rate of {}; give it, such as \"100 Mb/s\"",
            device.name
        ))
    })?;
    Ok(SizedQueue {
        handle: found.handle,
        kind,
        unit,
        frame: mtu(device).unwrap_or(USUAL_MTU).saturating_add(ETHERNET),
        capacity,
        extra,
        limit,
        options: found.options,
        line,
    })
}

fn at_root(device: &mut Device) -> Result<Found, Error> {
    let root = device.queue_at(Handle::ROOT).map_err(|e| failed(device, &e))?;
    root.filter(|found| found.queue.kind != "noqueue").ok_or_else(|| {
        Error::input(format!(
            "--dev {0}: it has no queue (noqueue); give it one, such as: tc qdisc replace dev {0} root handle 1: tbf \
             rate 10mbit burst 4kb limit 100kb",
            device.name
        ))
    })
}

/// Finds a queue by its handle in the list of all queues. The kernel reports the parent only in that list.
fn named(device: &mut Device, handle: Handle) -> Result<Found, Error> {
    let all = device.queues().map_err(|e| failed(device, &e))?;
    let found = all.into_iter().find(|found| found.handle == handle);
    found.ok_or_else(|| missing(device, handle, &io::Error::from_raw_os_error(libc::ENOENT)))
}

fn at_class(device: &mut Device, class: Handle) -> Result<Found, Error> {
    let leaf = device.queue_at(class).map_err(|e| missing(device, class, &e))?;
    leaf.ok_or_else(|| {
        let spare = spare(device);
        Error::input(format!(
            "--qdisc {class}: the queue of this class is the kernel's own and cannot be changed; give it one: \
             tc qdisc add dev {} parent {class} handle {spare}: pfifo limit 1000",
            device.name
        ))
    })
}

/// Returns a handle that no queue of the device uses.
fn spare(device: &mut Device) -> String {
    let taken: Vec<u16> = device
        .queues()
        .map_or_else(|_| Vec::new(), |all| all.iter().map(|f| f.handle.major).collect());
    let free = (0x10..0x7fff).find(|major| !taken.contains(major));
    format!("{:x}", free.unwrap_or(0x10))
}

/// Returns the inner queue of a token bucket filter if an inner queue was attached. In this case, the inner queue holds
/// the packets.
fn inside(device: &mut Device, found: Found) -> Result<Found, Error> {
    if found.queue.kind != "tbf" || found.handle.major == 0 {
        return Ok(found);
    }
    let only = Handle {
        minor: 1,
        ..found.handle
    };
    let inner = device.queue_at(only).map_err(|e| failed(device, &e))?;
    Ok(inner.unwrap_or(found))
}

fn mtu(device: &mut Device) -> Option<u32> {
    let mut message = LinkMessage::default();
    message.header.index = device.index;
    let Ok(Some(RouteNetlinkMessage::NewLink(link))) = device.request(RouteNetlinkMessage::GetLink(message)) else {
        return None;
    };
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Mtu(mtu) => Some((*mtu).max(1)),
        _ => None,
    })
}

fn missing(device: &mut Device, handle: Handle, error: &io::Error) -> Error {
    if error.raw_os_error() == Some(libc::ENODEV) {
        return failed(device, error);
    }
    let choice = choices(device).map_or_else(String::new, |text| format!(" (allowed: {text})"));
    Error::input(format!(
        "--qdisc {handle}: {} has no such queue or class{choice}",
        device.name
    ))
}

fn unsupported(device: &mut Device, found: &Found) -> Error {
    let (name, kind) = (device.name.clone(), &found.queue.kind);
    if let Some(text) = choices(device) {
        return Error::input(format!(
            "--dev {name}: {kind} {} has no limit to set; choose a queue with --qdisc (allowed: {text})",
            found.handle
        ));
    }
    let at = match found.parent {
        Handle::ROOT => "root handle 1:".to_owned(),
        parent => format!("parent {parent} handle {}:", spare(device)),
    };
    let why = if Unit::of(kind).is_some() {
        "was created by the kernel itself, so its limit cannot be changed"
    } else {
        "has no limit that can be set (allowed: pfifo, bfifo, tbf, leaves of htb)"
    };
    Error::input(format!(
        "--dev {name}: its queue, {kind}, {why}; set one: tc qdisc replace dev {name} {at} pfifo limit 1000"
    ))
}

/// Describes the device's queues that can be sized.
fn choices(device: &mut Device) -> Option<String> {
    let all = device.queues().ok()?;
    let settable = all
        .iter()
        .filter(|found| Unit::of(&found.queue.kind).is_some() && found.handle.major > 0);
    let names: Vec<String> = settable
        .map(|found| format!("{} {}", found.handle, found.queue.kind))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
impl SizedQueue {
    /// Returns a pfifo of 100 packets, for tests.
    #[must_use]
    pub fn example() -> Self {
        Self {
            handle: Handle { major: 1, minor: 0 },
            kind: "pfifo".into(),
            unit: Unit::Packets,
            frame: 1514,
            capacity: Rate::clamped(1e7),
            extra: 0,
            limit: 100,
            options: Vec::new(),
            line: Line::default(),
        }
    }
}
