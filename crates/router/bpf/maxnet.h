/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void maxnet_foreign(const struct job *job, u64 bytes)
{
	job->count->words[0] += bytes;
}

INLINE void maxnet_own(const struct job *job, u32 size, u32 *h)
{
	const u64 *input = job->input->words;
	u32 word = BE32(h[1]), theirs = word & 0xffffff, own = theirs >> 23 ? input[1] : input[0];

	job->count->words[0] += size;
	if (own > theirs)
		h[1] = BE32((word & 0xff000000) | own);
}
