//! Pairs of virtual Ethernet devices between namespaces, and queues on them.

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
    /// Puts a token bucket in front of it, in place of the queue that was there: how fast it drains, how many bytes may leave at
    /// once (at least a packet), and what may wait.
    ///
    /// # Errors
    /// If there is no such device, or the kernel lacks token buckets.
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

/// As many as the kernel counts where there is no limit, or one in packets, which is that of a queue inside.
fn bytes(limit: Buffer) -> u64 {
    match limit {
        Buffer::Bytes(limit) => limit.get().min(u32::MAX.into()),
        Buffer::Packets(_) | Buffer::Unlimited => u32::MAX.into(),
    }
}
