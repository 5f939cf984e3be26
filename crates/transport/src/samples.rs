//! Rate samples (draft-ietf-ccwg-bbr, section 4.1) for laws that use them. A sample needs the state of the flow when
//! the acknowledged packet was sent.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Delivery, Flight};
use levelflow_units::Time;

/// State of the flow when a packet was sent; see the fields of [`Samples`].
#[derive(Debug, Clone, Copy)]
struct SendState {
    delivered_at: Time,
    first_sent: Time,
    delivered: u32,
    lost: u32,
    outstanding: u32,
    app_limited: bool,
}

/// State of a flow now, and when each tracked packet was sent.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// State when each tracked packet was sent. A packet has the same index in the scoreboard.
    left: VecDeque<SendState>,
    /// Packets delivered so far.
    delivered: u32,
    /// Time of the ACK that increased `delivered` last.
    delivered_at: Time,
    /// Send time of the latest acknowledged packet.
    first_sent: Time,
    /// Packets declared lost so far.
    lost: u32,
    /// Value of `delivered` after all application-limited packets have arrived (section 4.1.2.4). `None` if the flow is
    /// not application-limited.
    app_limited_until: Option<u32>,
}

impl Samples {
    /// Marks the flow as application-limited until the packets now in flight have arrived.
    #[inline]
    pub fn mark_limited(&mut self, outstanding: u32) {
        self.app_limited_until = Some(self.delivered.wrapping_add(outstanding));
    }

    /// Returns true if the next packet is application-limited.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Starts a new sample interval. Called before a packet is sent while no packet is in flight.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// Records that a packet is sent. `outstanding` includes this packet.
    #[inline]
    pub fn on_send(&mut self, outstanding: u32) {
        self.left.push_back(SendState {
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            delivered: self.delivered,
            lost: self.lost,
            outstanding,
            app_limited: self.app_limited_until.is_some(),
        });
    }

    /// Removes the state of the oldest packet.
    #[inline]
    pub fn forget(&mut self) {
        self.left.pop_front();
    }

    /// Counts a packet that is declared lost. Returns the state of the flow when the packet was sent.
    #[inline]
    pub fn on_loss(&mut self, index: usize, number: u32) -> Option<Flight> {
        self.lost = self.lost.wrapping_add(1);
        self.flight(index, number)
    }

    /// Counts `packets` whose arrival an ACK shows. The acknowledged packet was sent at `sent`.
    #[inline]
    pub fn on_ack(&mut self, now: Time, sent: Time, packets: u32) {
        self.delivered = self.delivered.wrapping_add(packets);
        if packets > 0 {
            self.delivered_at = now;
        }
        self.app_limited_until = self.app_limited_until.filter(|until| !before(*until, self.delivered));
        self.first_sent = sent;
    }

    /// Returns the rate sample of an acknowledged packet. The packet was sent at `sent`.
    #[inline]
    pub fn delivery(&self, now: Time, index: usize, sent: Time) -> Option<Delivery> {
        self.left.get(index).map(|left| Delivery {
            total: self.delivered,
            prior: left.delivered,
            interval: sent.since(left.first_sent).max(now.since(left.delivered_at)),
            app_limited: left.app_limited,
        })
    }

    /// Returns the state of the flow when a packet was sent, for the law.
    #[inline]
    pub fn flight(&self, index: usize, number: u32) -> Option<Flight> {
        self.left.get(index).map(|left| Flight {
            number,
            outstanding: left.outstanding,
            lost: self.lost.wrapping_sub(left.lost),
            app_limited: left.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use levelflow_laws::Kind;
    use levelflow_units::Duration;

    use super::*;
    use crate::scoreboard::{Acked, Scoreboard};
    use crate::stream::Chunk;

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_ms(t)
    }

    /// Sends three packets, one per millisecond, and a fourth packet at the first ACK. The round-trip time is 10 ms.
    fn acks(samples: bool) -> Vec<Acked> {
        let mut board = Scoreboard::new(0, usize::MAX, samples);
        let send = |board: &mut Scoreboard<()>, t| _ = board.on_send(ms(t), Kind::Data, Chunk::NONE, ());
        (0..3).for_each(|t| send(&mut board, t));
        let mut acks = vec![board.on_ack(ms(10), 0, 0, |_| {})];
        send(&mut board, 10);
        let later = [(11, 1), (12, 2), (20, 3)];
        acks.extend(later.map(|(t, number)| board.on_ack(ms(t), number, (1 << number) - 1, |_| {})));
        acks
    }

    #[test]
    fn a_sample_is_what_arrived_in_the_longer_of_two_times() {
        let delivery = |total, prior, interval| {
            Some(Delivery {
                total,
                prior,
                interval: Duration::from_ms(interval),
                app_limited: false,
            })
        };
        let found: Vec<_> = acks(true).iter().map(|acked| acked.delivery).collect();
        let expected = [(1, 0, 10), (2, 0, 11), (3, 0, 12), (4, 1, 10)];
        assert_eq!(
            found,
            expected.map(|(total, prior, interval)| delivery(total, prior, interval))
        );
        let outstanding: Vec<_> = acks(true)
            .iter()
            .map(|acked| acked.flight.unwrap().outstanding)
            .collect();
        assert_eq!(outstanding, [1, 2, 3, 3]);
    }

    /// Sends eight packets with a scoreboard for six packets, so the first two packets are evicted. The ACK of the last
    /// packet shows that packets 2 to 4 are lost.
    #[test]
    fn a_forgotten_packet_takes_its_circumstances_along() {
        let mut board = Scoreboard::new(0, 6, true);
        for t in 0..8 {
            if t == 5 {
                board.mark_limited();
            }
            board.on_send(ms(t), Kind::Data, Chunk::NONE, ());
        }
        let flight = board.on_ack(ms(20), 7, 0, |_| {}).flight.unwrap();
        assert_eq!(
            (flight.number, flight.outstanding, flight.lost, flight.app_limited),
            (7, 6, 3, true)
        );
    }

    #[test]
    fn only_laws_that_need_samples_get_them() {
        assert!(acks(false).iter().all(|acked| acked.packets == 1));
        assert!(
            acks(false)
                .iter()
                .all(|acked| acked.delivery.is_none() && acked.flight.is_none())
        );
    }
}
