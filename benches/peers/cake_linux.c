// Flows through the CAKE of Linux in virtual time: `cake RATE_BPS FLOW_MODE UNTIL_S FROM_S SEED FLOW...`.
//
// The discipline is net/sched/sch_cake.c, compiled in, with the options besteffort and raw, and without ACK filter. A
// link of 1 Gb/s follows its shaper. A packet is acknowledged one round trip after it has left this link. A FLOW has
// the form LAW,SOURCE,DESTINATION,ROUND_TRIP_MS,START_MS,BYTES,ECN,BITS_PER_SECOND. The laws are newreno, cubic and
// cbr. Only cbr has a rate. Senders follow RFCs 5681, 6582 and 9438. They declare a packet lost at the third ACK of
// later packets, and do not retransmit it.
//
// The program first prints a line per flow: the numbers of packets that left, were dropped and were marked after
// FROM_S. Then it prints a line for each flow and each period of 10 ms in which the flow received ACKs. This line
// contains the flow, and the mean over these ACKs of the round-trip time minus ROUND_TRIP_MS, ns.

#include <math.h>

#include "cake_kernel.h"

#include "sch_cake.c"

enum { ROOM = 1 << 17, REORDERING = 3, MOST_FLOWS = 64 };
enum { OPEN, REDUCED, RESTARTED };
enum { WAITS, ACKED, LOST };
static const double LINE_BPS = 1e9, INITIAL = 10, LEAST = 2, CUBIC_C = 0.4, CUBIC_BETA = 0.7, FASTEST = 1.5;
static const ktime_t SAMPLE = 10 * NSEC_PER_MSEC, LEAST_TIMEOUT = 200 * NSEC_PER_MSEC;

struct ack {
    ktime_t at, rtt;
    u64 number;
    bool marked;
};

struct flow {
    char law[16];
    u32 source, destination, size, capable;
    ktime_t round_trip, start, gap, next_send;
    u64 next, cut, low;
    double window, threshold, flight;
    int phase;
    u8 state[ROOM];
    struct ack acks[ROOM];
    u64 first_ack, last_ack;
    double smooth, deviation;
    ktime_t timer, backoff;
    double most, prior, k, origin, reno;
    ktime_t epoch;
    double late;
    u64 acks_in_sample;
    ktime_t sample_ends;
    u64 left, dropped, marked;
};

static struct flow flows[MOST_FLOWS];
static int flow_count;
static ktime_t from_ns;
static struct Qdisc qdisc;
static FILE *waits;

static void kfree_skb(struct sk_buff *skb)
{
    flows[skb->flow].dropped += now_ns >= from_ns;
    free(skb);
}

static void send_packet(struct flow *flow)
{
    struct sk_buff *skb = calloc(1, sizeof *skb), *dropped = NULL;
    skb->len = skb->truesize = flow->size;
    skb->flow = flow - flows;
    skb->source = flow->source;
    skb->destination = flow->destination;
    skb->capable = flow->capable;
    skb->sent = now_ns;
    skb->number = flow->next++;
    flow->state[skb->number % ROOM] = WAITS;
    cake_qdisc_ops.enqueue(skb, &qdisc, &dropped);
    for (struct sk_buff *after; dropped; dropped = after) {
        after = dropped->next;
        kfree_skb(dropped);
    }
}

static void set_timer(struct flow *flow)
{
    const ktime_t timeout = 1e9 * (flow->smooth + 4 * flow->deviation);
    flow->timer = flow->flight > 0 ? now_ns + (max(timeout, LEAST_TIMEOUT) << flow->backoff) : KTIME_MAX;
}

static void send_window(struct flow *flow)
{
    const double window = max(1.0, floor(flow->window));
    const bool idle = flow->flight == 0;
    for (; flow->flight + 1 <= window; flow->flight++) send_packet(flow);
    if (idle) set_timer(flow);
}

static bool is_cubic(const struct flow *flow) { return flow->law[0] == 'c'; }

static double reduced(struct flow *flow, bool timeout)
{
    if (!is_cubic(flow)) return flow->window / 2;
    flow->most = timeout ? 0 : flow->window <= flow->most - 1 ? flow->window * (1 + CUBIC_BETA) / 2 : flow->window;
    flow->prior = flow->window;
    flow->epoch = 0;
    return flow->window * CUBIC_BETA;
}

