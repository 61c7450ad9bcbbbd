# One cell of balakrishnan1999's Hybrid network with its authors' classes, as the ns-2.35 of Debian has them:
#   ns ns2.tcl -scheme reno|af -rate BPS -ack BYTES -delay MS -window PACKETS -edge N -down N -upload S
# Server, two routers, client; 10 Mbit/s and 5 ms forward, the rate and delay back, ACKs of so many octets. Queues hold one
# packet less than their limit. Runs for 50 s and prints one line of key=value pairs.

array set o {scheme reno rate 28800 ack 6 delay 50 window 100 edge 20 down 20 back 10 upload 0 stop 50}
foreach {key value} $argv { set o([string range $key 1 end]) $value }

# TCP as it was in 1998: no SYN, a window of one packet at first, ticks of 100 ms.
foreach {name value} [list syn_ false delay_growth_ false windowInit_ 1 windowInitOption_ 1 singledup_ 0 useHeaders_ false \
        tcpTick_ 0.1 minrto_ 0 rfc2988_ false packetSize_ 1000 window_ $o(window) maxcwnd_ $o(window) ecn_ 0] {
    Agent/TCP set $name $value
}
Agent/TCPSink set packetSize_ $o(ack)
foreach name {acksfirst_ filteracks_ replace_head_ priority_drop_ random_drop_ random_ecn_ reconsAcks_} {
    PacketQueue/Semantic set $name false
}

set ns [new Simulator]
foreach node {server left right client} { set $node [$ns node] }
$ns simplex-link $left $right 10Mb 5ms DropTail
$ns simplex-link $right $left $o(rate) [expr {$o(delay) / 1000.0}] DropTail
$ns duplex-link $server $left 10Mb 1ms DropTail
$ns duplex-link $right $client 10Mb 1ms DropTail
foreach {a b} [list $server $left $left $server $right $client $client $right] { $ns queue-limit $a $b $o(edge) }
$ns queue-limit $left $right $o(down)
$ns queue-limit $right $left $o(back)
if {$o(scheme) eq "af"} {
    set packets [new PacketQueue/Semantic]
    [[$ns link $right $left] queue] packetqueue-attach $packets
    $packets set filteracks_ true
}

foreach {name from to} [list down $server $client up $client $server] {
    set tcp($name) [new Agent/TCP/Reno]
    set sink($name) [new Agent/TCPSink]
    $ns attach-agent $from $tcp($name)
    $ns attach-agent $to $sink($name)
    $ns connect $tcp($name) $sink($name)
    set ftp($name) [new Application/FTP]
    $ftp($name) attach-agent $tcp($name)
    set before($name) 0
}
$ns at 0.0 "$ftp(down) start"
if {$o(upload) > 0} {
    $ns at $o(upload) "$ftp(up) start"
    $ns at $o(upload) { foreach name {down up} { set before($name) [$sink($name) set bytes_] } }
}

set windows 0.0
set samples 0
proc sample {} {
    global ns tcp windows samples o
    set windows [expr {$windows + min([$tcp(down) set cwnd_], $o(window))}]
    incr samples
    $ns at [expr {[$ns now] + 0.01}] sample
}
$ns at 0.01 sample
set monitor [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $right $left] $monitor

proc finish {} {
    global o sink before windows samples monitor
    foreach name {down up} {
        puts -nonewline "${name}_bps=[expr {([$sink($name) set bytes_] - $before($name)) * 8 / ($o(stop) - $o(upload))}] "
    }
    set gone [$monitor set pdepartures_]
    puts "window=[expr {$windows / $samples}] delivered=$gone dropped=[$monitor set pdrops_] arrived=[$monitor set parrivals_]"
    exit 0
}
$ns at $o(stop) finish
$ns run
