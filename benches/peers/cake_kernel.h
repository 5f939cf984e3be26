// Replacements for the kernel functions that net/sched/sch_cake.c of Linux uses. They do only what the simulation in
// cake_linux.c needs.
//
// The driver sets the time and the random seed. A packet consists of its headers. Netlink, filters, NAT, GSO and the
// ACK filter are stubs. The discipline never calls these stubs, or they return an empty result.

#ifndef LEVELFLOW_CAKE_KERNEL_H
#define LEVELFLOW_CAKE_KERNEL_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <linux/udp.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef s64 ktime_t;
typedef u64 netdev_features_t;

// Language.
#undef htons
#define htons(x) __builtin_bswap16(x)  // a constant expression; protocol numbers are only compared with each other
#define __init
#define __exit
#define __rcu
#define __read_mostly
#define BIT(n) (1UL << (n))
#define IS_ENABLED(option) 0
#define fallthrough __attribute__((fallthrough))
#define likely(x) (x)
#define unlikely(x) (x)
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define THIS_MODULE NULL
#define MODULE_ALIAS_NET_SCH(name)
#define MODULE_AUTHOR(name)
#define MODULE_LICENSE(name)
#define MODULE_DESCRIPTION(name)
#define module_init(f)
#define module_exit(f)
#define GFP_KERNEL 0
#define kvcalloc(n, size, flags) calloc(n, size)
#define kvzalloc(size, flags) calloc(1, size)
#define kvfree(p) free(p)
#define __ffs(x) __builtin_ctzl(x)
#define do_div(n, by) ((n) /= (by))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define reciprocal_scale(value, part) ((u32)(((u64)(u32)(value) * (u32)(part)) >> 32))

// Time, in ns.
#define NSEC_PER_USEC 1000LL
#define NSEC_PER_MSEC 1000000LL
#define NSEC_PER_SEC 1000000000LL
#define USEC_PER_SEC 1000000L
#define KTIME_MAX INT64_MAX
static ktime_t now_ns;
#define ktime_get() now_ns
#define ktime_get_ns() ((u64)now_ns)
#define ktime_to_ns(t) (t)
#define ns_to_ktime(t) ((ktime_t)(t))
#define ktime_to_us(t) ((t) / NSEC_PER_USEC)
#define ktime_add_ns(t, ns) ((ktime_t)((t) + (s64)(ns)))
#define ktime_add_ms(t, ms) ((t) + (ms) * NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_before(a, b) ((a) < (b))
#define ktime_after(a, b) ((a) > (b))
#define ktime_compare(a, b) (((a) > (b)) - ((a) < (b)))

// Random numbers.
static u64 random_state = 1;
static u32 get_random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state >> 32;
}
#define get_random_u16() ((u16)get_random_u32())

// Lists.
struct list_head {
    struct list_head *next, *prev;
};
static void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
static bool list_empty(const struct list_head *list) { return list->next == list; }
static void list_del_init(struct list_head *entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    INIT_LIST_HEAD(entry);
}
static void list_add_tail(struct list_head *entry, struct list_head *list)
{
    entry->prev = list->prev;
    entry->next = list;
    list->prev->next = entry;
    list->prev = entry;
}
static void list_move_tail(struct list_head *entry, struct list_head *list)
{
    list_del_init(entry);
    list_add_tail(entry, list);
}
#define list_first_entry(list, type, member) ((type *)((char *)(list)->next - offsetof(type, member)))

// Packets.
struct sk_buff {
    struct sk_buff *next;
    u32 len, truesize, priority, mark, hash;
    bool l4_hash;
    char cb[48];
    // Fields that the driver uses.
    u32 flow, source, destination;
    u64 number;
    ktime_t sent;
    bool capable, marked;
};
struct skb_shared_info {
    u16 gso_size, gso_segs;
    u32 gso_type;
};
enum { SKB_GSO_TCPV4 = 1, SKB_GSO_TCPV6 = 2, SKB_GSO_DODGY = 4 };
#define NETIF_F_GSO_MASK 0
static struct skb_shared_info no_segments;
static void kfree_skb(struct sk_buff *skb);
#define consume_skb(skb) kfree_skb(skb)
#define skb_shinfo(skb) (&no_segments)
#define skb_is_gso(skb) false
#define netif_skb_features(skb) 0
#define skb_gso_segment(skb, features) ((struct sk_buff *)NULL)
#define skb_list_walk_safe(first, skb, after) \
    for ((skb) = (first), (after) = (skb) ? (skb)->next : NULL; (skb); (skb) = (after), (after) = (skb) ? (skb)->next : NULL)
