// Flows of ABC through the queue of its authors, in virtual time: `abc TRACE UNTIL_MS FROM_MS ROUND_TRIP_MS START_MS...`.
//
// Prints how many packets of each flow left after FROM_MS; then, a line each: a flow, a wait in ms, and how many packets
// of the whole run waited so long. The queue is that of the authors' Mahimahi, and the link sends a packet at each
// opportunity as theirs does. The sender follows section 3.1 of the paper; it has neither a timer nor the second
// window, as nothing is lost.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cellular_packet_queue.hh"

static uint64_t now = 0;

// What the queue takes from the rest of Mahimahi.
uint64_t timestamp() { return now; }
long int myatoi(const std::string &text, const int base) { return std::strtol(text.c_str(), nullptr, base); }

constexpr double INITIAL = 10, LEAST = 5, MOST_OF_FLIGHT = 2;
constexpr size_t PACKET = 1504, TUN = 4;

struct Flow {
    double window = INITIAL;
    double flight = 0;
    long left = 0;
    std::map<uint64_t, long> waits;
};

struct Ack {
    size_t flow;
    bool brakes;
};

static std::string packet(size_t flow) {
    std::string bytes(PACKET, '\0');
    auto *header = reinterpret_cast<iphdr *>(&bytes[TUN]);
    header->ihl = sizeof(iphdr) / 4;
    header->tos = IPTOS_ECN_ECT1;
    header->id = static_cast<uint16_t>(flow);
    return bytes;
}

int main(int count, char **words) {
    std::vector<uint64_t> schedule, starts;
    std::ifstream trace(count > 1 ? words[1] : "");
    for (uint64_t at; trace >> at;) schedule.push_back(at);
    if (count < 6 || schedule.empty() || schedule.back() == 0 || !std::is_sorted(schedule.begin(), schedule.end())) {
        std::fprintf(stderr, "needs TRACE UNTIL_MS FROM_MS ROUND_TRIP_MS START_MS..., and the trace in order\n");
        return 2;
    }
    auto number = [&](int word) { return std::strtoull(words[word], nullptr, 10); };
    const uint64_t until = number(2), from = number(3), round_trip = number(4);
    for (int word = 5; word < count; word++) starts.push_back(number(word));

    CELLULARPacketQueue queue("packets=1000000,qdelay_ref=50,delta=133");
    std::vector<Flow> flows(starts.size());
    std::map<uint64_t, std::vector<Ack>> acks;
    auto send = [&](size_t which) {
        Flow &flow = flows[which];
        for (; flow.flight + 1 <= flow.window; flow.flight++) queue.enqueue(QueuedPacket(packet(which), now));
    };
    uint64_t base = 0;
    for (size_t next = 0; now < until; now++) {
        while (base + schedule[next] <= now) {
            if (++next == schedule.size()) {
                base += schedule.back();
                next = 0;
            }
            const bool idle = queue.empty();
            const QueuedPacket sent = queue.dequeue();
            if (idle) continue;
            const auto *header = reinterpret_cast<const iphdr *>(&sent.contents[TUN]);
            acks[now + round_trip].push_back({header->id, (header->tos & IPTOS_ECN_MASK) == IPTOS_ECN_CE});
            flows[header->id].waits[now - sent.arrival_time]++;
            flows[header->id].left += now >= from;
        }
        for (size_t which = 0; which < flows.size(); which++)
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
