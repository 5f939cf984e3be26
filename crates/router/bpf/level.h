/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

/*
 * Indices into `kept`: the sums of the current interval, those of the previous interval, and the time at which the
 * transmitter will be free. The last word holds two thresholds, with that of the previous interval in the high half.
 */
enum { START, OTHER, PROPOSED, GAPS, GAPS_BELOW, BELOW, EXTREMES, LAST, FREE_AT = 2 * LAST, THRESHOLDS };

/* Unit and largest value of `queued`. */
#define PS_PER_UNIT 8000
#define LONGEST_QUEUED 0xffffff

INLINE void level_turn(const struct job *job)
{
	const u64 *words = job->input->words;
	struct state *s = job->state;
	u64 *kept = s->kept;
	int follows = s->serial + 1 == job->input->serial;

	for (u32 i = 0; i < LAST; i++) {
		kept[LAST + i] = follows ? kept[i] : 0;
		kept[i] = 0;
	}
	kept[THRESHOLDS] = words[3] << 32 | words[2];
}

INLINE void add_saturating(u64 *sum, u64 amount)
{
	*sum += amount;
	if (*sum < amount)
		*sum = ~0ULL;
}

/* Adds one or more packets to the queue; returns the queueing delay of the first packet, ps. */
INLINE u64 level_arrive(const struct job *job, u64 bytes)
{
	struct state *s = job->state;
	u64 wait = 0;

	if (!s->kept[START])
		s->kept[START] = ~s->now;
	if (s->kept[FREE_AT] > s->now)
		wait = s->kept[FREE_AT] - s->now;
	else
		s->kept[FREE_AT] = s->now;
	add_saturating(&s->kept[FREE_AT], (bytes * job->input->words[5]) >> 10);
	if (s->kept[FREE_AT] - s->now > job->input->words[6])
		s->kept[FREE_AT] = s->now + job->input->words[6];
	return wait;
}

INLINE void level_foreign(const struct job *job, u64 bytes)
{
	level_arrive(job, bytes);
	add_saturating(&job->state->kept[OTHER], bytes << 11);
}

/* Counts a flow for the time that its packet represents. */
INLINE void level_count(struct state *s, u64 *sums, u32 threshold, u32 gap, const u32 *h, u32 elsewhere)
{
	u64 time = blur(s, f32_fixed(gap, 44));
	u32 largest = sums[EXTREMES], least = (sums[EXTREMES] >> 32) ^ F32_LARGEST;

	add_saturating(&sums[GAPS], time);
	add_saturating(&sums[PROPOSED], blur(s, f32_fixed(blur(s, f32_mul(BE32(h[5]), gap)), 8)));
	if (!f32_above(threshold, elsewhere)) {
		if (f32_above(least, elsewhere))
			least = elsewhere;
	} else {
		add_saturating(&sums[GAPS_BELOW], time);
		add_saturating(&sums[BELOW], blur(s, f32_fixed(blur(s, f32_mul(elsewhere, gap)), 8)));
		if (f32_above(elsewhere, largest))
			largest = elsewhere;
	}
	sums[EXTREMES] = (u64)(least ^ F32_LARGEST) << 32 | largest;
}

INLINE void level_report(const u64 *input, u32 *h)
{
	u32 level = input[0];
	u8 *b = (u8 *)h;

	if (!b[3] || f32_above(BE32(h[3]), level)) {
		h[4] = h[3];
		h[3] = BE32(level);
		b[3] = b[1];
	} else if (f32_above(BE32(h[4]), level)) {
		h[4] = BE32(level);
	}
	if ((u8)input[4] > (b[0] & 0x3f))
		b[0] = (b[0] & 0xc0) | (u8)input[4];
	if (input[1])
		b[0] |= 0x40;
}

INLINE void level_own(const struct job *job, u32 size, u32 *h)
{
	struct state *s = job->state;
	u32 gap = BE32(h[6]), queued = BE32(h[7]) >> 8, into, elsewhere;
	u64 sum, start;
	u8 *b = (u8 *)h;

	if (b[0] & 0x80 || b[1] == 255) {
		level_foreign(job, size);
		return;
	}
	sum = queued + level_arrive(job, size) / PS_PER_UNIT;
	h[7] = BE32((u32)(sum > LONGEST_QUEUED ? LONGEST_QUEUED : sum) << 8);
	b[1]++;
	elsewhere = BE32(b[1] == b[2] ? h[2] : h[1]);
	start = ~s->kept[START] + (u64)queued * PS_PER_UNIT;
	into = blur(s, f32_of_f64(blur(s, f64_seconds(s->now > start ? s->now - start : 0))));
	if (f32_above(gap, into)) {
		u32 before = blur(s, f32_of_f64(blur(s, f64_sub(f64_of_f32(gap), f64_of_f32(into)))));

		level_count(s, &s->kept[LAST], s->kept[THRESHOLDS] >> 32, before, h, elsewhere);
		gap = into;
	}
	level_count(s, s->kept, s->kept[THRESHOLDS], gap, h, elsewhere);
	level_report(job->input->words, h);
}
