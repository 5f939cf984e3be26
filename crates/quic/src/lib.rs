//! QUIC connections whose rate the network sets.
//!
//! An [`Endpoint`] is a UDP socket that opens and accepts connections. It puts the shim and the header of a law before
//! each QUIC datagram with data. Routers on the path write into the header the rate that they can carry. The other end
//! returns this rate. Data leaves at the rate of the law, paced packet by packet. QUIC provides streams, encryption and
//! retransmission (by `noq`).
//!
//! Without a router of the law on the path, CUBIC controls the connection, and [`Connection::control`] reports this. If
//! packets are lost while the law is active, both the law and CUBIC limit the rate. Small datagrams (acknowledgements,
//! control) are not paced and carry no header of their own; ACKs of the law are piggybacked on them. If both ends send
//! data, the law controls both directions.
//!
//! Both ends are identified by their keys ([`Identity`], [`Trust`]); there are no certificates.
//!
//! ```
//! # use levelflow_quic::{Config, Endpoint, Identity, Trust};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, Config::new(b"example"), Some(Trust::Anyone))?;
//! let (address, key) = (server.local_address()?, server.identity().fingerprint());
//! let serving = tokio::spawn(async move {
//!     let connection = server.accept().await.unwrap().finish().await.unwrap();
//!     let (mut send, mut receive) = connection.quic().accept_bi().await.unwrap();
//!     let question = receive.read_to_end(100).await.unwrap();
//!     send.write_all(&question).await.unwrap();
//!     send.finish().unwrap();
//!     connection.quic().closed().await;
//! });
//! let config = Config::new(b"example").with_law("jetmax", &[])?;
//! let client = Endpoint::bind("127.0.0.1:0".parse()?, config, None)?;
//! let connection = client.connect(address, Trust::Keys(vec![key])).await?;
//! let (mut send, mut receive) = connection.quic().open_bi().await?;
//! send.write_all(b"hello").await?;
//! send.finish()?;
//! assert_eq!(receive.read_to_end(100).await?, b"hello");
//! println!("{}", connection.control()); // no router of jetmax here
//! connection.close();
//! serving.await?;
//! # Ok(())
//! # }
//! ```

mod controller;
mod endpoint;
mod flows;
#[doc(hidden)]
pub mod fuzzing;
mod hub;
mod identity;
mod incoming;
mod io;
mod limits;
mod peer;
mod quantum;
mod selector;
mod socket;
#[cfg(test)]
mod tests;
mod timer;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use levelflow_laws::{Any, Protocol, Signal, explicit_laws};
use levelflow_scenario::law_params;

pub use endpoint::{Arrival, Config, Connection, Endpoint, Verdict};
pub use identity::{Fingerprint, Identity, Trust};
pub use peer::Status;
pub use selector::Control;

/// Numbers of the signallings that need an ACK per packet. Their laws count packets, or receive changes of the window
/// as feedback. With other signallings, the newest ACK contains all information of older ACKs.
static ACK_PER_PACKET: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let routed = explicit_laws();
    let counts = |name| law_params(name, &BTreeMap::new()).is_ok_and(|p| Any::transport(&p).tracks_losses);
    let each = routed.filter(|law| law.signal == Signal::Change || counts(law.name));
    each.map(|law| law.signalling.number).collect()
});

fn acks_each(signalling: u8) -> bool {
    ACK_PER_PACKET.contains(&signalling)
}
