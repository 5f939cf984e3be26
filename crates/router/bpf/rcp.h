/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void rcp_turn(const struct job *job)
{
	if (!job->state->serial)
		job->state->kept[0] = job->input->words[4];
}

INLINE void rcp_foreign(const struct job *job, u64 bytes)
{
	job->state->sums[0] += bytes;
}

INLINE void rcp_own(const struct job *job, u32 size, struct rcp_header *h)
{
	const u64 *input = job->input->words;
	struct state *s = job->state;
	u32 rtt = BE32(h->rtt);
	u64 sample = f64_min(f64_max(f64_of_f32(rtt), SHORTEST_RTT), input[5]);

	s->sums[0] += size;
	if (rtt << 1) {
		if (input[1])
			s->sums[1] = f64_max(s->sums[1], sample);
		else
			s->kept[0] = f64_add(f64_mul(input[2], sample), f64_mul(input[3], s->kept[0]));
	}
	if ((u32)input[0] < BE32(h->rate))
		h->rate = BE32((u32)input[0]);
}
