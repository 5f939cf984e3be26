// Flows of BBRv3 over one bottleneck, in virtual time:
// `bbr3 LAW RATE_BPS ROUND_TRIP_US BUFFER_BYTES LOSS PACKET_BYTES UNTIL_US FROM_US SEED START_US...`.
//
// LAW is a shared library that exports the functions of `bbr3.h`. This file implements all other parts of the sender.
// Pacing follows Linux's tcp_update_skb_after_send. Each packet is acknowledged. A packet is declared lost at the third
// ACK of later packets, and is not retransmitted. The timeout is at least 200 ms. A handshake measures the round-trip
// time, including the queueing delay.
//
// The bottleneck drops packets that exceed the buffer. The packet in service occupies the buffer, too. The wire of the
// bottleneck loses packets with probability LOSS.
//
// The first line of the output has two numbers: packets that arrived, and packets that were dropped, after FROM. Then
// follow the bytes delivered after FROM, a line per flow. Then follows the backlog in bytes at each 10 ms after FROM,
// including the packet in service.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bbr3.h"
#include "library.h"

constexpr uint32_t ROOM = BBR3_ROOM, REORDERING = 3, WINDOW = 10, UNPACED = 10, MOST_BACKOFF = 6;
constexpr int64_t SAMPLE = 10'000'000, LEAST_TIMEOUT = 200'000'000, SECOND = 1'000'000'000, NEVER = INT64_MAX;

// Functions of the library.
static decltype(&::bbr3_new) make_law;
static decltype(&::bbr3_sent) sent;
static decltype(&::bbr3_acknowledged) acknowledged;
static decltype(&::bbr3_loses) loses;
static decltype(&::bbr3_lost) lost;
static decltype(&::bbr3_state) change_state;
static decltype(&::bbr3_control) control;

static void load(const char *name) {
    void *library = dlopen(name, RTLD_NOW);
    find(library, "bbr3_new", make_law);
    find(library, "bbr3_sent", sent);
    find(library, "bbr3_acknowledged", acknowledged);
    find(library, "bbr3_loses", loses);
    find(library, "bbr3_lost", lost);
    find(library, "bbr3_state", change_state);
    find(library, "bbr3_control", control);
}

enum class Fate { waits, arrived, lost };

struct Sent {
    uint64_t departed;
    Fate fate;
};

struct Ack {
    int64_t at;
    uint32_t number;
};

struct Flow {
    int64_t start, opens = NEVER, timer = NEVER, handshake_us = 0;
    void *law = nullptr;
    bool open = false;
    Sender sender{};
    int state = BBR3_OPEN;
    uint32_t low = 0, recovery_ends = 0, usage_ends = 0, most_out = 0, backoff = 0;
    std::vector<Sent> packets = std::vector<Sent>(ROOM);
    std::vector<Ack> acks = std::vector<Ack>(ROOM);
    uint64_t first_ack = 0, last_ack = 0, arrived = 0;
    double deviation = 0;
    explicit Flow(int64_t from) : start(from) {}
    Sent &packet(uint32_t number) { return packets[number % ROOM]; }
};

// A packet in the buffer of the bottleneck.
struct Held {
    double leaves;
    uint32_t size;
};

static std::vector<Flow> flows;
static Held held[ROOM];
static uint64_t first_held, last_held, held_bytes, came, dropped;
static double rate, loss, busy_until;
static int64_t now, round_trip, until, from;
static uint64_t buffer;
static uint32_t packet_bytes;

static uint64_t random_state;
static uint32_t draw() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return static_cast<uint32_t>(random_state >> 32);
}

static bool before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

static uint64_t backlog(int64_t at) {
    for (; first_held < last_held && held[first_held % ROOM].leaves <= at; first_held++)
        held_bytes -= held[first_held % ROOM].size;
    return held_bytes;
}

