//! Receiver half: averages prices over one round-trip time (section VI).

use levelflow_units::{Duration, Time};

use super::MaxNetHeader;
use super::header::LARGEST;
use crate::{Arrived, Kind};

/// What a receiver remembers of a flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MaxNetReceiver {
    opened: Option<Time>,
    prices: Option<Prices>,
}

#[derive(Debug, Clone, PartialEq)]
struct Prices {
    /// In codes.
    average: f64,
    last: Time,
    /// From the opening packet to the first data packet: the sender waits for its ACK in between.
    rtt: Duration,
}

impl MaxNetReceiver {
    /// The average is weighted by the time since the last price, so that a burst of packets counts no more than one.
    pub(super) fn echo(&mut self, arrived: &Arrived, header: &MaxNetHeader) -> MaxNetHeader {
        let echo = match arrived.kind {
            Kind::Data => self.average(arrived.now, header.price & LARGEST),
            Kind::Syn => {
                self.opened = Some(arrived.now);
                header.price
            }
            Kind::Fin | Kind::Ack => header.price,
        };
        MaxNetHeader { echo, price: 0 }
    }

    fn average(&mut self, now: Time, price: u32) -> u32 {
        let sample = f64::from(price);
        let opened = self.opened.unwrap_or(now);
        let prices = self.prices.get_or_insert_with(|| Prices {
            average: sample,
            last: now,
            rtt: now.since(opened),
        });
        let gap = now.since(prices.last);
        prices.last = now;
        if gap < prices.rtt {
            let weight = gap.as_secs_f64() / prices.rtt.as_secs_f64();
            prices.average += weight * (sample - prices.average);
        } else {
            prices.average = sample;
        }
        (prices.average + 0.5) as u32
    }
}
