/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE void maxnet_foreign(const struct job *job, u64 bytes)
{
	job->count->words[0] += bytes;
}

INLINE void maxnet_own(const struct job *job, u32 size, struct maxnet_header *h)
{
	const u64 *input = job->input->words;
	u32 theirs = be24(h->price), own = theirs >> 23 ? input[1] : input[0];

	job->count->words[0] += size;
	if (own > theirs)
		put_be24(h->price, own);
}
