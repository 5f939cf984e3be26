//! Receiver algorithm: averages prices over one round-trip time (section VI).

use levelflow_units::{Duration, Time};

use super::Header;
use super::header::MAX_CODE;
use crate::{Arrived, Kind};

/// Receiver state of a flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Receiver {
    opened: Option<Time>,
    prices: Option<Prices>,
}

#[derive(Debug, Clone, PartialEq)]
struct Prices {
    /// Average price, in units of one code.
    average: f64,
    last: Time,
    /// Round-trip time: time between the arrivals of the handshake packet and of the first data packet. The sender
    /// sends the first data packet when the handshake packet is acknowledged.
    rtt: Duration,
}

impl Receiver {
    /// Averages prices. The weight of a price is the time since the previous packet. A burst therefore has the weight
    /// of a single packet.
    pub(super) fn echo(&mut self, arrived: &Arrived, header: &Header) -> Header {
        let echo = match arrived.kind {
            Kind::Data => self.average(arrived.now, header.price & MAX_CODE),
            Kind::Syn => {
                self.opened = Some(arrived.now);
                header.price
            }
            Kind::Fin | Kind::Ack => header.price,
        };
        Header { echo, price: 0 }
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
