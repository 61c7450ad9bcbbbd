# Runs the benchmark's workloads in ns-2 (2.35):   ns ns2.tcl KIND RATE FLOWS STOP
#   m         two hosts and two routers, 2.4 Mbit/s down, 196 kbit/s up, drop-tail queues of 50 packets; an upload starts after 120 s
#   d         FLOWS downloads over one bottleneck of RATE bit/s with a drop-tail queue of one bandwidth-delay product
# TCP uses SACK, delayed ACKs and timestamps. The base RTT is 40 ms. Prints the number of data packets that were delivered in order.
# For the best speed, ns-2 uses only the required packet headers, and its splay-tree scheduler.

lassign $argv kind rate flows stop
set mss 1448

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Splay

Agent/TCP set packetSize_ $mss
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 12
Agent/TCP set windowInit_ 10
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink set packetSize_ 52
Agent/TCPSink/DelAck set interval_ 200ms

if {$kind eq "m"} {
    set pairs 1; set down 2.4e6; set up 196e3; set access 100e6; set limit 50
    Agent/TCP set window_ 2896
} else {
    set pairs $flows; set down $rate; set up $rate; set access [expr {10.0 * $rate}]
    set limit [expr {int($rate * 0.040 / 8 / 1500 + 0.5)}]
    # Twice the sum of bandwidth-delay product and buffer, so the window never limits.
    Agent/TCP set window_ [expr {int(4 * $rate * 0.040 / 8 / $mss)}]
}

set isp [$ns node]
set home [$ns node]
$ns simplex-link $isp $home $down 18ms DropTail
$ns simplex-link $home $isp $up 18ms DropTail
$ns queue-limit $isp $home $limit
$ns queue-limit $home $isp $limit
for {set i 0} {$i < $pairs} {incr i} {
    set server($i) [$ns node]
    set client($i) [$ns node]
    foreach {host router} [list $server($i) $isp $client($i) $home] {
        $ns duplex-link $host $router $access 1ms DropTail
        $ns queue-limit $host $router 100000
        $ns queue-limit $router $host 100000
    }
}

set sinks {}
proc transfer {from to start} {
    global ns sinks
    set source [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $source set fid_ [llength $sinks]
    $ns attach-agent $from $source
    $ns attach-agent $to $sink
    $ns connect $source $sink
    set application [new Application/FTP]
    $application attach-agent $source
    $ns at $start "$application start"
    lappend sinks $sink
}
if {$kind eq "m"} {
    transfer $server(0) $client(0) 0.0
    transfer $client(0) $server(0) 120.0
} else {
    for {set i 0} {$i < $pairs} {incr i} { transfer $server($i) $client($i) [expr {0.05 * $i}] }
}

proc finish {} {
    global sinks mss
    set packets 0
    # bytes_ counts whole packets, headers included.
    foreach sink $sinks { incr packets [expr {int([$sink set bytes_] / ($mss + 52))}] }
    puts "packets=$packets"
    exit 0
}
$ns at $stop finish
$ns run
