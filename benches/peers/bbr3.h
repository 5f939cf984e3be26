/* Shared library for `python -m experiments.peers bbr3`: BBRv3 with its delivery-rate samples.
 *
 * The library has no clock: time is in `Sender`. The caller owns `Sender`, which is valid only during the call. A law
 * lives until the process ends. Packets are numbered from 0. Lost packets are not retransmitted. An ACK acknowledges
 * one packet. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Upper bound, exclusive, on the number of packets from the first to the last packet in flight. */
enum { BBR3_ROOM = 1 << 16 };

/* State of loss recovery: no recovery, recovery after three ACKs of later packets, or recovery after a timeout. */
enum { BBR3_OPEN, BBR3_RECOVERY, BBR3_TIMEOUT };

/* State of a sender. The law sets `rate` and `window`, and only reads the other fields. */
struct Sender {
    uint64_t now;        /* time, ns, from 0 on */
    uint64_t departs;    /* pacing time of the next packet, ns; this time may have passed */
    uint64_t rate;       /* pacing rate, bytes per second */
    uint32_t window;     /* window, packets; the sender sets it at the start and after a timeout */
    uint32_t bytes;      /* size of a packet, bytes */
    uint32_t next;       /* number of the next packet to send */
    uint32_t flight;     /* packets in flight: neither acknowledged nor declared lost */
    uint32_t round_trip; /* smoothed round-trip time (RFC 6298), eighths of a us */
    uint32_t least;      /* shortest round-trip time, us */
    uint32_t limited;    /* 1 if the window was full in this round trip, else 0 */
};

/* Creates a law for a sender after its handshake. `draw` returns random numbers of 32 bits. */
void *bbr3_new(struct Sender *sender, uint32_t (*draw)(void));
/* Called when packet `number` is sent, at `departs`. `flight` does not include this packet. */
void bbr3_sent(void *law, struct Sender *sender, uint32_t number);
/* Called on the ACK of packet `number`. `round_trip` is the time since this packet was sent, us. `flight` includes the
 * packet. */
void bbr3_acknowledged(void *law, struct Sender *sender, uint32_t number, int64_t round_trip);
/* Called at the first loss, before the change to `state`: BBR3_RECOVERY (three later ACKs) or BBR3_TIMEOUT (a timer).
 * Not called for other losses in this state. */
void bbr3_loses(void *law, struct Sender *sender, int state);
/* Called when packet `number` is declared lost. `flight` does not include this packet. */
void bbr3_lost(void *law, struct Sender *sender, uint32_t number);
/* Called when the state changes. BBR3_RECOVERY precedes the reports of losses, and BBR3_TIMEOUT follows them. */
void bbr3_state(void *law, struct Sender *sender, int state);
/* Updates `rate` and `window`. Called after an ACK and the losses that the ACK shows. */
void bbr3_control(void *law, struct Sender *sender);

#ifdef __cplusplus
}
#endif
