// Runs the two-way cells of docs/fidelity.md in ns-3: a download, an upload that starts later, and drop-tail FIFOs with limits in
// packets. Prints the goodputs while both flows are active, and the download's mean RTT, for comparison with Linux.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include <iostream>
using namespace ns3;

static double g_rttSum[2] = {0, 0};
static uint64_t g_rttN[2] = {0, 0};
static double g_t0 = 60;
static void Rtt(Time, Time v) { int a = Simulator::Now().GetSeconds() >= g_t0 ? 1 : 0;
    if (a || Simulator::Now().GetSeconds() > 10) { g_rttSum[a] += v.GetMilliSeconds(); g_rttN[a]++; } }
static void Hook(uint32_t node) { Config::ConnectWithoutContext("/NodeList/" + std::to_string(node) + "/$ns3::TcpL4Protocol/SocketList/*/RTT", MakeCallback(&Rtt)); }

int main(int argc, char** argv)
{
    double cd = 2400e3, cu = 196e3, rtt = 0.020, t0 = 60, stop = 150;
    double minRto = 0.2; uint32_t bd = 50, bu = 50; std::string cc = "TcpLinuxReno";
    CommandLine cmd;
    cmd.AddValue("cd", "downlink bit/s", cd); cmd.AddValue("cu", "uplink bit/s", cu); cmd.AddValue("bd", "downlink buffer", bd);
    cmd.AddValue("bu", "uplink buffer", bu); cmd.AddValue("rtt", "base RTT s", rtt); cmd.AddValue("t0", "upload start", t0);
    cmd.AddValue("stop", "end", stop); cmd.AddValue("minRto", "s", minRto); cmd.AddValue("cc", "type", cc); cmd.Parse(argc, argv);
    g_t0 = t0;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4u << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6u << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
    NodeContainer n; n.Create(4); // A R1 R2 B
    InternetStackHelper().Install(n);
    double k = 1502.0 / 1500.0; // a PPP header here, none in the scenario
    auto p2p = [&](uint32_t i, uint32_t j, double ri, double rj, double d, uint32_t qi, uint32_t qj) {
        PointToPointHelper h; h.DisableFlowControl();
        h.SetChannelAttribute("Delay", TimeValue(Seconds(d)));
        h.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, qi)));
        NetDeviceContainer c = h.Install(n.Get(i), n.Get(j));
        c.Get(0)->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(ri))));
        c.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(rj))));
        DynamicCast<PointToPointNetDevice>(c.Get(1))->GetQueue()->SetAttribute("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, qj)));
        return c; };
    Ipv4AddressHelper a;
    a.SetBase("10.0.0.0", "255.255.255.0"); auto i1 = a.Assign(p2p(0, 1, 1e9, 1e9, 0, 100000, 100000));
    a.SetBase("10.0.1.0", "255.255.255.0"); a.Assign(p2p(1, 2, cd * k, cu * k, rtt / 2, bd, bu));
    a.SetBase("10.0.2.0", "255.255.255.0"); auto i3 = a.Assign(p2p(2, 3, 1e9, 1e9, 0, 100000, 100000));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    auto flow = [&](uint32_t from, uint32_t to, Ipv4Address dst, uint16_t port, double start) {
        auto s = PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(n.Get(to));
        s.Start(Seconds(0));
        BulkSendHelper b("ns3::TcpSocketFactory", InetSocketAddress(dst, port)); b.SetAttribute("MaxBytes", UintegerValue(0)); b.SetAttribute("SendSize", UintegerValue(1448));
        b.Install(n.Get(from)).Start(Seconds(start));
        return DynamicCast<PacketSink>(s.Get(0)); };
    auto d = flow(0, 3, i3.GetAddress(1), 5001, 0.5), u = flow(3, 0, i1.GetAddress(0), 5002, t0);
    Simulator::Schedule(Seconds(0.6), &Hook, 0);
    uint64_t d0 = 0, u0 = 0;
    Simulator::Schedule(Seconds(t0), [&] { d0 = d->GetTotalRx(); u0 = u->GetTotalRx(); });
    Simulator::Stop(Seconds(stop)); Simulator::Run();
    double w = stop - t0, gd = (d->GetTotalRx() - d0) * 8 / w / 1e3, gu = (u->GetTotalRx() - u0) * 8 / w / 1e3;
    std::cout << cd / 1e3 << "," << cu / 1e3 << "," << bu << "," << t0 << "," << gd << "," << gu << "," << std::min(gd * 1e3 / cd, gu * 1e3 / cu) << ","
              << (g_rttN[0] ? g_rttSum[0] / g_rttN[0] : 0) << "," << (g_rttN[1] ? g_rttSum[1] / g_rttN[1] : 0) << std::endl;
    Simulator::Destroy();
}
