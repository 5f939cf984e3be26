/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void xcp_turn(const struct job *job)
{
	u64 *kept = job->state->kept;
	const u64 *words = job->input->words;

	kept[3] = words[0];
	kept[4] = words[1];
	kept[5] = words[2];
	kept[6] = words[3];
}

/* Computes the persistent queue, which is the smallest queue in a period. */
INLINE void xcp_queue(const struct job *job)
{
	struct state *s = job->state;
	u64 now = job->now, queue = job->input->words[4], until = now + job->input->words[5];

	if (queue < s->kept[1])
		s->kept[1] = queue;
	if (now < s->kept[2])
		return;
	s->kept[0] = s->kept[1];
	s->kept[1] = queue;
	s->kept[2] = until < now ? now : until;
}

INLINE void xcp_foreign(const struct job *job, u64 bytes)
{
	job->state->sums[0] += bytes;
	xcp_queue(job);
}

INLINE void xcp_take(struct state *s, u64 *pool, u64 amount)
{
	u64 left = blur(s, f64_max(blur(s, f64_sub(pool[0], amount)), 0));

	pool[0] = left;
	if (!left)
		pool[1] = 0;
}

INLINE void xcp_own(const struct job *job, u32 size, struct xcp_header *h)
{
	const u64 *input = job->input->words;
	struct state *s = job->state;
	u64 gap, rtt, granted, reclaimed, own, asked;
	u64 *positive = &s->kept[3], *negative = &s->kept[5];

	s->sums[0] += size;
	xcp_queue(job);
	if (!(h->rtt & 0xffffff7f)) {
		h->delta_throughput = 0;
		return;
	}
	rtt = blur(s, f64_min(f64_max(f64_of_f32(BE32(h->rtt)), SHORTEST_RTT), input[7]));
	gap = blur(s, f64_min(f64_of_f32(BE32(h->gap)), rtt));
	s->sums[1] = f64_add(s->sums[1], gap);
	if (input[6])
		s->sums[2] = f64_max(s->sums[2], rtt);
	else
		s->sums[2] = f64_add(s->sums[2], blur(s, f64_mul(gap, rtt)));
	granted = blur(s, f64_min(blur(s, f64_mul(positive[1], gap)), positive[0]));
	reclaimed = blur(s, f64_mul(negative[1], blur(s, f64_of_u32(size))));
	reclaimed = blur(s, f64_min(reclaimed, negative[0]));
	own = blur(s, f64_sub(granted, reclaimed));
	asked = blur(s, f64_of_f32(BE32(h->delta_throughput)));
	if (f64_order(asked) >= f64_order(own)) {
		h->delta_throughput = BE32(f32_of_f64(own));
	} else {
		asked = blur(s, f64_max(asked, reclaimed ^ F64_SIGN));
		reclaimed = blur(s, f64_add(reclaimed, blur(s, f64_sub(own, asked))));
		reclaimed = blur(s, f64_min(reclaimed, negative[0]));
		granted = blur(s, f64_add(asked, reclaimed));
	}
	xcp_take(s, positive, granted);
	xcp_take(s, negative, reclaimed);
}
