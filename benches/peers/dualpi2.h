/* Shared libraries for `python -m experiments.peers dualpi2`. One contains DualPI2, and another contains a sender of
 * Prague.
 *
 * The libraries have no clock: time is an argument. It is in ns for the queue. For the sender, it is in us and at least
 * 1. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet. `ecn` is the field of the IP header: 0 is not capable, 1 is ECT(1), 2 is ECT(0), 3 is CE. */
struct Packet {
    uint64_t number;
    uint32_t flow;
    uint32_t bytes;
    uint8_t ecn;
};

/* Creates a DualPI2 queue with the defaults of RFC 9332 and Linux, for Ethernet frames of 1514 bytes. */
void *queue_new(uint64_t now, uint64_t seed);
/* Enqueues a packet. */
void queue_put(void *queue, uint64_t now, const struct Packet *packet);
/* Dequeues the next packet. The packet may be marked CE. Returns 0 if the queue is empty. */
int queue_take(void *queue, uint64_t now, struct Packet *packet);
/* Returns a packet that was dropped since the last call. Returns 0 if no packet was dropped. */
int queue_dropped(void *queue, struct Packet *packet);
/* `queue_due` returns the time of the next update of the base probability p'. `queue_update` updates p'. */
uint64_t queue_due(void *queue);
void queue_update(void *queue, uint64_t now);

/* Report of a receiver on all packets that arrived. */
struct Report {
    int32_t stamp, echo, received, marked, lost;
};

/* Limits of a sender: bytes per second, packets in flight, packets per burst, bytes per packet. */
struct Pace {
    uint64_t rate;
    int32_t window, burst;
    uint64_t bytes;
};

/* Creates a sender and its receiver, with packets of at most `bytes`. */
void *prague_new(int32_t now, uint32_t bytes);
void prague_pace(void *prague, int32_t now, struct Pace *pace);
/* Returns two fields of a packet to send: its timestamp, and the echo of the receiver's timestamp. */
void prague_stamp(void *prague, int32_t now, int32_t *stamp, int32_t *echo);
/* Called when packet `number`, counted from 1, reaches the receiver. */
void prague_receive(void *prague, int32_t now, int32_t stamp, int32_t echo, int32_t number, int ecn, struct Report *);
/* Called when a report reaches the sender, which has sent `sent` packets. Returns the number of packets in flight. */
int32_t prague_hear(void *prague, int32_t now, const struct Report *report, int32_t sent);
/* Called when no report has arrived for a second. */
void prague_reset(void *prague, int32_t now);

#ifdef __cplusplus
}
#endif
