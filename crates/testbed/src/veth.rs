//! Pairs of virtual Ethernet devices between namespaces, and queues on them.

use std::net::IpAddr;

use levelflow_units::{Buffer, Bytes, Rate};

use super::Namespace;
use levelflow_host::Error;

/// Where an end of a pair lies.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The namespace.
    pub namespace: &'a Namespace,
    /// The name of the device there, at most 15 letters.
    pub device: &'a str,
}

/// What waits in front of a device.
#[derive(Debug, Clone, Copy)]
pub enum Queue {
    /// A token bucket with this limit of its queue, and this burst.
    Tbf {
        /// How fast it drains.
        rate: Rate,
        /// Bytes that may leave at once: at least a packet.
        burst: Bytes,
        /// What may wait.
        limit: Buffer,
    },
    /// First in, first out, as fast as the device takes them.
    Fifo {
        /// Packets that may wait.
        packets: u32,
    },
}

/// Joins two namespaces. Both ends are up; neither makes super-packets, so that what the far end sees is what a wire
/// would carry. Checksums of packets inside the machine are not filled in.
///
/// # Errors
/// If a name is taken or too long.
pub fn veth(a: End<'_>, b: End<'_>, mtu: u32) -> Result<(), Error> {
    let (dev, peer, far) = (a.device, b.device, b.namespace.path());
    a.namespace.ip(&format!(
        "link add dev {dev} mtu {mtu} gso_max_segs 1 type veth \
         peer name {peer} mtu {mtu} gso_max_segs 1 netns {far}\nlink set dev {dev} up\n"
    ))?;
    b.namespace.ip(&format!("link set dev {peer} up"))
}

impl End<'_> {
    /// Gives it an address in a network of so many bits.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn address(&self, address: IpAddr, bits: u8) -> Result<(), Error> {
        let once = if address.is_ipv6() { " nodad" } else { "" };
        self.namespace
            .ip(&format!("address add {address}/{bits} dev {}{once}", self.device))
    }

    /// Sends a network by way of a neighbour behind this device.
    ///
    /// # Errors
    /// If the neighbour cannot be reached from here.
    pub fn route(&self, network: IpAddr, bits: u8, via: IpAddr) -> Result<(), Error> {
        self.namespace
            .ip(&format!("route add {network}/{bits} via {via} dev {}", self.device))
    }

    /// Puts a queue in front of it, in place of the one that was there.
    ///
    /// # Errors
    /// If there is no such device, or the kernel lacks that kind of queue.
    pub fn queue(&self, queue: Queue) -> Result<(), Error> {
        let kind = match queue {
            Queue::Tbf { rate, burst, limit } => {
                let (bits, limit) = (rate.bps().round(), bytes(limit));
                format!("handle 1: tbf rate {bits}bit burst {} limit {limit}", burst.get())
            }
            Queue::Fifo { packets } => format!("pfifo limit {packets}"),
        };
        let device = self.device;
        self.namespace.tc(&format!("qdisc replace dev {device} root {kind}"))?;
        match queue {
            Queue::Tbf {
                limit: Buffer::Packets(limit),
                ..
            } => self
                .namespace
                .tc(&format!("qdisc replace dev {device} parent 1:1 pfifo limit {limit}")),
            _ => Ok(()),
        }
    }
}

/// As many as the kernel counts where there is no limit, or one in packets, which is that of a queue inside.
fn bytes(limit: Buffer) -> u64 {
    match limit {
        Buffer::Bytes(limit) => limit.get().min(u32::MAX.into()),
        Buffer::Packets(_) | Buffer::Unlimited => u32::MAX.into(),
    }
}
