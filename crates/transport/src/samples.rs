//! Rate samples, and under which circumstances packets left (draft-ietf-ccwg-bbr, section 4.1): for laws that ask for them.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Delivery, Flight};
use levelflow_units::Time;

/// What was known when a packet left; see [`Samples::delivered`] and so on.
#[derive(Debug, Clone, Copy)]
struct Circumstances {
    delivered_at: Time,
    first_sent: Time,
    delivered: u32,
    lost: u32,
    outstanding: u32,
    limited: bool,
}

/// What is known of a flow, and was when each remembered packet left.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// By packet, as the scoreboard has them.
    left: VecDeque<Circumstances>,
    /// Packets known to have arrived; when that became known; when the packet was sent whose ACK said so.
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    /// Packets taken for lost so far.
    lost: u32,
    /// Packets delivered when the last one will be that left under the limit of the application (section 4.1.2.4); none while the
    /// application is no limit.
    limited_until: Option<u32>,
}

impl Samples {
    /// The application has nothing to send now: that limits the packets on their way, and what leaves until they have arrived.
    #[inline]
    pub fn mark_limited(&mut self, outstanding: u32) {
        self.limited_until = Some(self.delivered.wrapping_add(outstanding));
    }

    /// Whether the next packet leaves under the limit of the application.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// A packet is about to leave while none is under way.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// A packet leaves; with it, so many are under way.
    #[inline]
    pub fn on_send(&mut self, outstanding: u32) {
        self.left.push_back(Circumstances {
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            delivered: self.delivered,
            lost: self.lost,
            outstanding,
            limited: self.limited_until.is_some(),
        });
    }

    /// The first packet is no longer remembered.
    #[inline]
    pub fn forget(&mut self) {
        self.left.pop_front();
    }

    /// A packet is taken for lost.
    #[inline]
    pub fn on_loss(&mut self, index: usize, number: u32) -> Option<Flight> {
        self.lost = self.lost.wrapping_add(1);
        self.flight(index, number)
    }

    /// An ACK showed that so many packets arrived; the packet that it is for was sent at `sent`.
    #[inline]
    pub fn on_ack(&mut self, now: Time, sent: Time, packets: u32) {
        self.delivered = self.delivered.wrapping_add(packets);
        if packets > 0 {
            self.delivered_at = now;
        }
        self.limited_until = self.limited_until.filter(|until| !before(*until, self.delivered));
        self.first_sent = sent;
    }

    /// How fast packets arrived while one was on its way that was sent at `sent`.
    #[inline]
    pub fn delivery(&self, now: Time, index: usize, sent: Time) -> Option<Delivery> {
        self.left.get(index).map(|left| Delivery {
            total: self.delivered,
            prior: left.delivered,
            interval: sent.since(left.first_sent).max(now.since(left.delivered_at)),
            limited: left.limited,
        })
    }

    /// What a law hears of a packet.
    #[inline]
    pub fn flight(&self, index: usize, number: u32) -> Option<Flight> {
        self.left.get(index).map(|left| Flight {
            number,
            outstanding: left.outstanding,
            lost: self.lost.wrapping_sub(left.lost),
            limited: left.limited,
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

    /// Three packets, one a millisecond, and one more with the first ACK; each comes back after ten milliseconds.
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
                limited: false,
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

    /// Of eight packets, the first two are forgotten for the last two. The ACK of the last one shows packets 2 to 4 to be lost.
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
            (flight.number, flight.outstanding, flight.lost, flight.limited),
            (7, 6, 3, true)
        );
    }

    #[test]
    fn who_does_not_ask_gets_none() {
        assert!(acks(false).iter().all(|acked| acked.packets == 1));
        assert!(
            acks(false)
                .iter()
                .all(|acked| acked.delivery.is_none() && acked.flight.is_none())
        );
    }
}
