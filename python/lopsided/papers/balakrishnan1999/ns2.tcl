# Runs one cell of balakrishnan1999's Hybrid network with the authors' classes, as in Debian's ns-2.35:
#   ns ns2.tcl -scheme reno|acc_sa|af_sa|af_ar|af -rate BPS -ack BYTES -delay MS -window PACKETS -edge N -down N
#              -upload S -stop S -burst PACKETS -seed N -trace FILE
# The network consists of a server, two routers and a client. The forward direction has 10 Mbit/s and 5 ms. The options set the
# rate and the delay of the return direction, and the size of ACKs. Queues store one packet less than their limit. The script
# runs for 50 s and prints one line of key=value pairs. With -trace FILE, it writes the packets that the server sends and
# receives.
#
# Debian's ns-2.35 does not mark ACKs (only packets with ECN capability), and never starts the burst timer. Therefore, acc_sa
# and af_sa do not run as the authors intended.

array set o {scheme reno rate 28800 ack 6 delay 50 window 100 edge 20 down 20 back 10 upload 0 stop 50 burst 4 seed 1
    trace {}}
foreach {key value} $argv { set o([string range $key 1 end]) $value }

# TCP of 1998: no SYN, an initial window of one packet, ticks of 100 ms.
foreach {name value} [list syn_ false delay_growth_ false windowInit_ 1 windowInitOption_ 1 singledup_ 0 \
        useHeaders_ false tcpTick_ 0.1 minrto_ 0 rfc2988_ false packetSize_ 1000 window_ $o(window) maxcwnd_ $o(window) \
        ecn_ 0] {
    Agent/TCP set $name $value
}
Agent/TCPSink set packetSize_ $o(ack)
# Set the variables that ns-2 binds without a default.
foreach {name value} {delack_ 2 deltaAckThresh_ 2 alpha_ 0.25 ackInterArr_ 0.01 ackSpacing_ 0.01 adaptive_ 1 size_ 1000
        lastTime_ 0 lastAck_ 0 lastRealTime_ 0 lastRealAck_ 0} {
    Agent/AckReconsClass set $name $value
}
Agent/TCPSink/Asym set maxdelack_ 25
# use_mark_p_ was added in 2005. Without it, RED drops the arriving packet above the upper threshold, and not a random packet.
foreach {name value} {setbit_ true drop_tail_ false thresh_ 1.5 maxthresh_ 6 q_weight_ 0.01 wait_ false linterm_ 10
        gentle_ false bytes_ false queue_in_bytes_ false use_mark_p_ false} {
    Queue/RED set $name $value
}
foreach name {acksfirst_ filteracks_ replace_head_ priority_drop_ random_drop_ random_ecn_ reconsAcks_} {
    PacketQueue/Semantic set $name false
}

ns-random $o(seed)
set ns [new Simulator]
foreach node {server left right client} { set $node [$ns node] }
$ns simplex-link $left $right 10Mb 5ms DropTail
set marks [expr {$o(scheme) eq "acc_sa"}]
$ns simplex-link $right $left $o(rate) [expr {$o(delay) / 1000.0}] [expr {$marks ? "RED/Semantic" : "DropTail"}]
$ns duplex-link $server $left 10Mb 1ms DropTail
$ns duplex-link $right $client 10Mb 1ms DropTail
foreach {a b} [list $server $left $left $server $right $client $client $right] { $ns queue-limit $a $b $o(edge) }
$ns queue-limit $left $right $o(down)
$ns queue-limit $right $left $o(back)
proc semantic {from to} {
    global ns
    set packets [new PacketQueue/Semantic]
    [[$ns link $from $to] queue] packetqueue-attach $packets
    return $packets
}
if {[string match af* $o(scheme)]} { [semantic $right $left] set filteracks_ true }
if {$marks} { [semantic $right $left] set random_drop_ true }
if {$o(scheme) eq "af_ar"} {
    set rebuilder [new AckReconsControllerClass]
    $rebuilder set queue_ [[$ns link $left $server] queue]
    set packets [semantic $left $server]
    $packets set reconsAcks_ 1
    $packets ackrecons $rebuilder
}

# Use agents that limit bursts and whose windows grow by acknowledged data, and a sink that receives marks.
set adapted [string match *_sa $o(scheme)]
foreach {name from to} [list down $server $client up $client $server] {
    set tcp($name) [new [expr {$adapted ? "Agent/TCP/Reno/Asym" : "Agent/TCP/Reno"}]]
    if {$adapted} { $tcp($name) set maxburst_ $o(burst); $tcp($name) set g_ 0.125 }
    set sink($name) [new [expr {$marks ? "Agent/TCPSink/Asym" : "Agent/TCPSink"}]]
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
    $ns at $o(upload) { foreach name {down up} { set before($name) [came $name] } }
}

if {$o(trace) ne ""} {
    set written [open $o(trace) w]
    $ns trace-queue $server $left $written
    $ns trace-queue $left $server $written
}

# Returns the delivered bytes. The sink that receives marks counts no bytes, so use the bytes that are acknowledged at the
# sender, which are almost all delivered bytes.
proc came {name} {
    global marks tcp sink
    expr {$marks ? ([$tcp($name) set ack_] + 1) * 1000 : [$sink($name) set bytes_]}
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
    global o before windows samples monitor written
    if {[info exists written]} { close $written }
    foreach name {down up} {
        puts -nonewline "${name}_bps=[expr {([came $name] - $before($name)) * 8 / ($o(stop) - $o(upload))}] "
    }
    set gone [$monitor set pdepartures_]
    puts "window=[expr {$windows / $samples}] delivered=$gone dropped=[$monitor set pdrops_] arrived=[$monitor set parrivals_]"
    exit 0
}
$ns at $o(stop) finish
$ns run
