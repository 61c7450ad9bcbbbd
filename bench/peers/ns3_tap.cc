// Runs ns-3 (3.37 and later) in real time between two TAP devices in network namespaces:   ns3_tap ROOM_A ROOM_B RATE_BPS
//
//   g++ -O2 -std=c++17 ns3_tap.cc -o ns3_tap -lns3-fd-net-device -lns3-csma -lns3-bridge -lns3-network -lns3-core -Wl,--allow-shlib-undefined
//
// The path consists of two bridges, and a CSMA channel between them with this rate and a drop-tail queue of 1,000 packets. The program
// opens the devices itself and passes them to FdNetDevice. It does not use ns-3's TapBridge, because Debian's package lacks the helper
// program of TapBridge. The devices are named ns3tap, have no address, and disappear when the program ends. Prints "up" at the start.
#include "ns3/bridge-helper.h"
#include "ns3/core-module.h"
#include "ns3/csma-helper.h"
#include "ns3/fd-net-device.h"
#include "ns3/network-module.h"

#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace ns3;

static int OpenTap(const std::string& room)
{
    int space = open(("/run/netns/" + room).c_str(), O_RDONLY);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
    {
        std::cerr << "no room " << room << std::endl;
        exit(1);
    }
    close(space);
    int device = open("/dev/net/tun", O_RDWR);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strcpy(request.ifr_name, "ns3tap");
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0)
    {
        std::cerr << "no TAP device in " << room << std::endl;
        exit(1);
    }
    return device;
}

int main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::cerr << "ns3_tap ROOM_A ROOM_B RATE_BPS" << std::endl;
        return 2;
    }
    GlobalValue::Bind("SimulatorImplementationType", StringValue("ns3::RealtimeSimulatorImpl"));
    NodeContainer nodes(2);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", DataRateValue(DataRate(uint64_t(std::stod(argv[3])))));
    csma.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    csma.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    NetDeviceContainer line = csma.Install(nodes);
    for (uint32_t end = 0; end < 2; ++end)
    {
        Ptr<FdNetDevice> outside = CreateObject<FdNetDevice>();
        outside->SetAddress(Mac48Address::Allocate());
        outside->SetFileDescriptor(OpenTap(argv[1 + end]));
        nodes.Get(end)->AddDevice(outside);
        NetDeviceContainer ports;
        ports.Add(outside);
        ports.Add(line.Get(end));
        BridgeHelper().Install(nodes.Get(end), ports);
        outside->Start(Seconds(0));
    }
    std::cout << "up" << std::endl;
    Simulator::Run();
}
