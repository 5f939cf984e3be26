/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void emkc_foreign(const struct job *job, u64 bytes)
{
	job->count->words[0] += bytes;
}

INLINE void emkc_own(const struct job *job, u32 size, struct emkc_header *h)
{
	const u64 *input = job->input->words;

	job->count->words[0] += size;
	if (!f32_above(input[2], BE32(h->price)))
		return;
	h->id = BE32((u32)input[0]);
	h->seq = BE32((u32)input[1]);
	h->price = BE32((u32)input[2]);
	h->delta = BE32((u32)input[3]);
}
