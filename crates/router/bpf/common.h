/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Code that the files of all signallings use. A signalling is a header format and the computations of routers for it.
 * For each signalling NAME of the kernel router, build.rs writes its number, its header and the checks of its fields.
 * It also writes calls of these functions of NAME.h:
 *
 *   NAME_foreign(job, bytes)     counts foreign load: packets with another header or without a header
 *   NAME_own(job, size, header)  processes a packet. The header is a `struct NAME_header` with big-endian numbers.
 *   NAME_turn(job)               starts a new interval. Only signallings with sums under the lock have this function.
 *
 * crates/laws/src/NAME/offload.rs defines the contents of `words`. A router that counts in integers has one `count` per
 * CPU. Other routers have one `state` under a lock, because their results depend on the order of packets. These routers
 * compute with floats, or end an interval at a packet.
 */
#pragma once

/* Number of the active signalling, set before the program is loaded. The verifier drops all other code. */
volatile const u8 SIGNALLING = 0;
volatile const u64 ORIGIN = 0; /* reading of the kernel's clock at time 0 of the router, ns */

struct input {
	u64 serial; /* number of the current interval, from 1 */
	u64 words[8];
};

struct control {
	u8 slot; /* index of the active input */
	u8 bank; /* user space changes it to request that `sums` move to `done` */
	u8 unused[6];
};

struct state {
	struct bpf_spin_lock lock;
	u32 bank;
	u64 serial;
	u64 now; /* time of the latest packet, ps; updated under the lock, so it never decreases */
	u64 sums[3]; /* sums since the last change of `bank` */
	u64 done[3]; /* sums between the last two changes of `bank` */
	u64 kept[16];
	u64 blurred;
};

#define BE32(x) __builtin_bswap32(x)

INLINE u32 be24(const u8 *b)
{
	return (u32)b[0] << 16 | (u32)b[1] << 8 | b[2];
}

INLINE void put_be24(u8 *b, u32 value)
{
	b[0] = value >> 16;
	b[1] = value >> 8;
	b[2] = value;
}

#define SHORTEST_RTT 0x3eb0c6f7a0b5ed8dULL /* 1e-6 s */

struct count {
	u64 packets, bytes;
	u64 stamped; /* packets with a header that routers may write to */
	u64 acks;
	u64 refused; /* packets with a shim of the signalling, but an invalid header */
	u64 words[8];
};

/* Datagram, or super-packet that the device will segment. */
struct job {
	struct __sk_buff *skb;
	const struct input *input;
	const struct control *control;
	struct count *count;
	struct state *state;
	u64 now;
	u32 udp, length, segment, headers;
};

/* Returns true if a float, given by its bits, is between `low` (at most 0) and `high` (at least 0). */
INLINE int f32_spans(u32 a, u32 low, u32 high)
{
	return a <= high || (a >> 31 && a <= low);
}

INLINE void add_halves(u64 *low_high, u64 amount)
{
	low_high[0] += (u32)amount;
	low_high[1] += amount >> 32;
}

/* Returns `a`, but hides its value from the verifier, which would otherwise check later code once per known value. */
INLINE u64 blur(struct state *s, u64 a)
{
	volatile u64 *place = &s->blurred;

	*place = a;
	return *place;
}

/* Takes the lock. Moves `sums` to `done` if user space requests this. Returns true if an interval begins. */
INLINE int lock(const struct job *job)
{
	struct state *s = job->state;

	bpf_spin_lock(&s->lock);
	if (s->now < job->now)
		s->now = job->now;
	if (s->bank != job->control->bank) {
		s->bank = job->control->bank;
		s->done[0] = s->sums[0];
		s->done[1] = s->sums[1];
		s->done[2] = s->sums[2];
		s->sums[0] = s->sums[1] = s->sums[2] = 0;
	}
	return s->serial < job->input->serial;
}

INLINE void unlock(const struct job *job)
{
	bpf_spin_unlock(&job->state->lock);
}
