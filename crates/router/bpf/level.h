/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

/*
 * Indices into `kept`. START to EXTREMES are the sums of the current interval. Adding LAST gives the same sums of the
 * previous interval. FREE_AT is the time at which the transmitter will be free. THRESHOLDS holds the threshold of the
 * current interval in its low half, and the threshold of the previous interval in its high half.
 */
enum { START, OTHER, PROPOSED, GAPS, GAPS_BELOW, BELOW, EXTREMES, LAST, FREE_AT = 2 * LAST, THRESHOLDS };

/* Unit and largest value of the header field `queued`. */
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

/* Adds one or more packets to the queue. Returns the queueing delay of the first packet, ps. */
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

/* Adds a packet to the sums. Weights its values by `gap`. */
INLINE void level_count(struct state *s, u64 *sums, u32 threshold, u32 gap, u32 proposal, u32 elsewhere)
{
	u64 time = blur(s, f32_fixed(gap, 44));
	u32 largest = sums[EXTREMES], least = (sums[EXTREMES] >> 32) ^ F32_LARGEST;

	add_saturating(&sums[GAPS], time);
	add_saturating(&sums[PROPOSED], blur(s, f32_fixed(blur(s, f32_mul(proposal, gap)), 8)));
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

INLINE void level_report(const u64 *input, struct level_header *h)
{
	u32 level = input[0];

	if (!h->new_limit || f32_above(BE32(h->new_lowest), level)) {
		h->new_second = h->new_lowest;
		h->new_lowest = BE32(level);
		h->new_limit = h->hop;
	} else if (f32_above(BE32(h->new_second), level)) {
		h->new_second = BE32(level);
	}
	if ((u8)input[4] > (h->flags & 0x3f))
		h->flags = (h->flags & 0xc0) | (u8)input[4];
	if (input[1])
		h->flags |= 0x40;
}

INLINE void level_own(const struct job *job, u32 size, struct level_header *h)
{
	struct state *s = job->state;
	u32 gap = BE32(h->gap), proposal = BE32(h->proposal), queued = be24(h->queued), into, elsewhere;
	u64 sum, start;

	if (h->flags & 0x80 || h->hop == 255) {
		level_foreign(job, size);
		return;
	}
	sum = queued + level_arrive(job, size) / PS_PER_UNIT;
	put_be24(h->queued, sum > LONGEST_QUEUED ? LONGEST_QUEUED : sum);
	h->hop++;
	elsewhere = BE32(h->hop == h->limit ? h->second : h->lowest);
	start = ~s->kept[START] + (u64)queued * PS_PER_UNIT;
	into = blur(s, f32_of_f64(blur(s, f64_seconds(s->now > start ? s->now - start : 0))));
	if (f32_above(gap, into)) {
		u32 before = blur(s, f32_of_f64(blur(s, f64_sub(f64_of_f32(gap), f64_of_f32(into)))));

		level_count(s, &s->kept[LAST], s->kept[THRESHOLDS] >> 32, before, proposal, elsewhere);
		gap = into;
	}
	level_count(s, s->kept, s->kept[THRESHOLDS], gap, proposal, elsewhere);
	level_report(job->input->words, h);
}
