// Flows of ABC through a queue, in virtual time: `abc QUEUE TRACE UNTIL_MS FROM_MS ROUND_TRIP_MS START_MS...`.
//
// QUEUE is a shared library that exports the functions of `abc.h`. The program first prints, for each flow, the number
// of packets that left after FROM_MS. Then it prints a histogram of the queueing delay over the whole run. Each line
// contains a flow, a delay in ms, and a number of packets.
//
// The link sends a packet at each opportunity of the trace, as Mahimahi does. The sender follows section 3.1 of ABC's
// paper. It has no timer and no second window, because no packet is lost.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "abc.h"
#include "library.h"

constexpr double INITIAL = 10, LEAST = 5, MOST_OF_FLIGHT = 2;
constexpr uint32_t PACKET = 1504;
constexpr uint8_t ACCELERATE = 1, BRAKE = 3;

struct Flow {
    double window = INITIAL;
    double flight = 0;
    long left = 0;
    std::map<uint64_t, long> waits;
};

struct Ack {
    uint32_t flow;
    bool brakes;
};

// Functions of the library.
static decltype(&::queue_new) make_queue;
static decltype(&::queue_put) put;
static decltype(&::queue_take) take;

static void load(const char *queue) {
    void *library = dlopen(queue, RTLD_NOW);
    find(library, "queue_new", make_queue);
    find(library, "queue_put", put);
    find(library, "queue_take", take);
}

int main(int count, char **words) {
    std::vector<uint64_t> schedule, starts;
    std::ifstream trace(count > 2 ? words[2] : "");
    for (uint64_t at; trace >> at;) schedule.push_back(at);
    if (count < 7 || schedule.empty() || schedule.back() == 0 || !std::is_sorted(schedule.begin(), schedule.end())) {
        std::fprintf(stderr, "needs QUEUE TRACE UNTIL_MS FROM_MS ROUND_TRIP_MS START_MS..., and the trace in order\n");
        return 2;
    }
    load(words[1]);
    auto number = [&](int word) { return std::strtoull(words[word], nullptr, 10); };
    const uint64_t until = number(3), from = number(4), round_trip = number(5);
    for (int word = 6; word < count; word++) starts.push_back(number(word));

    void *queue = make_queue();
    uint64_t now = 0;
    std::vector<Flow> flows(starts.size());
    std::map<uint64_t, std::vector<Ack>> acks;
    auto send = [&](uint32_t which) {
        const Packet packet{now, which, PACKET, ACCELERATE};
        for (Flow &flow = flows[which]; flow.flight + 1 <= flow.window; flow.flight++) put(queue, &packet);
    };
    uint64_t base = 0;
    for (size_t next = 0; now < until; now++) {
        while (base + schedule[next] <= now) {
            if (++next == schedule.size()) {
                base += schedule.back();
                next = 0;
            }
            Packet packet;
            if (!take(queue, now, &packet)) continue;
            acks[now + round_trip].push_back({packet.flow, packet.ecn == BRAKE});
            flows[packet.flow].waits[now - packet.came]++;
            flows[packet.flow].left += now >= from;
        }
        for (uint32_t which = 0; which < flows.size(); which++)
            if (starts[which] == now) send(which);
        for (const Ack &ack : acks[now]) {
            Flow &flow = flows[ack.flow];
            const double additive = 1 / flow.window, most = std::max(INITIAL, MOST_OF_FLIGHT * flow.flight);
            if (!ack.brakes) flow.window += 1;
            else if (flow.window > LEAST) flow.window = std::max(LEAST, flow.window - 1);
            flow.window = std::min(flow.window + additive, most);
            flow.flight--;
            send(ack.flow);
        }
        acks.erase(now);
    }
    for (const Flow &flow : flows) std::printf("%ld ", flow.left);
    std::printf("\n");
    for (size_t which = 0; which < flows.size(); which++)
        for (const auto &[wait, packets] : flows[which].waits)
            std::printf("%zu %llu %ld\n", which, static_cast<unsigned long long>(wait), packets);
}
