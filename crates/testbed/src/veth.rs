//! Pairs of virtual Ethernet devices between namespaces, and queues on them.

use levelflow_units::{Buffer, Bytes, Rate};

use super::Namespace;
use levelflow_host::Error;

/// End of a veth pair.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Namespace that holds the device.
    pub namespace: &'a Namespace,
    /// Name of the device, at most 15 letters.
    pub device: &'a str,
}

/// Joins two namespaces. Both ends are up. They create no super-packets, so the far end receives packets of at most the
/// MTU. Packets within the machine have no valid checksums.
///
/// # Errors
/// When a name is in use or too long.
pub fn veth(a: End<'_>, b: End<'_>, mtu: u32) -> Result<(), Error> {
    let (dev, peer, far) = (a.device, b.device, b.namespace.path());
    a.namespace.ip(&format!(
        "link add dev {dev} mtu {mtu} gso_max_segs 1 type veth \
         peer name {peer} mtu {mtu} gso_max_segs 1 netns {far}\nlink set dev {dev} up\n"
    ))?;
    b.namespace.ip(&format!("link set dev {peer} up"))
}

impl End<'_> {
    /// Replaces the device's queue by a token bucket. `burst` must have room for at least one packet. `limit` is the
    /// queue limit.
    ///
    /// # Errors
    /// When the device does not exist, or the kernel lacks token buckets.
    pub fn token_bucket(&self, rate: Rate, burst: Bytes, limit: Buffer) -> Result<(), Error> {
        let (device, bits, burst) = (self.device, rate.bps().round(), burst.get());
        let bucket = format!("handle 1: tbf rate {bits}bit burst {burst} limit {}", bytes(limit));
        self.namespace
            .tc(&format!("qdisc replace dev {device} root {bucket}"))?;
        let Buffer::Packets(limit) = limit else { return Ok(()) };
        self.namespace
            .tc(&format!("qdisc replace dev {device} parent 1:1 pfifo limit {limit}"))
    }
}

/// Returns the limit of a token bucket in bytes. It is the largest limit of the kernel if the queue is unlimited, or if
/// an inner queue has a limit in packets.
fn bytes(limit: Buffer) -> u64 {
    match limit {
        Buffer::Bytes(limit) => limit.get().min(u32::MAX.into()),
        Buffer::Packets(_) | Buffer::Unlimited => u32::MAX.into(),
    }
}
