//! A large file goes over several streams at once, in stripes: a stream alone moves no more than its window per round trip.
//!
//! The stream of the request is the first lane. The client opens the others, each with [`Request::Lane`](super::message::Request),
//! once the server has answered the request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use noq::{RecvStream, SendStream};
use tokio::sync::mpsc;

use levelflow_host::Error;
use levelflow_quic::STREAM;

/// Bytes that go over one lane before it is the next one's turn.
pub(super) const STRIPE: usize = 1 << 16;
/// Most lanes of a file: together they fill the window of a connection.
pub(super) const MOST: usize = 16;

/// How many lanes so many bytes get: one for each window, up to the most.
pub(super) fn lanes_for(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(STREAM.into())).map_or(MOST, |lanes| lanes.clamp(1, MOST))
}

/// How many lanes the other end says that there are.
pub(super) fn check(lanes: usize) -> Result<usize, Error> {
    match lanes {
        1..=MOST => Ok(lanes),
        _ => Err(Error::failed(format!("{lanes} lanes: 1 to {MOST} are allowed"))),
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

    /// From now on lanes may join that transfer.
    pub fn expect(&self, transfer: u64) -> Expected<'_> {
        let (sender, arriving) = mpsc::channel(MOST);
        self.lock().insert(transfer, sender);
        Expected {
            rendezvous: self,
            transfer,
            arriving,
        }
    }

    /// Hands a stream to its transfer; one that nobody expects is dropped, which cuts it off.
    pub fn join(&self, transfer: u64, number: usize, lane: Lane) {
        if let Some(sender) = self.lock().get(&transfer) {
            // A transfer that has all its lanes takes no more.
            let _ = sender.try_send((number, lane));
        }
    }
}

/// A transfer that waits for lanes, until this is dropped.
pub(super) struct Expected<'a> {
    rendezvous: &'a Rendezvous,
    transfer: u64,
    arriving: mpsc::Receiver<(usize, Lane)>,
}

impl Expected<'_> {
    /// The lanes after the first, in their order.
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