static void reduce(struct flow *flow)
{
    flow->threshold = max(reduced(flow, false), LEAST);
    flow->window = min(flow->window, flow->threshold);
    flow->phase = REDUCED;
    flow->cut = flow->next;
}

static void time_out(struct flow *flow)
{
    flow->threshold = max(reduced(flow, true), LEAST);
    flow->window = 1;
    flow->phase = RESTARTED;
    flow->cut = flow->low = flow->next;
    flow->flight = 0;
    flow->backoff++;
    send_window(flow);
}

static void avoid_cubic(struct flow *flow)
{
    if (!flow->epoch) {
        flow->epoch = now_ns;
        flow->k = cbrt(max(flow->most - flow->window, 0.0) / CUBIC_C);
        flow->origin = max(flow->most, flow->window);
        flow->reno = flow->window;
    }
    const double share = 1 / flow->window, t = (now_ns - flow->epoch) / 1e9 - flow->k, ahead = t + flow->smooth;
    flow->reno += share * (flow->reno < flow->prior ? 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) : 1);
    if (CUBIC_C * t * t * t + flow->origin < flow->reno) {
        flow->window = max(flow->window, flow->reno);
        return;
    }
    const double target = CUBIC_C * ahead * ahead * ahead + flow->origin;
    flow->window += (min(max(target, flow->window), FASTEST * flow->window) - flow->window) * share;
}

static void measure(struct flow *flow, const struct ack *ack)
{
    const double rtt = ack->rtt / 1e9, off = fabs(rtt - flow->smooth);
    flow->deviation = flow->smooth ? 0.75 * flow->deviation + 0.25 * off : rtt / 2;
    flow->smooth = flow->smooth ? flow->smooth + (rtt - flow->smooth) / 8 : rtt;
}

static void sample(struct flow *flow, ktime_t wait)
{
    if (now_ns >= flow->sample_ends) {
        if (flow->acks_in_sample && flow->sample_ends > from_ns)
            fprintf(waits, "%td %.0f\n", flow - flows, flow->late / flow->acks_in_sample);
        flow->late = flow->acks_in_sample = 0;
        flow->sample_ends = (now_ns / SAMPLE + 1) * SAMPLE;
    }
    flow->late += wait;
    flow->acks_in_sample++;
}

static void hear(struct flow *flow, const struct ack *ack)
{
    sample(flow, ack->rtt - flow->round_trip);
    if (flow->gap || ack->number < flow->low || flow->state[ack->number % ROOM] != WAITS) return;
    measure(flow, ack);
    flow->state[ack->number % ROOM] = ACKED;
    flow->flight--;
    flow->backoff = 0;
    bool cut = false, gap = false;
    for (; flow->low + REORDERING <= ack->number; flow->low++) {
        if (flow->state[flow->low % ROOM] != WAITS) continue;
        flow->flight--;
        if (flow->low >= flow->cut) reduce(flow);
    }
    for (u64 number = flow->low; number < ack->number; number++) gap |= flow->state[number % ROOM] == WAITS;
    const bool news = ack->number >= flow->cut;
    if (news && !gap) flow->phase = OPEN;
    if (ack->marked && news) {
        reduce(flow);
        cut = true;
    }
    const bool complete = flow->phase == OPEN ? !gap : flow->phase == RESTARTED;
    if (!cut && complete && !ack->marked && flow->flight + 2 >= floor(flow->window)) {
        if (flow->window < flow->threshold) flow->window = min(flow->window + 1, flow->threshold);
        else if (is_cubic(flow)) avoid_cubic(flow);
        else flow->window += 1 / flow->window;
    }
    set_timer(flow);
    send_window(flow);
}

static ktime_t next_of(const struct flow *flow)
{
    ktime_t next = min(flow->next_send, flow->timer);
    return flow->first_ack < flow->last_ack ? min(next, flow->acks[flow->first_ack % ROOM].at) : next;
}

