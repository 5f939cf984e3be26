/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the laws' files share. For each law whose record has a kernel form, build.rs writes its number, its header's length and what its
 * reader takes, and calls what LAW.h has:
 *
 *   LAW_foreign(job, bytes)     load that is not its own
 *   LAW_own(job, size, header)  a packet of its own; the header in words as they came, most significant byte first
 *   LAW_turn(job)               a new interval begins, of a law whose sums are under the lock
 *
 * crates/laws/src/LAW/offload.rs says what the words are. A law that counts in integers counts per processor, in `count`; one that
 * computes with floats, or divides intervals at a packet, has one state under a lock, since the order of packets counts.
 */
#pragma once

/* Set before the program is loaded, so that the verifier drops the other laws. */
volatile const u8 LAW = 0;
volatile const u64 ORIGIN = 0; /* ns of the clock where laws' time begins */

struct input {
	u64 serial; /* counts the intervals, from 1 */
	u64 words[8];
};

struct control {
	u8 slot; /* which of the two inputs to use */
	u8 bank; /* changes when user space takes the sums */
	u8 unused[6];
};

struct state {
	struct bpf_spin_lock lock;
	u32 bank;
	u64 serial;
	u64 now; /* never goes back: the order of packets is that under the lock */
	u64 sums[3]; /* since bank changed */
	u64 done[3]; /* before that */
	u64 kept[16];
	u64 blurred;
};

#define BE32(x) __builtin_bswap32(x)
#define SHORTEST_RTT 0x3eb0c6f7a0b5ed8dULL /* 1e-6 s */

struct count {
	u64 packets, bytes;
	u64 stamped; /* headers of the law that routers may write to */
	u64 acks;
	u64 refused; /* shims of the law that are none */
	u64 words[8];
};

/* A datagram, or many of equal length that the device will cut. */
struct job {
	struct __sk_buff *skb;
	const struct input *input;
	const struct control *control;
	struct count *count;
	struct state *state;
	u64 now;
	u32 udp, length, segment, headers;
};

/* A float, by its bits, from `low`, at most 0, to `high`, at least 0. */
INLINE int f32_spans(u32 a, u32 low, u32 high)
{
	return a <= high || (a >> 31 && a <= low);
}

INLINE void add_halves(u64 *low_high, u64 amount)
{
	low_high[0] += (u32)amount;
	low_high[1] += amount >> 32;
}

/* The same number, of which the verifier knows nothing more: else it follows each way in which it may have come about. */
INLINE u64 blur(struct state *s, u64 a)
{
	volatile u64 *place = &s->blurred;

	*place = a;
	return *place;
}

/* Takes the lock and enters a new bank, if user space says so. Whether a new interval begins, too. */
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
