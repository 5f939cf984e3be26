//! Tests of loss recovery. The sender has no congestion window, so tests can choose the order of events. Reno and
//! NewReno run without SACK.

use std::collections::VecDeque;

use levelflow_laws::{Any, AnyHeader, AnyParams, AnySender, FlowInfo};
use proptest::prelude::*;

use super::*;
use crate::history::History;
use crate::stream::Assembly;
use crate::tests::with;

const LIMITS: Limits = Limits {
    max_rate: None,
    catch_up: Limits::VIRTUAL_TIME,
    control: 40,
    headers: 0,
    least: 0,
};

/// Transfer with packets of 100 bytes, and its receiver.
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
        Self::under(with("kelly", &[]), packets)
    }

    fn under(params: AnyParams, packets: u64) -> Self {
        let info = FlowInfo::of(Bytes::new(100));
        let transport = Any::transport(&params);
        let law = AnySender::new(&params, &info);
        let sender = Sender::new(law, &transport, Time::ZERO)
            .without_handshake()
            .with_size(packets * 100);
        Self {
            sender: sender.with_recovery(&transport, true, MAX_PACKETS),
            params,
            transport,
            header: None,
            history: History::default(),
            assembly: Assembly::default(),
        }
    }

    /// Sends the next packet. Returns its number, and the position of its data in the transfer, counted in packets.
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

    /// Delivers a packet. Returns the history of its ACK.
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

    /// Delivers a packet and its ACK.
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

// **Invariant** (The transport): a packet is declared lost when another packet has arrived that was sent at least three
// packets later. A lost ACK causes no loss. A transfer completes over any lossy channel. See
// `a_lost_ack_is_not_a_loss`, `a_lossy_channel_delivers_everything`.
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
fn a_gap_lasts_until_every_earlier_packet_has_arrived() {
    let mut t = Transfer::new(7);
    let sent: Vec<_> = (0..7).map(|_| t.send().unwrap()).collect();
    assert!(!t.deliver(sent[0]).gap);
    assert!((3..7).all(|i| t.deliver(sent[i]).gap));
    let again = [t.send().unwrap(), t.send().unwrap()];
    assert!(t.deliver(again[0]).gap, "the other packet is still missing");
    assert!(!t.deliver(again[1]).gap);
}

