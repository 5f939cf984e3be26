/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What routers do on each packet, by what the law has told: crates/laws/src/<law>/offload.rs says what the words are. Headers
 * are words as they came, most significant byte first. A law that counts in integers counts per processor; one that computes with
 * floats has one state under a lock, since float sums depend on their order.
 */
#pragma once

enum { JETMAX = 1, EMKC, RCP, MAXNET, XCP };

/* Set before the program is loaded, so that the verifier drops the other laws. */
volatile const u8 LAW = 0;
volatile const u64 ORIGIN = 0; /* ns of the clock where laws' time begins */

struct told {
	u64 serial; /* counts the intervals, from 1 */
	u64 words[8];
};

struct control {
	u8 slot; /* which of the two told to use */
	u8 bank; /* changes when user space takes the sums */
	u8 unused[6];
};

struct state {
	struct bpf_spin_lock lock;
	u32 bank;
	u64 serial;
	u64 sums[3]; /* since bank changed */
	u64 done[3]; /* before that */
	u64 kept[8];
	u64 blurred;
};

#define BE32(x) __builtin_bswap32(x)
#define SHORTEST_RTT 0x3eb0c6f7a0b5ed8dULL /* 1e-6 s */
#define LONGEST_RTT 0x42c80000u /* 100 s */

INLINE u32 header_bytes(void)
{
	switch (LAW) {
	case JETMAX: return 28;
	case EMKC: return 20;
	case XCP: return 20;
	default: return 8;
	}
}

/* A time of a header: 0, or -0, up to 100 s. */
INLINE int is_time(u32 a)
{
	return a == 0x80000000 || a <= LONGEST_RTT;
}

/* Whether the law's own reader takes this header. */
INLINE int is_header(const u32 *h)
{
	u32 a = BE32(h[1]), b = BE32(h[2]);

	switch (LAW) {
	case JETMAX:
		return !f32_is_nan(BE32(h[3])) && !f32_is_nan(BE32(h[4])) && f32_is_magnitude(BE32(h[5])) &&
		       f32_is_magnitude(BE32(h[6]));
	case EMKC:
		return (b & 0x7fffffff) < F32_INFINITY && !f32_above(b, 0x3f800000) && f32_is_magnitude(BE32(h[3]));
	case RCP:
		b = BE32(h[0]);
		return b && b <= F32_INFINITY && is_time(a);
	case MAXNET:
		return (h[0] & 0xffff) == 0x082a;
	case XCP:
		return BE32(h[0]) == 0x00143300 && is_time(a) && is_time(b) && !(a << 1) == !(b << 1) &&
		       !f32_is_nan(BE32(h[3])) && !f32_is_nan(BE32(h[4])) && BE32(h[3]) != 0xff800000 &&
		       BE32(h[4]) != 0xff800000;
	}
	return 0;
}

INLINE void add_halves(u64 *low_high, u64 amount)
{
	low_high[0] += (u32)amount;
	low_high[1] += amount >> 32;
}

INLINE int jetmax_limits(const u64 *told, u32 price, u32 share, u32 suggested)
{
	u32 own_price = told[0], own_share = told[1], zero = told[3];

	if (!suggested)
		return 1;
	if ((own_price & 0x7fffffff) > zero || (price & 0x7fffffff) > zero)
		return f32_above(own_price, price);
	if (!f32_above(F32_LARGEST, own_share))
		return f32_above(own_price, 0) && !f32_above(price, 0);
	if (!f32_above(F32_LARGEST, share))
		return f32_above(own_price, 0) || !f32_above(price, 0);
	return f32_above(share, own_share);
}

INLINE void jetmax(const u64 *told, u64 *count, u32 size, u32 *h)
{
	u8 *b = (u8 *)h;
	u64 proposed = f32_fixed(BE32(h[5]), 8);
	u32 price = BE32(h[3]), limits;

	if (b[4] & 0x80) {
		add_halves(&count[2], (u64)size << 8);
		return;
	}
	if (b[6] == 255) {
		add_halves(&count[2], proposed);
		return;
	}
	b[6]++;
	if (b[6] == b[5]) {
		add_halves(&count[0], proposed);
		add_halves(&count[4], f32_fixed(BE32(h[6]), 44));
		if (((u32)told[0] & 0x7fffffff) <= (u32)told[3])
			b[4] |= 0x40;
	} else {
		add_halves(&count[2], proposed);
	}
	limits = jetmax_limits(told, price, BE32(h[4]), b[7]);
	if (f32_above(told[0], price))
		h[3] = BE32((u32)told[0]);
	if (limits) {
		h[4] = BE32((u32)told[1]);
		b[7] = b[6];
		b[4] = (b[4] & 0xf0) | (told[2] & 0x0f);
	}
}

