// Flows of Prague and of CUBIC over one DualPI2, in virtual time:
// `dualpi2 QUEUE PRAGUE SEED UNTIL_MS FROM_MS SAMPLE_MS MBPS ROUND_TRIP_MS FLOWS_OF_PRAGUE FLOWS_OF_CUBIC`.
//
// QUEUE and PRAGUE are shared libraries that export the functions of `dualpi2.h`. The program prints the packets that
// left, were marked and were dropped after FROM_MS: first for Prague, then for CUBIC. Then it prints a line for each
// sample and flow: bytes delivered, ACKs, and the sum of their round-trip times in us.
//
// CUBIC follows RFC 9438, with the recovery of RFC 6675. Lost packets are not retransmitted. New packets are sent
// instead. Prague sends like the sender of udp_prague.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "dualpi2.h"
#include "library.h"

constexpr uint64_t MS = 1'000'000, SECOND = 1000 * MS;
constexpr uint32_t PACKET = 1500;

static uint64_t now = 0;

struct Event {
    uint64_t at, order;
    std::function<void()> what;
    bool operator<(const Event &other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
};
static std::priority_queue<Event> events;

static void at(uint64_t time, std::function<void()> what) {
    static uint64_t order = 0;
    events.push({time, order++, std::move(what)});
}

// Functions of the libraries.
static decltype(&::queue_new) make_queue;
static decltype(&::queue_put) put;
static decltype(&::queue_take) take;
static decltype(&::queue_dropped) dropped;
static decltype(&::queue_due) due;
static decltype(&::queue_update) update;
static decltype(&::prague_new) make_prague;
static decltype(&::prague_pace) pace_of;
static decltype(&::prague_stamp) stamp;
static decltype(&::prague_receive) receive;
static decltype(&::prague_hear) hear;
static decltype(&::prague_reset) reset;

static void load(const char *queue, const char *prague) {
    void *library = dlopen(queue, RTLD_NOW);
    find(library, "queue_new", make_queue);
    find(library, "queue_put", put);
    find(library, "queue_take", take);
    find(library, "queue_dropped", dropped);
    find(library, "queue_due", due);
    find(library, "queue_update", update);
    library = dlopen(prague, RTLD_NOW);
    find(library, "prague_new", make_prague);
    find(library, "prague_pace", pace_of);
    find(library, "prague_stamp", stamp);
    find(library, "prague_receive", receive);
    find(library, "prague_hear", hear);
    find(library, "prague_reset", reset);
}

struct Sample {
    long bytes = 0, acks = 0, round_trips = 0;
};

struct Counts {
    long left = 0, marked = 0, dropped = 0;
};

// Times of a run, ns, and counters. The counters start at `from`.
struct Run {
    uint64_t until, from, sample, round_trip;
    Counts prague, cubic;
    bool counts() const { return now >= from; }
};

struct Flow {
    std::vector<Sample> samples;
    Run &run;
    explicit Flow(Run &of) : samples((of.until - of.from) / of.sample), run(of) {}
    virtual ~Flow() = default;
    virtual void start() = 0;
    // Handles a packet that reaches the receiver. The ACK reaches the sender half a round trip later.
    virtual void arrive(const Packet &packet) = 0;

    Sample &sample() {
        static Sample early;
        return run.counts() ? samples[std::min<size_t>((now - run.from) / run.sample, samples.size() - 1)] : early;
    }
    void heard(uint64_t sent) {
        sample().acks++;
        sample().round_trips += static_cast<long>((now - sent) / 1000);
    }
};

// Link behind the queue.
struct Line {
    void *queue;
    double ns_per_byte;
    Run &run;
    std::vector<std::unique_ptr<Flow>> flows;
    size_t pragues = 0;
    bool busy = false;

    Counts &counts(const Packet &packet) { return packet.flow < pragues ? run.prague : run.cubic; }

