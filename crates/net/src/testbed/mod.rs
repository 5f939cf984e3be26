//! Whole networks on one machine: namespaces, links between them, what runs inside.

mod netns;
mod veth;

pub use netns::Namespace;
pub use veth::{End, Queue, veth};
