//! Loss recovery of a sender whose law sets no window, so that tests decide what leaves when.

use levelflow_laws::{AnySender, FlowInfo, LAWS};
use proptest::prelude::*;

use super::*;
use crate::history::History;
use crate::receiver::default_params;
use crate::stream::Assembly;

const LIMITS: Limits = Limits {
    max_rate: None,
    catch_up: Limits::VIRTUAL_TIME,
    control: 40,
    least: 0,
};

/// A transfer of packets of 100 bytes, and its receiver.
struct Transfer {
    params: AnyParams,
    transport: Transport,
    sender: Sender<Any>,
    header: Option<AnyHeader>,
    history: History,
    assembly: Assembly,
}

impl Transfer {
    fn new(packets: u64) -> Self {
        let law = LAWS.iter().find(|law| law.name == "cbr").unwrap();
        let params = default_params(law).unwrap();
        let info = FlowInfo {
            packet_size: Bytes::new(100),
        };
        let transport = Any::transport(&params);
        let law = Bare(AnySender::new(&params, &info));
        let sender = Sender::new(law, transport.opening, Time::ZERO).with_size(packets * 100);
        Self {
            sender: sender.with_recovery(Duration::from_ms(200), true, MAX_PACKETS),
            params,
            transport,
            header: None,
            history: History::default(),
            assembly: Assembly::default(),
        }
    }

    /// The next packet leaves: its number and its place in the transfer.
    fn send(&mut self) -> Option<(u32, u64)> {
        let rules = Rules {
            params: &self.params,
            transport: &self.transport,
            limits: &LIMITS,
        };
        let packet = self.sender.transmit(&rules, Time::ZERO, ())?;
        self.header = Some(packet.header);
        Some((packet.number, packet.offset / 100))
    }

    /// A packet arrives; gives the history in its ACK.
    fn arrive(&mut self, (number, place): (u32, u64)) -> u128 {
        self.history.on_arrival(number);
        self.assembly.on_arrival(Chunk {
            offset: place * 100,
            length: 100,
        });
        self.history.below(number)
    }

    fn ack(&mut self, number: u32, history: u128) -> Acked {
        let rules = Rules {
            params: &self.params,
            transport: &self.transport,
            limits: &LIMITS,
        };
        let ack = Ack {
            number,
            kind: Kind::Data,
            rtt: Duration::from_ms(1),
            header: self.header.unwrap(),
            marked: false,
            history,
        };
        self.sender.handle_ack(&rules, Time::ZERO, &ack)
    }

    /// A packet arrives, and so does its ACK.
    fn deliver(&mut self, packet: (u32, u64)) -> Acked {
        let history = self.arrive(packet);
        self.ack(packet.0, history)
    }

    fn time_out(&mut self) {
        let rules = Rules {
            params: &self.params,
            transport: &self.transport,
            limits: &LIMITS,
        };
        self.sender.handle_timeout(&rules, Time::NEVER);
    }
}

#[test]
fn three_later_acks_make_a_loss() {
    let mut t = Transfer::new(5);
    let sent: Vec<_> = (0..5).map(|_| t.send().unwrap()).collect();
    for i in [0, 2, 3] {
        assert_eq!(t.deliver(sent[i]).lost, 0);
    }
    assert_eq!(t.send(), None);
    assert_eq!(t.deliver(sent[4]).lost, 1);
    let again = t.send().unwrap();
    assert_eq!(again, (5, 1));
    t.deliver(again);
    assert!(t.sender.is_done(Time::ZERO));
    assert_eq!(t.sender.totals().retransmitted, 1);
}

#[test]
fn a_gap_is_there_until_all_that_was_sent_before_has_arrived() {
    let mut t = Transfer::new(7);
    let sent: Vec<_> = (0..7).map(|_| t.send().unwrap()).collect();
    assert!(!t.deliver(sent[0]).gap);
    assert!((3..7).all(|i| t.deliver(sent[i]).gap));
    let again = [t.send().unwrap(), t.send().unwrap()];
    assert!(t.deliver(again[0]).gap, "the other packet is still missing");
    assert!(!t.deliver(again[1]).gap);
}

#[test]
fn an_ack_says_nothing_of_what_arrives_after_it() {
    let mut t = Transfer::new(8);
    let sent: Vec<_> = (0..8).map(|_| t.send().unwrap()).collect();
    let acks: Vec<_> = sent[1..].iter().map(|&packet| (packet.0, t.arrive(packet))).collect();
    for (number, history) in acks {
        assert_eq!(t.ack(number, history).packets, 1);
    }
    assert_eq!((t.sender.outstanding(), t.send()), (0, Some((8, 0))));
}

#[test]
fn a_lost_ack_is_not_a_loss() {
    let mut t = Transfer::new(6);
    for _ in 0..5 {
        let packet = t.send().unwrap();
        t.arrive(packet);
    }
    let last = t.send().unwrap();
    assert_eq!(t.deliver(last).packets, 6);
    assert!(t.sender.is_done(Time::ZERO) && t.sender.totals().lost == 0);
}

#[test]
fn what_arrives_after_the_timeout_is_not_sent_again() {
    let mut t = Transfer::new(4);
    let sent: Vec<_> = (0..4).map(|_| t.send().unwrap()).collect();
    t.time_out();
    assert_eq!((t.deliver(sent[0]).returned, t.deliver(sent[2]).returned), (1, 1));
    assert_eq!((t.send(), t.send(), t.send()), (Some((4, 1)), Some((5, 3)), None));
}

proptest! {
    /// Whatever is lost, the sender sends what is missing until the receiver has it all.
    #[test]
    fn a_lossy_channel_delivers_everything(losses in prop::collection::vec(any::<bool>(), 400)) {
        let mut t = Transfer::new(30);
        let mut lost = losses.into_iter().chain(std::iter::repeat(false));
        for _ in 0..2000 {
            let Some(packet) = t.send() else {
                if t.sender.is_done(Time::ZERO) {
                    break;
                }
                t.time_out();
                continue;
            };
            if !lost.next().unwrap() {
                let history = t.arrive(packet);
                if !lost.next().unwrap() {
                    t.ack(packet.0, history);
                }
            }
        }
        prop_assert_eq!(t.assembly.in_order(), 3000);
        prop_assert!(t.sender.is_done(Time::ZERO));
    }
}

/// What is remembered is bounded on a real network: a sender waits for ACKs, and forgets nothing that is under way.
#[test]
fn a_full_scoreboard_holds_packets_back_until_acks_or_the_timer_make_room() {
    let mut transfer = Transfer::new(1000);
    transfer.sender = transfer.sender.with_recovery(Duration::from_ms(200), true, 8);
    let packets: Vec<_> = std::iter::from_fn(|| transfer.sender.may_send().then(|| transfer.send().unwrap())).collect();
    assert_eq!(packets.len(), 8);
    assert_eq!(transfer.sender.totals(), Totals::default());
    let timeout = transfer.sender.timeout(&transfer.transport);
    assert!(timeout.is_some(), "it has more to send, but waits");
    transfer.deliver(packets[0]);
    assert!(transfer.sender.may_send());
    assert_eq!(transfer.send(), Some((8, 8)));
    assert!(!transfer.sender.may_send());
}
