// Flows of ABC through the queue of its authors, in virtual time: `abc TRACE UNTIL_MS ROUND_TRIP_MS START_MS...`.
//
// Prints the packets that each flow got through, then how many milliseconds packets waited and how many did so. The
// queue is that of the authors' Mahimahi, the link gives a packet an opportunity as theirs does, and the sender follows
// section 3.1 of the paper without its second window, as there is no loss.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
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
    long delivered = 0;
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
    if (count < 5) return 2;
    std::vector<uint64_t> schedule;
    std::ifstream trace(words[1]);
    for (uint64_t at; trace >> at;) schedule.push_back(at);
    if (schedule.empty()) return 2;
    const uint64_t until = std::strtoull(words[2], nullptr, 10), round_trip = std::strtoull(words[3], nullptr, 10);
    std::vector<uint64_t> starts;
    for (int word = 4; word < count; word++) starts.push_back(std::strtoull(words[word], nullptr, 10));

    CELLULARPacketQueue queue("packets=1000000,qdelay_ref=50,delta=133");
    std::vector<Flow> flows(starts.size());
    std::map<uint64_t, std::vector<Ack>> acks;
    std::map<uint64_t, long> waits;
    auto send = [&](size_t number) {
        Flow &flow = flows[number];
        for (; flow.flight + 1 <= flow.window; flow.flight++) queue.enqueue(QueuedPacket(packet(number), now));
    };
    uint64_t base = 0;
    for (size_t next = 0; now < until; now++) {
        while (base + schedule[next] <= now) {
            if (++next == schedule.size()) base += schedule.back(), next = 0;
            const bool idle = queue.empty();
            const QueuedPacket sent = queue.dequeue();
            if (idle) continue;
            const auto *header = reinterpret_cast<const iphdr *>(&sent.contents[TUN]);
            acks[now + round_trip].push_back({header->id, (header->tos & IPTOS_ECN_MASK) == IPTOS_ECN_CE});
            flows[header->id].delivered++;
            waits[now - sent.arrival_time]++;
        }
        for (size_t number = 0; number < flows.size(); number++)
            if (starts[number] == now) send(number);
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
    for (const Flow &flow : flows) std::printf("%ld ", flow.delivered);
    std::printf("\n");
    for (const auto &[wait, packets] : waits) std::printf("%llu %ld\n", (unsigned long long)wait, packets);
}