    void send(const Packet &packet) {
        put(queue, now, &packet);
        if (!busy) next();
        lose();
    }
    void next() {
        Packet packet;
        busy = take(queue, now, &packet) != 0;
        lose();
        if (!busy) return;
        at(now + static_cast<uint64_t>(packet.bytes * ns_per_byte), [this, packet] {
            counts(packet).left += run.counts();
            counts(packet).marked += run.counts() && packet.ecn == 3;
            at(now + run.round_trip / 2, [this, packet] {
                flows[packet.flow]->sample().bytes += packet.bytes;
                flows[packet.flow]->arrive(packet);
            });
            next();
        });
    }
    void lose() {
        for (Packet packet; dropped(queue, &packet);) counts(packet).dropped += run.counts();
    }
    void control() {
        at(due(queue), [this] {
            update(queue, now);
            control();
        });
    }
};

// Sender loop of udp_prague, with its congestion control from the library.
struct Prague : Flow {
    Line &line;
    uint32_t name;
    void *control;
    Pace pace{};
    int32_t sent = 0, flight = 0, next = 0;
    long reports = 0;
    uint64_t waiting = 0;
    std::deque<std::pair<int32_t, int32_t>> stamps;

    Prague(Run &of, Line &over, uint32_t number) : Flow(of), line(over), name(number), control(make_prague(1, PACKET)) {}
    static int32_t clock() { return static_cast<int32_t>(now / 1000 + 1); }

    void start() override {
        next = clock();
        prepare();
        go();
    }
    void prepare() { pace_of(control, clock(), &pace); }
    void go() {
        int32_t burst = 0;
        for (; flight < pace.window && burst < pace.burst && next <= clock(); burst++, flight++) {
            stamps.emplace_back();
            stamp(control, clock(), &stamps.back().first, &stamps.back().second);
            line.send({static_cast<uint64_t>(++sent), name, static_cast<uint32_t>(pace.bytes), 1});
        }
        if (burst) next = clock() + std::max<int32_t>(1, static_cast<int32_t>(pace.bytes * burst * 1'000'000 / pace.rate));
        const uint64_t wake = (static_cast<uint64_t>(next) - 1) * 1000;
        if (flight < pace.window && wake > now && wake != waiting) {
            waiting = wake;
            at(wake, [this] { go(); });
        }
        if (flight >= pace.window) at(now + SECOND, [this, last = reports] { give_up(last); });
    }
    void give_up(long last) {
        if (reports != last || flight < pace.window) return;
        reset(control, clock());
        flight = 0;
        next = clock();
        prepare();
        go();
    }
    void arrive(const Packet &packet) override {
        Report report;
        const auto number = static_cast<int32_t>(packet.number);
        const auto [stamped, echo] = stamps[packet.number - 1];
        receive(control, clock(), stamped, echo, number, packet.ecn, &report);
        at(now + run.round_trip / 2, [this, report, stamped = stamped] {
            heard((static_cast<uint64_t>(stamped) - 1) * 1000);
            reports++;
            flight = hear(control, clock(), &report, sent);
            prepare();
            go();
        });
    }
};

// CUBIC of RFC 9438, in packets and seconds.
struct Cubic : Flow {
    static constexpr double C = 0.4, BETA = 0.7, ALPHA = 3 * (1 - BETA) / (1 + BETA), FASTEST = 1.5;
    static constexpr int REORDERING = 3;
    struct Sent {
        uint64_t number, at;
        int later = 0;  // number of acknowledged packets that were sent later
    };
    Line &line;
    uint32_t name;
    double window = 2, threshold = 50;
    double most = 0, prior = 0, epoch = -1, k = 0, origin = 0, reno = 0;
    double smooth = 0, deviation = 0, backoff = 1;
    uint64_t next = 0, cut = 0, recovered = 0, timers = 0;
    std::deque<Sent> flight;

    Cubic(Run &of, Line &over, uint32_t number) : Flow(of), line(over), name(number) {}
    void start() override { go(); }

