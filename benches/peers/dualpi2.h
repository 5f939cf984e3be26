/* What peers of `python -m tools.peers dualpi2` export: DualPI2 in one shared library, a sender of Prague in another.
 *
 * Nothing in them has a clock: time is an argument, in ns for the queue, in us from 1 on for the sender. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet. `ecn` is the field of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE. */
struct Packet {
    uint64_t number;
    uint32_t flow;
    uint32_t bytes;
    uint8_t ecn;
};

/* The queue: DualPI2 with the defaults of RFC 9332 and Linux, for Ethernet with 1514 bytes. */
void *queue_new(uint64_t now, uint64_t seed);
/* A packet comes. */
void queue_put(void *queue, uint64_t now, const struct Packet *packet);
/* The next one to be sent, perhaps with CE; 0 if none waits. */
int queue_take(void *queue, uint64_t now, struct Packet *packet);
/* A packet that was dropped since; 0 if none. */
int queue_dropped(void *queue, struct Packet *packet);
/* When p' is to be updated next, and the update. */
uint64_t queue_due(void *queue);
void queue_update(void *queue, uint64_t now);

/* What a receiver says of all that came. */
struct Report {
    int32_t stamp, echo, received, marked, lost;
};

/* What a sender may do now: bytes per second, packets on their way, packets at once, bytes of a packet. */
struct Pace {
    uint64_t rate;
    int32_t window, burst;
    uint64_t bytes;
};

/* A sender and its receiver, with packets of at most so many bytes. */
void *prague_new(int32_t now, uint32_t bytes);
void prague_pace(void *prague, int32_t now, struct Pace *pace);
/* What a packet that leaves carries: stamp, and echo of the receiver's. */
void prague_stamp(void *prague, int32_t now, int32_t *stamp, int32_t *echo);
/* Packet number `number`, from 1 on, reaches the receiver. */
void prague_receive(void *prague, int32_t now, int32_t stamp, int32_t echo, int32_t number, int ecn, struct Report *);
/* A report reaches the sender, which sent `sent` packets so far; returns how many are on their way. */
int32_t prague_hear(void *prague, int32_t now, const struct Report *report, int32_t sent);
/* Nothing came for a second. */
void prague_reset(void *prague, int32_t now);

#ifdef __cplusplus
}
#endif
