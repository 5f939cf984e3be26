//! Memories. Each memory is shared by several buffers.

use levelflow_laws::Any;
use levelflow_units::Bytes;

use crate::context::largest_packets;
use crate::error::{Fallible, Place, Problem};
use crate::format::Scenario;
use crate::network::{FlowSpec, LinkSpec, MemorySpec};
use crate::quantity::Size;

/// Packet size at a link without flows, for a memory whose size is in bytes.
const USUAL_PACKET: Bytes = Bytes::new(1500);

impl Scenario {
    pub(crate) fn read_memories(&self, links: &[LinkSpec<Any>], flows: &[FlowSpec<Any>]) -> Fallible<Vec<MemorySpec>> {
        let mut taken = vec![None; links.len()];
        let largest = largest_packets(flows, links.len());
        let mut memories = Vec::new();
        for (m, memory) in self.memory.iter().enumerate() {
            let place = Place::from(format!("memory {}", m + 1));
            let error = |key, problem| Err(place.key(key).error(problem));
            if memory.links.is_empty() {
                return error("links", Problem::Missing("needs the name of a link".into()));
            }
            let mut spec = MemorySpec {
                total: match memory.total {
                    Size::Bytes(bytes) => bytes.get() as f64,
                    Size::Packets(packets) => packets.get() as f64,
                },
                links: Vec::new(),
            };
            for name in &memory.links {
                let Some(index) = links.iter().position(|link| link.name == *name) else {
                    let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
                    return error("links", Problem::unknown("the link", name, &known));
                };
                if links[index].algorithm.is_none() {
                    let problem = format!(
                        "the buffer of {name} has no buffer-sizing algorithm; give it one, such as {{ abs_log = {{}} }}"
                    );
                    return error("links", Problem::Conflict(problem));
                }
                if let Some(other) = taken[index].replace(m + 1) {
                    let problem = format!("{name} is named already, in memory {other}");
                    return error("links", Problem::Duplicate(problem));
                }
                let packet = largest[index].unwrap_or(USUAL_PACKET);
                let unit = match memory.total {
                    Size::Bytes(_) => packet.get() as f64,
                    Size::Packets(_) => 1.0,
                };
                spec.links.push((index as u32, unit));
            }
            let least: f64 = spec.links.iter().map(|&(_, unit)| unit).sum();
            if spec.total < least {
                let room = match memory.total {
                    Size::Bytes(_) => Bytes::new(least as u64).to_string(),
                    Size::Packets(_) => format!("{least} packets"),
                };
                let problem = format!("must have room for one packet of each link: at least {room}");
                return error("total", Problem::Value(problem));
            }
            memories.push(spec);
        }
        Ok(memories)
    }
}
