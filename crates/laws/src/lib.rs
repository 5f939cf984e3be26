//! Congestion-control laws, one folder per law.
//!
//! A *law* is a congestion-control algorithm: the sender's reaction to an ACK. A *signalling* defines the packet
//! header, the computations of routers, and the header of the ACK. Several laws may react to the same signalling. Laws
//! and signallings are pure functions of their state and their input. They use no clock, socket, thread or heap, and
//! derive random choices from a seed. The simulator and the data plane therefore run the same code. Only two enums
//! allocate memory: [`AnySender`] boxes large senders, and [`AnyReceiver`] boxes the state of receivers. Laws outside
//! this crate are [`external`].
//!
//! To add a law, add its folder, its `mod` line, and a line in the `laws!` list below. A new signalling also needs a
//! line in the `signals!` list. `CONTRIBUTING.md` lists the steps.

#![no_std]
#[cfg(test)]
extern crate std;

pub mod abc;
pub mod aimd;
pub mod aqm;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod buffers;
pub mod bytes;
pub mod cbr;
pub mod cubic;
pub mod dctcp;
pub mod emkc;
pub mod emkc_avq;
pub mod external;
pub mod fast;
pub mod header;
pub mod highspeed;
pub mod htcp;
pub mod jetmax;
pub mod kelly;
pub mod ks;
mod law;
pub mod level;
pub mod lp;
pub mod maxnet;
pub mod newreno;
pub mod offload;
mod paced;
pub mod params;
pub mod police;
pub mod prague;
mod random;
pub mod rcp;
pub mod rcp_weighted;
mod registry;
pub mod reno;
mod rtt;
pub mod scalable;
pub mod slots;
pub mod sperc;
pub mod tcp;
pub mod tfrc;
pub mod vegas;
pub mod westwood;
pub mod xcp;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod testing;

pub use header::{Header, NoHeader};
pub use law::{
    Arrived, Arriving, Bottleneck, Counting, Delivery, Feedback, Flight, FlowInfo, HeaderOf, Kind, Law, LawInfo, Loss,
    NoRouter, NoSignals, Opening, Outgoing, PortInfo, PortView, Protocol, ReceiverOf, RecoveryScheme, Restart,
    RouterInfo, RouterLaw, RouterOf, RouterParamsOf, SenderLaw, Signal, Signalling, SignallingInfo, Transport,
    WireSignalling,
};
pub use params::{ParamError, ParamSpec, Parameters, Unit};

registry::signals! {
    None => NoSignals,
    JetMax => jetmax::Signals,
    Level => level::Signals,
    Sperc => sperc::Signals,
    Emkc => emkc::Signals,
    EmkcAvq => emkc_avq::Signals,
    Kelly => kelly::Signals,
    Rcp => rcp::Signals,
    MaxNet => maxnet::Signals,
    Xcp => xcp::Signals,
    Abc => abc::Signals,
    Slots => slots::Signals,
}

registry::laws! {
    jetmax => JetMax,
    level => Level,
    sperc => Sperc boxed,
    emkc => Emkc,
    emkc_avq => EmkcAvq,
    kelly => Kelly,
    rcp => Rcp,
    rcp_weighted => RcpWeighted,
    maxnet => MaxNet boxed,
    xcp => Xcp,
    abc => Abc boxed,
    slots => Slots boxed,
    reno => Reno,
    newreno => NewReno,
    bic => Bic,
    cubic => Cubic boxed,
    highspeed => HighSpeed,
    scalable => Scalable,
    htcp => Htcp boxed,
    westwood => Westwood,
    lp => Lp,
    dctcp => Dctcp,
    prague => Prague boxed,
    vegas => Vegas,
    fast => Fast,
    cbr => Cbr,
    aimd => Aimd,
    tfrc => Tfrc boxed,
    bbr => Bbr boxed,
    bbr3 => Bbr3 boxed,
    ks => Ks,
}