#define IS_ERR_OR_NULL(p) (!(p))
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)
#define skb_network_offset(skb) 0
#define skb_transport_offset(skb) 0
#define skb_network_header(skb) ((u8 *)NULL)
#define skb_protocol(skb, vlan) htons(ETH_P_IP)
#define skb_header_pointer(skb, offset, length, buffer) ((void *)NULL)
#define skb_inner_network_header(skb) ((u8 *)NULL)
#define pskb_may_pull(skb, length) false
#define skb_try_make_writable(skb, length) 1
#define ip_hdr(skb) ((struct iphdr *)NULL)
#define ipv6_hdr(skb) ((struct ipv6hdr *)NULL)
#define ipv4_get_dsfield(header) 0
#define ipv6_get_dsfield(header) 0
#define ipv4_change_dsfield(header, mask, value)
#define ipv6_change_dsfield(header, mask, value)
#define iph_totlen(skb, header) 0
#define ipv6_payload_len(skb, header) 0
#define ipv6_addr_cmp(a, b) memcmp(a, b, sizeof(struct in6_addr))
#define __tcp_hdrlen(header) ((header)->doff * 4)
#define before(a, b) ((s32)((a) - (b)) < 0)
#define after(a, b) before(b, a)
#define get_unaligned_be32(p) ntohl(*(const u32 *)(p))
#define INET_ECN_MASK 3
enum { TCPOPT_EOL, TCPOPT_NOP, TCPOPT_MSS, TCPOPT_WINDOW, TCPOPT_SACK_PERM, TCPOPT_SACK, TCPOPT_TIMESTAMP = 8 };
enum { TCPOPT_MD5SIG = 19, TCPOPT_FASTOPEN = 34, TCPOPT_EXP = 254, TCPOLEN_SACK_BASE = 2, TCPOLEN_SACK_PERBLOCK = 8, TCPOLEN_TIMESTAMP = 10 };
struct tcp_sack_block_wire {
    __be32 start_seq, end_seq;
};

static bool INET_ECN_set_ce(struct sk_buff *skb)
{
    skb->marked |= skb->capable;
    return skb->capable;
}

