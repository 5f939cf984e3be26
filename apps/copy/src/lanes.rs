//! Striping of large files over several streams: a single stream moves at most its window per round trip.
//!
//! The stream of the request is the first lane. After the server's reply to the request, the client opens the other
//! lanes, each with [`Request::Lane`](super::message::Request).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use noq::{RecvStream, SendStream};
use tokio::sync::mpsc;

use levelflow_host::Error;
use levelflow_quic::STREAM_WINDOW_BYTES;

/// Bytes that a lane carries before the next lane follows.
pub(super) const STRIPE_BYTES: usize = 1 << 16;
/// Limit on lanes per file. Together, this number of lanes fills the flow-control window of a connection.
pub(super) const MAX_LANES: usize = 16;

/// Returns the number of lanes for a file: one per stream window of data, up to the limit.
pub(super) fn lanes_for(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(STREAM_WINDOW_BYTES.into())).map_or(MAX_LANES, |lanes| lanes.clamp(1, MAX_LANES))
}

/// Checks the number of lanes that the other end requests.
pub(super) fn check(lanes: usize) -> Result<usize, Error> {
    match lanes {
        1..=MAX_LANES => Ok(lanes),
        _ => Err(Error::failed(format!("{lanes} lanes: 1 to {MAX_LANES} are allowed"))),
    }
}

/// Both halves of a stream.
type Lane = (SendStream, RecvStream);
type Waiting = HashMap<u64, mpsc::Sender<(usize, Lane)>>;

/// Transfers of a connection that may get further lanes, by the stream of their request.
#[derive(Debug, Default)]
pub(super) struct Rendezvous(Mutex<Waiting>);

impl Rendezvous {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a transfer, so that lanes may join it.
    pub fn expect(&self, transfer: u64) -> Expected<'_> {
        let (sender, arriving) = mpsc::channel(MAX_LANES);
        self.lock().insert(transfer, sender);
        Expected {
            rendezvous: self,
            transfer,
            arriving,
        }
    }

    /// Passes a stream to its transfer. A stream without a registered transfer is dropped, which aborts it.
    pub fn join(&self, transfer: u64, number: usize, lane: Lane) {
        if let Some(sender) = self.lock().get(&transfer) {
            // A transfer that has all its lanes rejects additional lanes.
            let _ = sender.try_send((number, lane));
        }
    }
}

/// Transfer that waits for lanes. The registration ends on drop.
pub(super) struct Expected<'a> {
    rendezvous: &'a Rendezvous,
    transfer: u64,
    arriving: mpsc::Receiver<(usize, Lane)>,
}

impl Expected<'_> {
    /// Returns the lanes after the first, in order.
    pub async fn gather(&mut self, lanes: usize) -> Result<Vec<Lane>, Error> {
        let mut slots: Vec<Option<Lane>> = (1..lanes).map(|_| None).collect();
        for _ in 1..lanes {
            let (number, lane) = self.arriving.recv().await.ok_or_else(|| Error::failed("no lanes"))?;
            match number.checked_sub(1).and_then(|n| slots.get_mut(n)) {
                Some(slot) if slot.is_none() => *slot = Some(lane),
                _ => {
                    return Err(Error::failed(format!(
                        "lane {number}: not one of {lanes}, or there already"
                    )));
                }
            }
        }
        Ok(slots.into_iter().flatten().collect())
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.rendezvous.lock().remove(&self.transfer);
    }
}
