/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layouts and numbers of linux/bpf.h, which never change. With these copies, the build needs only clang. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* The loader reads the properties of maps from these types. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, type) type *name
enum { ARRAY = 2, PERCPU_ARRAY = 6 };

enum { NEXT = -1 }; /* The next program decides. If there is no other program, the packet passes. */

struct bpf_spin_lock {
	u32 value;
};

struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id;
	u32 family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	u32 data_meta;
	u64 flow_keys, tstamp;
	u32 wire_len, gso_segs;
	u64 sk;
	u32 gso_size;
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_skb_store_bytes)(struct __sk_buff *, u32 at, const void *, u32 length, u64 flags) = (void *)9;
static long (*const bpf_l4_csum_replace)(struct __sk_buff *, u32 at, u64 from, u64 to, u64 flags) = (void *)11;
static long (*const bpf_skb_load_bytes)(const void *, u32 at, void *, u32 length) = (void *)26;
static s64 (*const bpf_csum_diff)(u32 *from, u32 from_size, u32 *to, u32 to_size, u32 seed) = (void *)28;
static long (*const bpf_skb_pull_data)(struct __sk_buff *, u32 length) = (void *)39;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *) = (void *)94;
static long (*const bpf_csum_level)(struct __sk_buff *, u64 what) = (void *)135;
static long (*const bpf_loop)(u32 times, void *body, void *context, u64 flags) = (void *)181;

enum { BPF_F_MARK_MANGLED_0 = 1 << 5, BPF_CSUM_LEVEL_QUERY = 0 };
