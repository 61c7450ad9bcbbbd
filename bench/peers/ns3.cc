// Runs the benchmark's workloads in ns-3 (3.37 and later):   ns3 --kind=m|d --rate=BPS --flows=N --stop=S
//   m         two hosts and two routers, 2.4 Mbit/s down, 196 kbit/s up, drop-tail queues of 50 packets; an upload starts after 120 s
//   d         FLOWS downloads over one bottleneck of RATE bit/s with a drop-tail queue of one bandwidth-delay product
// TCP uses SACK, delayed ACKs and timestamps. The base RTT is 40 ms. Prints the number of data packets that were delivered in order.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

constexpr uint32_t kMss = 1448;

static void SetTcp(uint32_t bufferBytes)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

static PointToPointHelper Line(double rate, uint32_t delayMs, uint32_t limit)
{
    PointToPointHelper line;
    line.DisableFlowControl(); // the device's own queue drops; no back-pressure to the IP layer
    line.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    line.SetChannelAttribute("Delay", TimeValue(MilliSeconds(delayMs)));
    line.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
    return line;
}

int main(int argc, char** argv)
{
    std::string kind = "m";
    double rate = 100e6;
    uint32_t flows = 20;
    double stop = 240;
    CommandLine cmd;
    cmd.AddValue("kind", "m or d", kind);
    cmd.AddValue("rate", "bottleneck of d, bit/s", rate);
    cmd.AddValue("flows", "flows of d", flows);
    cmd.AddValue("stop", "end, s", stop);
    cmd.Parse(argc, argv);

    bool isM = kind == "m";
    uint32_t pairs = isM ? 1 : flows;
    // d: twice the sum of bandwidth-delay product and buffer, so the socket buffers never limit the window.
    SetTcp(isM ? 4u << 20 : uint32_t(4 * rate * 0.040 / 8));

    NodeContainer routers, servers, clients;
    routers.Create(2);
    servers.Create(pairs);
    clients.Create(pairs);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(servers);
    stack.Install(clients);

    uint32_t limit = isM ? 50 : uint32_t(rate * 0.040 / 8 / 1500 + 0.5);
    NetDeviceContainer bottleneck = Line(isM ? 2.4e6 : rate, 18, limit).Install(routers.Get(0), routers.Get(1));
    bottleneck.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(isM ? 196e3 : rate))));
    PointToPointHelper access = Line(isM ? 100e6 : 10 * rate, 1, 100000);

    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.252");
    addresses.Assign(bottleneck);
    addresses.SetBase("10.1.0.0", "255.255.255.252");
    std::vector<Ipv4Address> serverAddress, clientAddress;
    for (uint32_t i = 0; i < pairs; i++)
    {
        serverAddress.push_back(addresses.Assign(access.Install(servers.Get(i), routers.Get(0))).GetAddress(0));
        addresses.NewNetwork();
        clientAddress.push_back(addresses.Assign(access.Install(clients.Get(i), routers.Get(1))).GetAddress(0));
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Ptr<PacketSink>> sinks;
    auto transfer = [&](Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, double start) {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receiving = sink.Install(to);
        receiving.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(receiving.Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.SetAttribute("SendSize", UintegerValue(kMss));
        source.Install(from).Start(Seconds(start));
    };
    if (isM)
    {
        transfer(servers.Get(0), clients.Get(0), clientAddress[0], 5001, 0);
        transfer(clients.Get(0), servers.Get(0), serverAddress[0], 5002, 120);
    }
    else
    {
        for (uint32_t i = 0; i < pairs; i++)
        {
            transfer(servers.Get(i), clients.Get(i), clientAddress[i], 5001, 0.05 * i);
        }
    }

    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    uint64_t octets = 0;
    for (const auto& sink : sinks)
    {
        octets += sink->GetTotalRx();
    }
    std::cout << "packets=" << octets / kMss << std::endl;
    Simulator::Destroy();
    return 0;
}
