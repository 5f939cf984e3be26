/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

INLINE int jetmax_overrules(u32 zero, u32 price, u32 share, u32 own_price, u32 own_share)
{
	int fuller = f32_above(price, own_price);
	int tie = (price & 0x7fffffff) <= zero && (own_price & 0x7fffffff) <= zero;

	if (fuller && f32_above(price, zero))
		return 1;
	if ((fuller || tie) && f32_above(own_share, share))
		return 1;
	return !f32_above(F32_LARGEST, share) && f32_above(price, 0) && !f32_above(own_price, 0);
}

INLINE int jetmax_limits(const u64 *input, u32 price, u32 share, const struct jetmax_header *h)
{
	u32 own_price = input[0], own_share = input[1], zero = input[3];

	if (!h->suggested)
		return 1;
	if (input[4] && h->hop == h->bottleneck)
		return !jetmax_overrules(zero, price, share, own_price, own_share);
	if (input[4] && h->suggested == h->bottleneck)
		return jetmax_overrules(zero, own_price, own_share, price, share);
	if ((own_price & 0x7fffffff) > zero || (price & 0x7fffffff) > zero)
		return f32_above(own_price, price);
	if (!f32_above(F32_LARGEST, own_share))
		return f32_above(own_price, 0) && !f32_above(price, 0);
	if (!f32_above(F32_LARGEST, share))
		return f32_above(own_price, 0) || !f32_above(price, 0);
	return f32_above(share, own_share);
}

INLINE void jetmax_foreign(const struct job *job, u64 bytes)
{
	add_halves(&job->count->words[2], bytes << 8);
}

INLINE void jetmax_own(const struct job *job, u32 size, struct jetmax_header *h)
{
	const u64 *input = job->input->words;
	u64 *count = job->count->words;
	u64 proposed = f32_fixed(BE32(h->virtual_size), 8);
	u32 price = BE32(h->price), limits;

	if (h->flags & 0x80) {
		add_halves(&count[2], (u64)size << 8);
		return;
	}
	if (h->hop == 255) {
		add_halves(&count[2], proposed);
		return;
	}
	h->hop++;
	if (h->hop == h->bottleneck) {
		add_halves(&count[0], proposed);
		add_halves(&count[4], f32_fixed(BE32(h->gap), 44));
		if (((u32)input[0] & 0x7fffffff) <= (u32)input[3])
			h->flags |= 0x40;
	} else {
		add_halves(&count[2], proposed);
	}
	limits = jetmax_limits(input, price, BE32(h->share), h);
	if (f32_above(input[0], price))
		h->price = BE32((u32)input[0]);
	if (limits) {
		h->share = BE32((u32)input[1]);
		h->suggested = h->hop;
		h->flags = (h->flags & 0xf0) | (input[2] & 0x0f);
	}
}