static void cross(Flow &flow, uint32_t number) {
    const bool late = now >= from;
    came += late;
    if (backlog(now) + packet_bytes > buffer) {
        dropped += late;
        return;
    }
    busy_until = std::max(busy_until, static_cast<double>(now)) + packet_bytes * 8e9 / rate;
    held[last_held++ % ROOM] = {busy_until, packet_bytes};
    held_bytes += packet_bytes;
    if (draw() < loss * 4294967296.0) return;
    flow.acks[flow.last_ack++ % ROOM] = {static_cast<int64_t>(busy_until + round_trip), number};
    const double at = busy_until + round_trip / 2;
    flow.arrived += at >= from && at < until ? packet_bytes : 0;
}

static void set_timer(Flow &flow) {
    const auto timeout = static_cast<int64_t>(1000 * ((flow.sender.round_trip >> 3) + 4 * flow.deviation));
    const int64_t after = std::max(timeout, LEAST_TIMEOUT) << std::min(flow.backoff, MOST_BACKOFF);
    flow.timer = flow.sender.flight ? now + after : NEVER;
}

static void send_packet(Flow &flow) {
    Sender &sender = flow.sender;
    const uint32_t number = sender.next;
    const uint64_t before_it = sender.departs;
    sender.departs = std::max(sender.departs, sender.now);
    flow.packet(number) = {sender.departs, Fate::waits};
    sent(flow.law, &sender, number);
    if (number >= UNPACED) {
        const uint64_t gap = packet_bytes * static_cast<uint64_t>(SECOND) / sender.rate;
        sender.departs += gap - std::min(gap / 2, sender.departs - before_it);
    }
    sender.next++;
    if (sender.flight++ == 0) set_timer(flow);
    cross(flow, number);
}

// Records for this round trip whether the window was full, as Linux's tcp_cwnd_validate does.
static void validate(Flow &flow, bool limited) {
    Sender &sender = flow.sender;
    const bool more = !sender.limited && sender.flight > flow.most_out;
    if (!before(flow.low, flow.usage_ends) || limited || more) {
        sender.limited = limited;
        flow.most_out = sender.flight;
        flow.usage_ends = sender.next;
    }
}

static void send_all(Flow &flow) {
    Sender &sender = flow.sender;
    bool any = false;
    sender.now = now;
    for (; sender.flight < sender.window && sender.departs <= sender.now; any = true) send_packet(flow);
    const bool limited = sender.flight >= sender.window;
    if (any || limited) validate(flow, limited);
}

static void set_state(Flow &flow, int state) {
    change_state(flow.law, &flow.sender, state);
    flow.state = state;
}

static void lose(Flow &flow, uint32_t number) {
    flow.packet(number).fate = Fate::lost;
    flow.sender.flight--;
    lost(flow.law, &flow.sender, number);
}

static void time_out(Flow &flow) {
    Sender &sender = flow.sender;
    sender.now = now;
    if (flow.state != BBR3_TIMEOUT) loses(flow.law, &sender, BBR3_TIMEOUT);
    for (; before(flow.low, sender.next); flow.low++)
        if (flow.packet(flow.low).fate == Fate::waits) lose(flow, flow.low);
    set_state(flow, BBR3_TIMEOUT);
    sender.window = sender.flight + 1;
    flow.recovery_ends = sender.next;
    flow.backoff++;
    send_all(flow);
}

static void measure(Flow &flow, int64_t us) {
    uint32_t &smoothed = flow.sender.round_trip;
    const double off = std::fabs(us - static_cast<double>(smoothed >> 3));
    flow.deviation = smoothed ? 0.75 * flow.deviation + 0.25 * off : us / 2.0;
    smoothed = static_cast<uint32_t>(smoothed ? smoothed + us - (smoothed >> 3) : us << 3);
    flow.sender.least = std::min(flow.sender.least, static_cast<uint32_t>(us));
}