#[test]
fn an_ack_reports_only_earlier_arrivals() {
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
fn packets_that_arrive_after_a_timeout_are_not_retransmitted() {
    let mut t = Transfer::new(4);
    let sent: Vec<_> = (0..4).map(|_| t.send().unwrap()).collect();
    t.time_out();
    assert_eq!((t.deliver(sent[0]).spurious, t.deliver(sent[2]).spurious), (1, 1));
    assert_eq!((t.send(), t.send(), t.send()), (Some((4, 1)), Some((5, 3)), None));
}

proptest! {
    /// The sender retransmits lost data until the receiver has everything, with any losses.
    #[test]
    fn a_lossy_channel_delivers_everything(losses in prop::collection::vec(any::<bool>(), 400), law in 0..3_usize) {
        let params = [with("kelly", &[]), without_sack("reno"), without_sack("newreno")];
        let mut t = Transfer::under(params[law].clone(), 30);
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

/// On a real network, the scoreboard has a limited size. If it is full, the sender waits for ACKs and does not evict
/// packets in flight.
#[test]
fn a_full_scoreboard_holds_packets_back_until_acks_or_the_timer_make_room() {
    let mut transfer = Transfer::new(1000);
    transfer.sender = transfer.sender.with_recovery(&transfer.transport, true, 8);
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

fn without_sack(law: &str) -> AnyParams {
    with(
        law,
        &[("sack", 0.0), ("initial_window", 8.0), ("initial_ssthresh", 8.0)],
    )
}

/// Effect of an ACK or of the timer. The first field is the position of the acknowledged packet, or `None` for the
/// timer. The second field is the congestion window in thousandths of a packet. The third field contains the positions
/// of the packets sent.
type Reaction = (Option<u64>, u32, Vec<u64>);

/// Runs a flow without SACK over a path that keeps packets in order. The congestion window is 8 packets at the start,
/// which is above the slow-start threshold. For each position in `lost`, the path loses one packet with this position.
fn reactions(law: &str, mut lost: Vec<u64>, acks: usize) -> Vec<Reaction> {
    let (mut t, mut path) = (Transfer::under(without_sack(law), 1000), VecDeque::new());
    let mut send = |t: &mut Transfer, path: &mut VecDeque<(u32, u64)>| {
        let sent: Vec<_> = std::iter::from_fn(|| t.sender.may_send().then(|| t.send().unwrap())).collect();
        for packet in &sent {
            match lost.iter().position(|place| *place == packet.1) {
                Some(i) => _ = lost.remove(i),
                None => path.push_back(*packet),
            }
        }
        sent.iter().map(|packet| packet.1).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut t, &mut path), (0..8).collect::<Vec<_>>());
    let ack = |_| {
        let packet = path.pop_front();
        match packet {
            Some(packet) => _ = t.deliver(packet),
            None => t.time_out(),
        }
        let sent = send(&mut t, &mut path);
        let window = t.sender.law().rate().bps() * 1e-3 / 800.0; // packets of 800 bits, and a round-trip time of 1 ms
        (packet.map(|(_, place)| place), (window * 1e3).round() as u32, sent)
    };
    (0..acks).map(ack).collect()
}

fn steps(list: &[(u64, u32, &[u64])]) -> Vec<Reaction> {
    let step = |&(place, window, sent): &(u64, u32, &[u64])| (Some(place), window, sent.to_vec());
    list.iter().map(step).collect()
}

/// Values computed by hand from RFC 5681, section 3.2. Each of the first two duplicate ACKs allows one new packet. The
/// third duplicate ACK halves the congestion window of 8.248 packets. After n duplicate ACKs, the window is 4 + n
/// packets. With 10 packets in flight, the seventh duplicate ACK and later ones allow new packets. The next ACK of new
/// data ends recovery and adds 1/4.124 to the window.
#[test]
fn one_loss_without_selective_acks_is_a_fast_retransmit() {
    let by_hand = steps(&[
        (0, 8125, &[8]),
        (1, 8248, &[9]),
        (3, 8248, &[10]),
        (4, 8248, &[11]),
        (5, 4124, &[2]),
        (6, 4124, &[]),
        (7, 4124, &[]),
        (8, 4124, &[]),
        (9, 4124, &[12]),
        (10, 4124, &[13]),
        (11, 4124, &[14]),
        (2, 4367, &[15]),
        (12, 4596, &[16]),
    ]);
    assert_eq!(reactions("reno", vec![2], 13), by_hand);
    assert_eq!(reactions("newreno", vec![2], 13), by_hand);
}

const TWO_LOSSES: [(u64, u32, &[u64]); 9] = [
    (0, 8125, &[8]),
    (1, 8248, &[9]),
    (3, 8248, &[10]),
    (5, 8248, &[11]),
    (6, 4124, &[2]),
    (7, 4124, &[]),
    (8, 4124, &[]),
    (9, 4124, &[]),
    (10, 4124, &[12]),
];

/// Values computed by hand. The ACK of the first retransmission ends Reno's recovery. The data that was in flight at
/// the loss prevents a second fast retransmit, so the timer expires. The sender then retransmits missing data, with a
/// congestion window of one packet at first.
#[test]
fn a_second_hole_is_left_to_the_timer_by_reno() {
    let mut by_hand = steps(&TWO_LOSSES);
    by_hand.extend(steps(&[
        (11, 4124, &[13]),
        (2, 4367, &[]),
        (12, 4367, &[]),
        (13, 4367, &[]),
    ]));
    by_hand.push((None, 1000, vec![4]));
    by_hand.extend(steps(&[(4, 2000, &[14, 15]), (14, 2183, &[16])]));
    assert_eq!(reactions("reno", vec![2, 4], by_hand.len()), by_hand);
}

/// Values computed by hand from RFC 6582, section 3.2. The ACK of the first retransmission is a partial ACK. It
/// acknowledges two packets, so the inflation of the window decreases by one. The next missing packet is retransmitted
/// at once. The ACK of this second retransmission ends recovery.
#[test]
fn a_partial_ack_has_newreno_send_the_next_hole() {
    let mut by_hand = steps(&TWO_LOSSES);
    by_hand.extend(steps(&[
        (11, 4124, &[13]),
        (2, 4124, &[4, 14]),
        (12, 4124, &[15]),
        (13, 4124, &[16]),
        (4, 4367, &[17]),
    ]));
    assert_eq!(reactions("newreno", vec![2, 4], by_hand.len()), by_hand);
}