// Flows.
enum { FLOW_DISSECTOR_KEY_IPV4_ADDRS = 1, FLOW_DISSECTOR_KEY_IPV6_ADDRS, FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL };
struct flow_keys {
    struct {
        u16 addr_type;
    } control;
    struct {
        u8 ip_proto;
    } basic;
    struct {
        u32 flow_label;
    } tags;
    struct {
        u32 keyid;
    } keyid;
    struct {
        u32 ports;
    } ports;
    struct {
        struct {
            u32 src, dst;
        } v4addrs;
        struct {
            struct in6_addr src, dst;
        } v6addrs;
    } addrs;
};
static void skb_flow_dissect_flow_keys(const struct sk_buff *skb, struct flow_keys *keys, u32 flags)
{
    memset(keys, 0, sizeof *keys);
    keys->control.addr_type = FLOW_DISSECTOR_KEY_IPV4_ADDRS;
    keys->ports.ports = skb->flow + 1;
    keys->addrs.v4addrs.src = skb->source + 1;
    keys->addrs.v4addrs.dst = skb->destination + 1;
}
static u64 mixed(u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
static u32 flow_hash_from_keys(struct flow_keys *keys)
{
    return mixed(mixed(mixed(keys->ports.ports + 1) + keys->addrs.v4addrs.src) + keys->addrs.v4addrs.dst);
}

// Disciplines.
struct Qdisc;
struct nlattr_option {
    u64 value;
    bool set;
};
#define nlattr nlattr_option
#define NL_SET_ERR_MSG_ATTR(extack, attribute, text)
struct netlink_ext_ack;
struct nla_policy {
    int type;
};
enum { NLA_U64, NLA_U32, NLA_S32 };
struct tcf_proto;
struct tcf_block;
struct tcf_result {
    u32 classid;
};
struct gnet_dump {
    struct sk_buff *skb;
};
struct qdisc_watchdog {
    ktime_t at;
};
struct qdisc_walker {
    int stop, count;
};
struct qdisc_skb_cb {
    u32 pkt_len;
    u64 data[4];
};
struct Qdisc {
    u32 limit, handle, flags;
    struct {
        u32 qlen;
    } q;
    struct gnet_stats_queue qstats;
    void *priv;
};
struct Qdisc_class_ops {
    struct Qdisc *(*leaf)(struct Qdisc *, unsigned long);
    unsigned long (*find)(struct Qdisc *, u32);
    struct tcf_block *(*tcf_block)(struct Qdisc *, unsigned long, struct netlink_ext_ack *);
    unsigned long (*bind_tcf)(struct Qdisc *, unsigned long, u32);
    void (*unbind_tcf)(struct Qdisc *, unsigned long);
    int (*dump)(struct Qdisc *, unsigned long, struct sk_buff *, struct tcmsg *);
    int (*dump_stats)(struct Qdisc *, unsigned long, struct gnet_dump *);
    void (*walk)(struct Qdisc *, struct qdisc_walker *);
};
struct Qdisc_ops {
    const struct Qdisc_class_ops *cl_ops;
    const char *id;
    int priv_size;
    s32 (*enqueue)(struct sk_buff *, struct Qdisc *, struct sk_buff **);
    struct sk_buff *(*dequeue)(struct Qdisc *);
    struct sk_buff *(*peek)(struct Qdisc *);
    int (*init)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
    void (*reset)(struct Qdisc *);
    void (*destroy)(struct Qdisc *);
    int (*change)(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *);
    int (*dump)(struct Qdisc *, struct sk_buff *);
    int (*dump_stats)(struct Qdisc *, struct gnet_dump *);
    void *owner;
};
enum { NET_XMIT_SUCCESS, NET_XMIT_DROP, NET_XMIT_CN, __NET_XMIT_STOLEN = 0x10000, __NET_XMIT_BYPASS = 0x20000 };
#define TCQ_F_CAN_BYPASS 1
#define qdisc_priv(sch) ((sch)->priv)
#define qdisc_skb_cb(skb) ((struct qdisc_skb_cb *)(skb)->cb)
#define qdisc_cb_private_validate(skb, size)
#define qdisc_pkt_len(skb) ((skb)->len)
#define qdisc_dev(sch) NULL
#define psched_mtu(device) 1514
#define qdisc_qstats_drop(sch) ((sch)->qstats.drops++)
#define qdisc_bstats_update(sch, skb)
#define qdisc_tree_reduce_backlog(sch, packets, bytes)
#define qdisc_watchdog_init(watchdog, sch) ((watchdog)->at = KTIME_MAX)
#define qdisc_watchdog_cancel(watchdog) ((watchdog)->at = KTIME_MAX)
#define qdisc_watchdog_schedule_ns(watchdog, ns) ((watchdog)->at = (ns))
#define qdisc_peek_dequeued NULL
#define sch_tree_lock(sch)
#define sch_tree_unlock(sch)
#define rcu_dereference_bh(p) (p)
#define tcf_classify_qdisc(skb, filter, result, compat) -1
#define tcf_classify(skb, block, filter, result, compat) -1
#define tcf_block_get(block, filter, sch, extack) 0
#define tcf_block_put(block)
#define tc_qdisc_stats_dump(sch, id, arg) false
#define register_qdisc(ops) 0
#define unregister_qdisc(ops)
static void __qdisc_drop(struct sk_buff *skb, struct sk_buff **to_free)
{
    skb->next = *to_free;
    *to_free = skb;
}
static int qdisc_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    __qdisc_drop(skb, to_free);
    qdisc_qstats_drop(sch);
    return NET_XMIT_DROP;
}

// Netlink. The driver passes a table of options, and reads no attributes.
static int nla_parse_nested_deprecated(struct nlattr **found, int last, struct nlattr *options,
                                       const struct nla_policy *policy, struct netlink_ext_ack *extack)
{
    for (int i = 0; i <= last; i++) found[i] = options[i].set ? &options[i] : NULL;
    return 0;
}
#define nla_get_u64(attribute) ((attribute)->value)
#define nla_get_u32(attribute) ((u32)(attribute)->value)
#define nla_get_s32(attribute) ((s32)(attribute)->value)
#define nla_nest_start_noflag(skb, type) ((struct nlattr *)NULL)
#define nla_nest_end(skb, nest) 0
#define nla_nest_cancel(skb, nest)
#define nla_put_u64_64bit(skb, type, value, pad) 0
#define nla_put_u32(skb, type, value) 0
#define nla_put_s32(skb, type, value) 0
#define gnet_stats_copy_queue(d, per_cpu, stats, length) 0

#endif