static void hear(Flow &flow, uint32_t number) {
    Sender &sender = flow.sender;
    Sent &packet = flow.packet(number);
    if (before(number, flow.low) || packet.fate != Fate::waits) return;
    sender.now = now;
    const auto us = static_cast<int64_t>(sender.now / 1000 - packet.departed / 1000);
    measure(flow, us);
    packet.fate = Fate::arrived;
    acknowledged(flow.law, &sender, number, us);
    sender.flight--;
    flow.backoff = 0;
    for (; !before(number, flow.low + REORDERING); flow.low++) {
        if (flow.packet(flow.low).fate != Fate::waits) continue;
        if (flow.state == BBR3_OPEN) {
            loses(flow.law, &sender, BBR3_RECOVERY);
            set_state(flow, BBR3_RECOVERY);
            flow.recovery_ends = sender.next;
        }
        lose(flow, flow.low);
    }
    while (before(flow.low, sender.next) && flow.packet(flow.low).fate != Fate::waits) flow.low++;
    if (flow.state != BBR3_OPEN && !before(flow.low, flow.recovery_ends)) set_state(flow, BBR3_OPEN);
    control(flow.law, &sender);
    set_timer(flow);
}

static void begin(Flow &flow) {
    flow.opens = NEVER;
    flow.sender.now = now;
    flow.sender.window = WINDOW;
    flow.sender.bytes = packet_bytes;
    flow.sender.least = UINT32_MAX;
    measure(flow, flow.handshake_us);
    flow.law = make_law(&flow.sender, draw);
    flow.open = true;
    send_all(flow);
}

static int64_t next_of(const Flow &flow) {
    int64_t next = std::min({flow.start, flow.opens, flow.timer});
    if (flow.first_ack < flow.last_ack) next = std::min(next, flow.acks[flow.first_ack % ROOM].at);
    const Sender &sender = flow.sender;
    return sender.flight < sender.window ? std::min(next, static_cast<int64_t>(sender.departs)) : next;
}

static void act(Flow &flow) {
    if (flow.start <= now) {
        flow.opens = static_cast<int64_t>(now + round_trip + backlog(now) * 8e9 / rate);
        flow.handshake_us = (flow.opens - now) / 1000;
        flow.start = NEVER;
    }
    if (flow.opens <= now) begin(flow);
    while (flow.first_ack < flow.last_ack && flow.acks[flow.first_ack % ROOM].at <= now)
        hear(flow, flow.acks[flow.first_ack++ % ROOM].number);
    if (flow.timer <= now) time_out(flow);
    if (flow.open) send_all(flow);
}

int main(int count, char **words) {
    if (count < 11) {
        std::fprintf(stderr, "needs LAW RATE ROUND_TRIP BUFFER LOSS PACKET UNTIL FROM SEED START...\n");
        return 2;
    }
    load(words[1]);
    rate = std::atof(words[2]);
    round_trip = 1000 * std::atoll(words[3]);
    buffer = std::atoll(words[4]);
    loss = std::atof(words[5]);
    packet_bytes = std::atoi(words[6]);
    until = 1000 * std::atoll(words[7]);
    from = 1000 * std::atoll(words[8]);
    random_state = 0x9e3779b97f4a7c15 * (std::atoll(words[9]) + 1);
    for (int word = 10; word < count; word++) flows.emplace_back(1000 * std::atoll(words[word]));
    std::vector<uint64_t> samples;
    for (;;) {
        int64_t next = NEVER;
        for (const Flow &flow : flows) next = std::min(next, next_of(flow));
        next = std::max(next, now);
        for (int64_t at; (at = from + static_cast<int64_t>(samples.size()) * SAMPLE) < std::min(next, until);)
            samples.push_back(backlog(at));
        if (next >= until) break;
        now = next;
        for (Flow &flow : flows)
            if (next_of(flow) <= now) act(flow);
    }
    std::printf("%llu %llu\n", static_cast<unsigned long long>(came), static_cast<unsigned long long>(dropped));
    for (const Flow &flow : flows) std::printf("%llu\n", static_cast<unsigned long long>(flow.arrived));
    for (const uint64_t sample : samples) std::printf("%llu\n", static_cast<unsigned long long>(sample));
}
