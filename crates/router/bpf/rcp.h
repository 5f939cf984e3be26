/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void rcp_turn(const struct job *job)
{
	if (!job->state->serial)
		job->state->kept[0] = job->told->words[4];
}

INLINE void rcp_foreign(const struct job *job, u64 bytes)
{
	job->state->sums[0] += bytes;
}

INLINE void rcp_own(const struct job *job, u32 size, u32 *h)
{
	const u64 *told = job->told->words;
	struct state *s = job->state;
	u32 rtt = BE32(h[1]);
	u64 sample = f64_max(f64_of_f32(rtt), SHORTEST_RTT);

	s->sums[0] += size;
	if (rtt << 1) {
		if (told[1])
			s->sums[1] = f64_max(s->sums[1], sample);
		else
			s->kept[0] = f64_add(f64_mul(told[2], sample), f64_mul(told[3], s->kept[0]));
	}
	if ((u32)told[0] < BE32(h[0]))
		h[0] = BE32((u32)told[0]);
}
