/* What a peer of `python -m tools.peers bbr3` exports: BBRv3 with its samples of the delivery rate, in one library.
 *
 * It has no clock: time is in `Sender`. A `Sender` is the caller's, and good for the call only; nothing frees a law,
 * which ends with the process. Packets have numbers from 0 on, and what is lost is not sent again. An ACK is of one
 * packet. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From the first packet that is on its way to the last, there are fewer than this. */
enum { BBR3_ROOM = 1 << 16 };

/* Whether losses are being repaired, and what found them: three ACKs of later packets, or a timer. */
enum { BBR3_OPEN, BBR3_RECOVERY, BBR3_TIMEOUT };

/* How a sender does. `rate` and `window` are the law's; the rest it only reads. */
struct Sender {
    uint64_t now;        /* ns, from 0 on */
    uint64_t departs;    /* when pacing lets the next packet leave, ns; may be over */
    uint64_t rate;       /* at which packets are paced, bytes per second */
    uint32_t window;     /* packets; at first, and after a timeout, the sender's */
    uint32_t bytes;      /* of a packet */
    uint32_t next;       /* number of the packet that is sent next */
    uint32_t flight;     /* packets on their way: neither acknowledged nor taken for lost */
    uint32_t round_trip; /* smoothed (RFC 6298), in eighths of a us */
    uint32_t least;      /* least round trip, us */
    uint32_t limited;    /* whether the window was full in this round trip; 0 or 1 */
};

/* A law for a sender after its handshake. `draw` has the random numbers, of 32 bits. */
void *bbr3_new(struct Sender *sender, uint32_t (*draw)(void));
/* Packet `number` leaves, at `departs`; `flight` is without it. */
void bbr3_sent(void *law, struct Sender *sender, uint32_t number);
/* The ACK of packet `number` comes, a round trip of so many us after that left; `flight` is with it. */
void bbr3_acknowledged(void *law, struct Sender *sender, uint32_t number, int64_t round_trip);
/* Losses begin, found by ACKs or by a timer, and soon `state`, BBR3_RECOVERY or BBR3_TIMEOUT; not again within it. */
void bbr3_loses(void *law, struct Sender *sender, int state);
/* Packet `number` is taken for lost; `flight` is without it. */
void bbr3_lost(void *law, struct Sender *sender, uint32_t number);
/* The state changes: to BBR3_RECOVERY before the losses, to BBR3_TIMEOUT after them. */
void bbr3_state(void *law, struct Sender *sender, int state);
/* After an ACK, and after the losses that it found: what to do now. */
void bbr3_control(void *law, struct Sender *sender);

#ifdef __cplusplus
}
#endif
