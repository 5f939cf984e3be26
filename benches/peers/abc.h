/* What a peer of `python -m tools.peers abc` exports: the queue of an ABC router, in one shared library.
 *
 * It has no clock: time is an argument, in ms. Packets are copied, and stay the caller's; nothing frees the queue,
 * which ends with the process. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A packet. `ecn` is the field of the IP header: 1 ECT(1), accelerate; 3 CE, brake. */
struct Packet {
    uint64_t came; /* when it came to the queue, ms */
    uint32_t flow;
    uint32_t bytes;
    uint8_t ecn;
};

/* The queue, empty, with room for a million packets, a target of 50 ms and a delta of 133 ms. */
void *queue_new(void);
/* A packet comes, at `came`. */
void queue_put(void *queue, const struct Packet *packet);
/* The link has an opportunity: the next packet, perhaps with CE; 0 if none waits, and the opportunity is lost. */
int queue_take(void *queue, uint64_t now, struct Packet *packet);

#ifdef __cplusplus
}
#endif