    void go() {
        const bool idle = flight.empty();
        while (flight.size() < std::max<size_t>(1, static_cast<size_t>(window))) {
            flight.push_back({next, now});
            line.send({next++, name, PACKET, 0});
        }
        if (idle) set_timer();
    }
    void set_timer() {
        const double seconds = smooth ? std::max(0.2, smooth + 4 * deviation) : 1;
        at(now + static_cast<uint64_t>(seconds * backoff * 1e9), [this, timer = ++timers] {
            if (timer == timers) time_out();
        });
    }
    void time_out() {
        if (backoff == 1) threshold = std::max(2.0, window * BETA);
        prior = window;
        window = 1;
        most = 0;
        epoch = -1;
        backoff *= 2;
        cut = recovered = next;
        flight.clear();
        go();
    }
    void arrive(const Packet &packet) override {
        at(now + run.round_trip / 2, [this, number = packet.number] { acknowledge(number); });
    }
    void acknowledge(uint64_t number) {
        const auto which = std::find_if(flight.begin(), flight.end(), [&](auto &sent) { return sent.number == number; });
        if (which == flight.end()) return;  // this ACK arrived after a timeout
        heard(which->at);
        const double round_trip = (now - which->at) * 1e-9;
        deviation = smooth ? deviation + (std::abs(smooth - round_trip) - deviation) / 4 : round_trip / 2;
        smooth = smooth ? smooth + (round_trip - smooth) / 8 : round_trip;
        backoff = 1;
        for (auto each = flight.begin(); each != which; ++each) each->later++;
        flight.erase(which);
        const bool whole = flight.empty() || flight.front().number > number;
        while (!flight.empty() && flight.front().later >= REORDERING) {
            if (flight.front().number >= cut) reduce();
            recovered = next;
            flight.pop_front();
        }
        if (whole && number >= recovered) grow();
        set_timer();
        go();
    }
    void reduce() {
        most = window <= most - 1 ? window * (1 + BETA) / 2 : window;
        prior = window;
        epoch = -1;
        window = threshold = std::max(2.0, window * BETA);
        cut = next;
    }
    void grow() {
        if (window < threshold) {
            window = std::min(window + 1, threshold);
            return;
        }
        const double seconds = now * 1e-9;
        if (epoch < 0) {
            epoch = seconds;
            k = std::cbrt(std::max(0.0, most - window) / C);
            origin = std::max(most, window);
            reno = window;
        }
        const auto curve = [&](double t) { return C * std::pow(t - k, 3) + origin; };
        reno += (reno < prior ? ALPHA : 1) / window;
        if (curve(seconds - epoch) < reno) {
            window = std::max(window, reno);
        } else {
            const double target = std::clamp(curve(seconds - epoch + smooth), window, FASTEST * window);
            window += (target - window) / window;
        }
    }
};

static void print(const Run &run, const Line &line) {
    for (const Counts &side : {run.prague, run.cubic}) std::printf("%ld %ld %ld\n", side.left, side.marked, side.dropped);
    for (size_t which = 0; which < line.flows[0]->samples.size(); which++)
        for (const auto &flow : line.flows) {
            const Sample &sample = flow->samples[which];
            std::printf("%ld %ld %ld\n", sample.bytes, sample.acks, sample.round_trips);
        }
}

int main(int count, char **words) {
    if (count != 11) {
        std::fprintf(stderr, "needs QUEUE PRAGUE SEED UNTIL_MS FROM_MS SAMPLE_MS MBPS ROUND_TRIP_MS FLOWS FLOWS\n");
        return 2;
    }
    load(words[1], words[2]);
    const auto number = [&](int word) { return std::strtoull(words[word], nullptr, 10); };
    Run run{number(4) * MS, number(5) * MS, number(6) * MS, number(8) * MS, {}, {}};
    Line line{make_queue(0, number(3)), 8000.0 / static_cast<double>(number(7)), run, {}, number(9), false};
    const uint64_t flows = number(9) + number(10);
    for (uint32_t name = 0; name < flows; name++) {
        const bool prague = name < line.pragues;
        if (prague) line.flows.push_back(std::make_unique<Prague>(run, line, name));
        else line.flows.push_back(std::make_unique<Cubic>(run, line, name));
        const uint64_t start = prague ? 100 * name : 100 * (name - line.pragues) + 50;
        at(start * MS, [&line, name] { line.flows[name]->start(); });
    }
    line.control();
    for (; !events.empty() && events.top().at < run.until;) {
        const Event event = events.top();
        events.pop();
        now = event.at;
        event.what();
    }
    print(run, line);
}