static void act(struct flow *flow)
{
    while (flow->first_ack < flow->last_ack && flow->acks[flow->first_ack % ROOM].at <= now_ns)
        hear(flow, &flow->acks[flow->first_ack++ % ROOM]);
    if (flow->timer <= now_ns) time_out(flow);
    if (flow->next_send > now_ns) return;
    flow->next_send = flow->gap ? flow->next_send + flow->gap : KTIME_MAX;
    if (flow->gap) send_packet(flow);
    else send_window(flow);
}

static void serve(ktime_t *line_free)
{
    while (*line_free <= now_ns) {
        struct sk_buff *skb = cake_qdisc_ops.dequeue(&qdisc);
        if (!skb) return;
        struct flow *flow = &flows[skb->flow];
        *line_free = now_ns + skb->len * 8 / LINE_BPS * 1e9;
        const ktime_t at = *line_free + flow->round_trip;
        flow->acks[flow->last_ack++ % ROOM] = (struct ack){at, at - skb->sent, skb->number, skb->marked};
        flow->left += now_ns >= from_ns;
        flow->marked += skb->marked && now_ns >= from_ns;
        free(skb);
    }
}

static void read_flow(const char *word)
{
    struct flow *flow = &flows[flow_count++];
    double round_trip, start, rate = 0;
    const int read = sscanf(word, "%15[a-z],%u,%u,%lf,%lf,%u,%u,%lf", flow->law, &flow->source, &flow->destination,
                            &round_trip, &start, &flow->size, &flow->capable, &rate);
    if (read != 8 || flow->size == 0) {
        fprintf(stderr, "%s: not a flow\n", word);
        exit(2);
    }
    flow->round_trip = round_trip * NSEC_PER_MSEC;
    flow->next_send = start * NSEC_PER_MSEC;
    flow->gap = rate > 0 ? flow->size * 8 / rate * 1e9 : 0;
    flow->window = INITIAL;
    flow->threshold = INFINITY;
    flow->timer = KTIME_MAX;
}

static void set_up(double rate, int mode)
{
    struct nlattr options[TCA_CAKE_MAX + 1] = {0};
    options[TCA_CAKE_BASE_RATE64] = (struct nlattr){rate / 8, true};
    options[TCA_CAKE_DIFFSERV_MODE] = (struct nlattr){CAKE_DIFFSERV_BESTEFFORT, true};
    options[TCA_CAKE_FLOW_MODE] = (struct nlattr){mode, true};
    options[TCA_CAKE_RAW] = (struct nlattr){0, true};
    qdisc.priv = calloc(1, cake_qdisc_ops.priv_size);
    if (cake_qdisc_ops.init(&qdisc, options, NULL)) exit(1);
}

int main(int count, char **words)
{
    if (count < 7 || count - 6 > MOST_FLOWS) {
        fprintf(stderr, "needs RATE_BPS FLOW_MODE UNTIL_S FROM_S SEED FLOW..., at most %d flows\n", MOST_FLOWS);
        return 2;
    }
    for (int word = 6; word < count; word++) read_flow(words[word]);
    const ktime_t until = atof(words[3]) * NSEC_PER_SEC;
    from_ns = atof(words[4]) * NSEC_PER_SEC;
    random_state = mixed(strtoull(words[5], NULL, 10) + 1);
    set_up(atof(words[1]), atoi(words[2]));
    struct qdisc_watchdog *watchdog = &((struct cake_sched_data *)qdisc.priv)->watchdog;
    char *text;
    size_t length;
    waits = open_memstream(&text, &length);
    ktime_t line_free = 0;
    for (;;) {
        ktime_t next = min(watchdog->at, line_free > now_ns ? line_free : KTIME_MAX);
        for (int i = 0; i < flow_count; i++) next = min(next, next_of(&flows[i]));
        if (next > until) break;
        now_ns = max(now_ns, next);
        if (watchdog->at <= now_ns) watchdog->at = KTIME_MAX;
        for (int i = 0; i < flow_count; i++)
            if (next_of(&flows[i]) <= now_ns) act(&flows[i]);
        serve(&line_free);
    }
    fclose(waits);
    for (int i = 0; i < flow_count; i++) {
        const struct flow *flow = &flows[i];
        printf("%llu %llu %llu\n", (unsigned long long)flow->left, (unsigned long long)flow->dropped,
               (unsigned long long)flow->marked);
    }
    fputs(text, stdout);
}
