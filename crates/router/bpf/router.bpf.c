/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Router in the kernel: counts packets that leave a device and stamps headers of its signalling. The program runs
 * before the queue, so it sees the offered load. It lets every packet pass. It supports Ethernet without VLAN tags,
 * IPv4, and IPv6 with at most a hop-by-hop header. Fragments and all other packets are foreign load.
 */
#include "kernel.h"
#include "float.h"
#include "common.h"
#include "signallings.h" /* written by build.rs */

enum { ETHERNET = 14, UDP = 8, SHIM = 24, ACK = 3, IP_UDP = 17 };

struct {
	NUMBER(type, ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct input);
} INPUT SEC(".maps");

struct {
	NUMBER(type, ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct control);
} CONTROL SEC(".maps");

struct {
	NUMBER(type, PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct count);
} COUNT SEC(".maps");

struct {
	NUMBER(type, ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct state);
} STATE SEC(".maps");

/* Counts foreign load, both for display and for the router. */
INLINE void foreign(const struct job *job, u64 packets, u64 bytes)
{
	job->count->packets += packets;
	job->count->bytes += bytes;
	router_foreign(job, bytes);
}

INLINE void own(const struct job *job, u32 size, u32 *header)
{
	job->count->packets++;
	job->count->bytes += size;
	job->count->stamped++;
	router_own(job, size, header);
}

/* Returns true if the router may write to the header of this payload. Counts ACKs and invalid headers. */
INLINE int is_own(const struct job *job, u32 at, u32 length, u32 *words)
{
	const u8 *shim = (const u8 *)words;

	if (length < SHIM || bpf_skb_load_bytes(job->skb, at, words, SHIM) < 0)
		return 0;
	if (words[0] != BE32(0x4c564601) || shim[6] != SIGNALLING || shim[4] > ACK || length < SHIM + (u32)shim[7])
		return 0;
	if (shim[4] == ACK) {
		job->count->acks++;
		return 0;
	}
	if (shim[7] != header_bytes() || bpf_skb_load_bytes(job->skb, at + SHIM, words, header_bytes()) < 0 ||
	    !is_header(words)) {
		job->count->refused++;
		return 0;
	}
	return 1;
}

/* Writes the header back and updates the checksum. The checksums of segments are computed later, by the device. */
INLINE void write(const struct job *job, u32 at, u32 *before, u32 *after)
{
	u32 length = header_bytes(), words = (length + 3) & ~3U;
	s64 change;

	change = bpf_csum_diff(before, words, after, words, 0);
	if (!change)
		return;
	if (bpf_skb_store_bytes(job->skb, at, after, length, 0) < 0)
		return;
	if (job->segment == job->length)
		bpf_l4_csum_replace(job->skb, job->udp + 6, 0, change, BPF_F_MARK_MANGLED_0);
}

static long datagram(u32 index, struct job *job)
{
	u32 words[LONGEST / 4] = {}, before[LONGEST / 4]; /* long enough also for the shim */
	u32 from = index * job->segment, at = job->udp + UDP + from, length = job->length - from;
	u32 size;

	if (length > job->segment)
		length = job->segment;
	size = job->headers + length;
	if (!is_own(job, at, length, words)) {
		foreign(job, 1, size);
		return 0;
	}
	__builtin_memcpy(before, words, sizeof(before));
	own(job, size, words);
	write(job, at + SHIM, before, words);
	return 0;
}

/* Returns the position of the UDP header of a whole IPv4 datagram, or 0. Writes the end of the datagram to `end`. */
INLINE u32 find_udp4(struct __sk_buff *skb, u32 *end)
{
	u8 ip[20];

	if (bpf_skb_load_bytes(skb, ETHERNET, ip, sizeof(ip)) < 0)
		return 0;
	*end = ETHERNET + (ip[2] << 8 | ip[3]);
	if (ip[0] < 0x45 || ip[0] > 0x4f || ip[9] != IP_UDP || ip[6] & 0x3f || ip[7])
		return 0;
	return ETHERNET + (ip[0] & 15) * 4;
}

INLINE u32 find_udp6(struct __sk_buff *skb, u32 *end)
{
	u8 ip[40], options[2];
	u32 at = ETHERNET + sizeof(ip);

	if (bpf_skb_load_bytes(skb, ETHERNET, ip, sizeof(ip)) < 0)
		return 0;
	*end = at + (ip[4] << 8 | ip[5]);
	if (ip[0] >> 4 != 6)
		return 0;
	if (ip[6] == IP_UDP)
		return at;
	if (ip[6] != 0 || bpf_skb_load_bytes(skb, at, options, sizeof(options)) < 0 || options[0] != IP_UDP)
		return 0;
	return at + (options[1] + 1) * 8;
}

/* Sets the position of the datagram. Returns 1 if the packet is a whole UDP datagram with room for a shim, else 0. */
INLINE int find(struct __sk_buff *skb, struct job *job)
{
	u32 end = 0, length;
	u8 type[2], udp[UDP];

	if (bpf_skb_load_bytes(skb, 12, type, sizeof(type)) < 0)
		return 0;
	if (type[0] == 0x08 && type[1] == 0x00)
		job->udp = find_udp4(skb, &end);
	else if (type[0] == 0x86 && type[1] == 0xdd)
		job->udp = find_udp6(skb, &end);
	if (!job->udp || bpf_skb_load_bytes(skb, job->udp, udp, sizeof(udp)) < 0)
		return 0;
	length = udp[4] << 8 | udp[5];
	if (length < UDP + SHIM || job->udp + length > end || end > skb->len)
		return 0;
	job->length = length - UDP;
	return 1;
}

SEC("classifier")
int levelflow(struct __sk_buff *skb)
{
	struct job job = { .skb = skb, .now = (bpf_ktime_get_ns() - ORIGIN) * 1000 };
	u32 key = 0, packets = skb->gso_segs;

	job.control = bpf_map_lookup_elem(&CONTROL, &key);
	job.count = bpf_map_lookup_elem(&COUNT, &key);
	job.state = bpf_map_lookup_elem(&STATE, &key);
	if (!job.control || !job.count || !job.state)
		return NEXT;
	key = *(const volatile u8 *)&job.control->slot;
	job.input = bpf_map_lookup_elem(&INPUT, &key);
	if (!job.input)
		return NEXT;
	/* A super-packet may be a list of whole packets (fraglist GRO). The program does not stamp it, because it cannot
	 * reach the checksums of these packets. */
	if (!find(skb, &job) || (skb->gso_size && bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0)) {
		foreign(&job, packets ? packets : 1, skb->wire_len);
		return NEXT;
	}
	job.segment = job.length;
	job.headers = skb->len - job.length;
	if (skb->gso_size && skb->gso_size < job.length) {
		job.segment = skb->gso_size;
		/* Makes all headers writable at once. Otherwise each write to a header would move the data. */
		bpf_skb_pull_data(skb, skb->len);
	}
	bpf_loop((job.length + job.segment - 1) / job.segment, datagram, &job, 0);
	return NEXT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
