//! Whole networks on one machine: namespaces, links between them, what runs inside.
//!
//! [`choose`] reads a scenario, [`plan`] says what to build, [`run`] builds and runs it in real time and leaves results as the
//! simulator does.

mod choose;
mod collect;
mod frame;
mod lab;
mod links;
mod meter;
mod netns;
mod plan;
mod receivers;
mod run;
mod schedule;
mod senders;
mod streams;
mod token_buckets;
mod veth;

pub use choose::{Chosen, choose};
pub use lab::Lab;
pub use netns::Namespace;
pub use plan::{DirectionPlan, FlowPlan, Form, Hop, NamespacePlan, Plan, Setup, VethPair, laws, plan};
pub use run::{Outcome, run};
pub use veth::{End, veth};
