/* Shared library for `python -m experiments.peers abc`: the queue of an ABC router.
 *
 * The library has no clock: time is an argument, in ms. The library copies packets, so the caller may reuse its packet.
 * The queue lives until the process ends. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet. `ecn` is the field of the IP header: 1 is ECT(1), accelerate; 3 is CE, brake. */
struct Packet {
    uint64_t came; /* time of arrival at the queue, ms */
    uint32_t flow;
    uint32_t bytes;
    uint8_t ecn;
};

/* Creates an empty queue with a limit of a million packets, a target of 50 ms and a delta of 133 ms. */
void *queue_new(void);
/* Enqueues a packet, at time `came`. */
void queue_put(void *queue, const struct Packet *packet);
/* Dequeues the next packet at a transmission opportunity of the link. The packet may be marked CE. Returns 0 if the
 * queue is empty. In this case, the opportunity is lost. */
int queue_take(void *queue, uint64_t now, struct Packet *packet);

#ifdef __cplusplus
}
#endif
