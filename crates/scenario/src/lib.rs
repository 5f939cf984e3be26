//! Scenarios: the structure that users write, and the network that it describes. The structure is written as TOML or as
//! JSON. A *law* is a congestion-control algorithm. A *signalling* defines the packet header and the computations of
//! routers for one or several laws.
//!
//! [`Scenario`] is the structure that users write. [`Scenario::resolve`] checks the structure against the laws and the
//! topology, and returns a [`Network`]. A [`ScenarioError`] contains all mistakes, each with its place, the problem and
//! the allowed values. The simulator and the network testbed draw start times, sizes and arrivals from the same [random
//! streams](levelflow_random).

mod advice;
mod application;
mod buffers;
mod changes;
mod choice;
mod context;
mod describe;
mod edit;
mod encapsulation;
mod error;
mod flows;
mod format;
mod ideal;
mod laws;
mod lie;
mod loss;
mod lying;
mod memory;
mod network;
mod offered;
mod one_law;
mod profile;
mod quantity;
mod queues;
mod record;
mod resolve;
mod routes;
mod routing;
mod rules;
mod scale;
mod schedule;
pub mod settings;
mod trace;
mod traffic;

pub use application::{Application, ApplicationSpec};
pub use buffers::buffer_algorithm_named;
pub use changes::{Change, Changes, Trace};
pub use choice::{BufferChoice, LawChoice, LawTables, QueueChoice};
pub use describe::{describe_buffer_algorithms, describe_laws, describe_queues, schema};
pub use edit::{Step, assign, locate, value_of};
pub use encapsulation::Encapsulation;
pub use error::{Mistake, Place, Problem, ScenarioError, lines};
pub use format::{
    AckDelay, ArrivalProcess, Flow, Link, Memory, NextHop, OnOff, OwnLaws, Responses, Reverse, Routing, Scenario,
    Session,
};
pub use ideal::IdealPath;
pub use laws::{law_params, law_values, signalling_params, signalling_values};
pub use lie::{Falsehood, Forgery, Lie, LieSpec};
pub use lying::{Lying, LyingParams, LyingSender};
pub use network::{AckDelaySpec, FlowSpec, LinkSpec, LinkState, MemorySpec, Network, RouteSpec, Routes, SessionSpec};
pub use offered::Offered;
pub use profile::Profile;
pub use quantity::{BufferSize, Count, Random, Share, Size, Varying};
pub use queues::queue_of;
pub use record::{
    BitsRecord, BufferRecord, FieldRecord, FlowRecord, LawRecord, LinkRecord, LinkStateRecord, ParameterRecord,
    ParameterTables, Parameters, PathRecord, PlanRecord, QueueRecord, ScenarioRecord,
};
pub use resolve::{Resolved, check_name};
pub use scale::{scale, scale_arrivals};
pub use schedule::{Arrival, RoundTrip, Schedule, Transfer};
pub use trace::{Recording, read_trace, read_traces};
pub use traffic::{Arrivals, Dist};
