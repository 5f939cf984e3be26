//! Packets for the measurements, and clocks of CPU time.

use levelflow_host::Error;
use levelflow_laws::{AnySender, FlowInfo, Kind, Outgoing, PortInfo, SenderLaw};
use levelflow_scenario::settings;
use levelflow_units::{Bytes, Rate, Time};
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use rustix::time::{ClockId, clock_gettime};

/// Size of a packet on the wire.
pub const SIZE: Bytes = Bytes::new(1000);
/// Payload of a packet of [`SIZE`] bytes over UDP and IPv4, bytes.
pub const PAYLOAD: usize = 958;
/// Returns the names of the measured laws. They are the laws that the kernel router supports.
pub fn laws() -> impl Iterator<Item = &'static str> {
    levelflow_laws::on_the_wire()
        .filter(|law| law.routers.kernel.is_some())
        .map(|law| law.name)
}

/// Returns the port of the router.
pub fn port() -> PortInfo {
    PortInfo {
        id: 1,
        capacity: Rate::clamped(1e9),
    }
}

/// Returns a datagram without a shim. Routers count such a datagram as foreign load.
pub fn foreign() -> Vec<u8> {
    vec![0; PAYLOAD]
}

/// Returns the first datagram of a flow of the law.
///
/// # Errors
/// When no law has this name.
pub fn ours(law: &str) -> Result<Vec<u8>, Error> {
    let params = settings::params(law, &[]).map_err(Error::input)?;
    let mut sender = AnySender::new(&params, &FlowInfo::of(SIZE));
    let outgoing = Outgoing {
        number: 0,
        size: SIZE,
        kind: Kind::Data,
    };
    let signalling = params.law().signalling;
    let shim = Shim {
        kind: Kind::Data,
        marked: false,
        more: false,
        unacknowledged: false,
        signalling: signalling.number,
        header: signalling.header_bytes() as u8,
        flow: 1,
        number: 0,
        time: 0,
    };
    let mut packet = foreign();
    shim.encode(&mut packet);
    sender
        .on_send(&params, Time::ZERO, &outgoing)
        .encode(&mut packet[SHIM_BYTES..]);
    Ok(packet)
}

/// Returns the CPU time of this thread, ns.
pub fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