INLINE void emkc(const u64 *told, u32 *h)
{
	if (!f32_above(told[2], BE32(h[2])))
		return;
	h[0] = BE32((u32)told[0]);
	h[1] = BE32((u32)told[1]);
	h[2] = BE32((u32)told[2]);
	h[3] = BE32((u32)told[3]);
}

INLINE void maxnet(const u64 *told, u32 *h)
{
	u32 word = BE32(h[1]), theirs = word & 0xffffff, own = theirs >> 23 ? told[1] : told[0];

	if (own > theirs)
		h[1] = BE32((word & 0xff000000) | own);
}

/* Enters a new interval or a new bank, if user space says so. The lock is held. */
INLINE void turn(const struct told *told, const volatile struct control *control, struct state *s)
{
	if (s->bank != control->bank) {
		s->bank = control->bank;
		s->done[0] = s->sums[0];
		s->done[1] = s->sums[1];
		s->done[2] = s->sums[2];
		s->sums[0] = s->sums[1] = s->sums[2] = 0;
	}
	if (s->serial >= told->serial)
		return;
	if (LAW == RCP && !s->serial)
		s->kept[0] = told->words[4];
	if (LAW == XCP) {
		s->kept[3] = told->words[0];
		s->kept[4] = told->words[1];
		s->kept[5] = told->words[2];
		s->kept[6] = told->words[3];
	}
	s->serial = told->serial;
}

INLINE void rcp(const u64 *told, struct state *s, u32 *h)
{
	u32 rtt = BE32(h[1]);
	u64 sample = f64_max(f64_of_f32(rtt), SHORTEST_RTT);

	if (rtt << 1) {
		if (told[1])
			s->sums[1] = f64_max(s->sums[1], sample);
		else
			s->kept[0] = f64_add(f64_mul(told[2], sample), f64_mul(told[3], s->kept[0]));
	}
	if ((u32)told[0] < BE32(h[0]))
		h[0] = BE32((u32)told[0]);
}

/* The smallest queue for a while becomes the persistent one. */
INLINE void xcp_queue(const u64 *told, struct state *s, u64 now)
{
	u64 queue = told[4], until = now + told[5];

	if (queue < s->kept[1])
		s->kept[1] = queue;
	if (now < s->kept[2])
		return;
	s->kept[0] = s->kept[1];
	s->kept[1] = queue;
	s->kept[2] = until < now ? now : until;
}

/* The same number, of which the verifier knows nothing more: else it follows each way in which it may have come about. */
INLINE u64 blur(struct state *s, u64 a)
{
	volatile u64 *place = &s->blurred;

	*place = a;
	return *place;
}

INLINE void xcp_take(struct state *s, u64 *pool, u64 amount)
{
	u64 left = blur(s, f64_max(blur(s, f64_sub(pool[0], amount)), 0));

	pool[0] = left;
	if (!left)
		pool[1] = 0;
}

INLINE void xcp(const u64 *told, struct state *s, u32 size, u32 *h)
{
	u64 gap = f64_of_f32(BE32(h[1])), rtt, granted, reclaimed, own, asked;
	u64 *positive = &s->kept[3], *negative = &s->kept[5];

	if (!(h[2] & 0xffffff7f)) {
		h[4] = 0;
		return;
	}
	gap = blur(s, gap);
	rtt = blur(s, f64_min(f64_max(f64_of_f32(BE32(h[2])), SHORTEST_RTT), told[7]));
	s->sums[1] = f64_add(s->sums[1], gap);
	if (told[6])
		s->sums[2] = f64_max(s->sums[2], rtt);
	else
		s->sums[2] = f64_add(s->sums[2], blur(s, f64_mul(gap, rtt)));
	granted = blur(s, f64_min(blur(s, f64_mul(positive[1], gap)), positive[0]));
	reclaimed = blur(s, f64_mul(negative[1], blur(s, f64_of_u32(size))));
	reclaimed = blur(s, f64_min(reclaimed, negative[0]));
	own = blur(s, f64_sub(granted, reclaimed));
	asked = blur(s, f64_of_f32(BE32(h[4])));
	if (f64_order(asked) >= f64_order(own)) {
		h[4] = BE32(f32_of_f64(own));
	} else {
		reclaimed = blur(s, f64_add(reclaimed, blur(s, f64_sub(own, asked))));
		reclaimed = blur(s, f64_min(reclaimed, negative[0]));
		granted = blur(s, f64_add(asked, reclaimed));
	}
	xcp_take(s, positive, granted);
	xcp_take(s, negative, reclaimed);
}
