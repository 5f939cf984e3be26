"""TCP laws and queue disciplines over a dumbbell in ns-3, for `python -m experiments.peers`.

Reads cases as JSON lines and prints the measurements as JSON lines.

Needs the package `ns3` from PyPI: `pip install ns3` in an environment of its own.
"""

import json
import sys

import cppyy
from ns import ns

PAYLOAD = 1000  # bytes of data in a packet; 42 more on the wire: PPP, IP, TCP

# Sampling from Python would take longer than the simulation.
cppyy.cppdef("""
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

namespace levelflow {
using namespace ns3;

void NewWindow(double* window, uint32_t, uint32_t bytes) { *window = bytes; }

struct Watch {
    ApplicationContainer senders, sinks;
    Ptr<Queue<Packet>> queue;
    Ptr<QueueDisc> disc;
    std::vector<double> window, windows, received;
    double waiting = 0, samples = 0, arrived = 0, dropped = 0, marked = 0;

    // Traces the window of a flow, from just after its start.
    void Follow(uint32_t i) {
        auto socket = DynamicCast<BulkSendApplication>(senders.Get(i))->GetSocket();
        socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&NewWindow, &window[i]));
    }
    void Run(std::vector<double> starts, double from, double to, double step) {
        window.assign(starts.size(), 0);
        windows.assign(starts.size(), 0);
        for (uint32_t i = 0; i < starts.size(); i++)
            Simulator::Schedule(Seconds(starts[i]) + NanoSeconds(1), &Watch::Follow, this, i);
        Simulator::Schedule(Seconds(from), &Watch::Begin, this, Seconds(step));
        Simulator::Stop(Seconds(to));
        Simulator::Run();
        Count(1);
    }
    void Begin(Time step) {
        received.assign(window.size(), 0);
        Count(-1);
        Sample(step);
    }
    void Sample(Time step) {
        for (uint32_t i = 0; i < window.size(); i++) windows[i] += window[i];
        waiting += queue->GetNPackets() + (disc ? disc->GetNPackets() : 0);
        samples++;
        Simulator::Schedule(step, &Watch::Sample, this, step);
    }
    // Adds the counters to the results, or subtracts them.
    void Count(double sign) {
        for (uint32_t i = 0; i < sinks.GetN(); i++)
            received[i] += sign * DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
        if (disc) {
            auto stats = disc->GetStats();
            arrived += sign * stats.nTotalReceivedPackets;
            dropped += sign * stats.nTotalDroppedPackets;
            marked += sign * stats.nTotalMarkedPackets;
        } else {
            arrived += sign * (queue->GetTotalReceivedPackets() + queue->GetTotalDroppedPackets());
            dropped += sign * queue->GetTotalDroppedPackets();
        }
    }
};
}
""")


def link(a, b, mbps, delay_s, packets, net, address, queue_disc=False):
    """Connects two nodes; the queue at each end holds `packets`. Returns the devices and their addresses."""
    helper = ns.PointToPointHelper()
    if not queue_disc:
        helper.DisableFlowControl()  # otherwise ns-3 installs FqCoDel in front of the queue
    helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{round(mbps * 1e6)}bps"))
    helper.SetChannelAttribute("Delay", ns.StringValue(f"{round(delay_s * 1e9)}ns"))
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.QueueSizeValue(ns.QueueSize(f"{packets}p")))
    devices = helper.Install(a, b)
    address.SetBase(ns.Ipv4Address(net), ns.Ipv4Mask("255.255.255.0"))
    return devices, address.Assign(devices)


def defaults(case):
    """Sets ns-3's TCP to Levelflow's defaults, except where the law or its paper differs."""
    values = {
        "ns3::TcpSocket::SegmentSize": PAYLOAD,
        "ns3::TcpSocket::SndBufSize": 1 << 24,
        "ns3::TcpSocket::RcvBufSize": 1 << 24,
        "ns3::TcpSocket::DelAckCount": 1,
        "ns3::TcpSocket::InitialCwnd": 2,
        "ns3::TcpSocket::InitialSlowStartThreshold": case["ssthresh"] * PAYLOAD,
        "ns3::TcpSocketBase::MinRto": "200ms",
        "ns3::TcpSocketBase::Timestamp": "false",  # time stamps have a resolution of 1 ms
        "ns3::TcpL4Protocol::SocketType": f"ns3::{case['type']}",
        "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpClassicRecovery",
        **case["attributes"],
    }
    for name, value in values.items():
        ns.Config.SetDefault(name, ns.StringValue(str(value)))


def run(case):
    """Simulates one case; returns its measurements."""
    defaults(case)
    ns.Ipv4AddressGenerator.Reset()
    flows = len(case["starts"])
    routers, sources, sinks = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    routers.Create(2)
    sources.Create(flows)
    sinks.Create(flows)
    ns.InternetStackHelper().InstallAll()
    address = ns.Ipv4AddressHelper()
    mbps, queue = case["mbps"], case["queue"]
    buffer = 1 if queue else case["buffer"]
    bottleneck = (mbps, case["delay_s"], buffer, "10.0.0.0", address, queue is not None)
    devices, _ = link(routers.Get(0), routers.Get(1), *bottleneck)
    watch = cppyy.gbl.levelflow.Watch()
    if queue:
        helper = ns.TrafficControlHelper()
        helper.Uninstall(devices)
        for name, value in {f"{queue['type']}::MaxSize": f"{case['buffer']}p", **queue["attributes"]}.items():
            ns.Config.SetDefault(name, ns.StringValue(str(value)))
        helper.SetRootQueueDisc(queue["type"])
        watch.disc = helper.Install(devices).Get(0)
    watch.queue = devices.Get(0).GetQueue()
    for i, start in enumerate(case["starts"]):
        link(sources.Get(i), routers.Get(0), 10 * mbps, case["access_s"], 100_000, f"10.1.{i + 1}.0", address)
        _, ends = link(routers.Get(1), sinks.Get(i), 10 * mbps, case["access_s"], 100_000, f"10.2.{i + 1}.0", address)
        to = ns.InetSocketAddress(ends.GetAddress(1), 5000).ConvertTo()
        sender = ns.BulkSendHelper("ns3::TcpSocketFactory", to)
        sender.SetAttribute("MaxBytes", ns.UintegerValue(0))
        senders = sender.Install(sources.Get(i))
        senders.Start(ns.Seconds(start))
        watch.senders.Add(senders)
        anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 5000).ConvertTo()
        watch.sinks.Add(ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere).Install(sinks.Get(i)))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    watch.Run(case["starts"], case["from_s"], case["to_s"], case["sample_s"])
    seconds = case["to_s"] - case["from_s"]
    found = {
        "flows": [received / PAYLOAD / seconds for received in watch.received],
        "window": sum(watch.windows) / PAYLOAD / watch.samples,
        "queue": watch.waiting / watch.samples,
        "loss": watch.dropped / watch.arrived,
        "marked": watch.marked / watch.arrived,
    }
    ns.Simulator.Destroy()
    return found


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
