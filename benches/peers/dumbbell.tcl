# The dumbbell of `make bench` in ns-2, for comparison:
#   ns dumbbell.tcl MBPS FLOWS SECONDS sack|xcp ?SSTHRESH?
# s_i --(10 C, 5 ms)-- R0 --(C, 15 ms, one BDP)-- R1 --(10 C, 5 ms)-- d_i
# Packets have 1000 bytes, and each is acknowledged. Prints four numbers: the packet-hops (three links for data, three
# for ACKs), the packets that left the bottleneck, the packets dropped there, and its mean queue in bytes.
lassign $argv mbps flows seconds agent ssthresh
set xcp [expr {$agent eq "xcp"}]
remove-all-packet-headers
foreach header [expr {$xcp ? {IP TCP Flags XCP} : {IP TCP Flags}}] { add-packet-header $header }
set sim [new Simulator]
set bdp [expr int($mbps * 1e6 * 0.05 / 8000)]
foreach {name value} "packetSize_ 960 window_ 1000000 maxcwnd_ 1000000 windowInit_ 10 overhead_ 0 minrto_ 0.2" {
    Agent/TCP set $name $value
}
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right ${mbps}Mb 15ms [expr {$xcp ? "XCP" : "DropTail"}]
foreach {a b limit} [list $left $right $bdp $right $left 100000] {
    $sim queue-limit $a $b $limit
    if {$xcp} { [[$sim link $a $b] queue] set-link-capacity [expr $mbps * 1e6] }
}
set bottleneck [$sim monitor-queue $left $right ""]
for {set i 0} {$i < $flows} {incr i} {
    set from [$sim node]
    set to [$sim node]
    foreach {a b} [list $from $left $right $to] {
        $sim duplex-link $a $b [expr 10 * $mbps]Mb 5ms DropTail
        $sim queue-limit $a $b 100000
        $sim queue-limit $b $a 100000
    }
    set sender($i) [new Agent/TCP/[expr {$xcp ? "Reno/XCP" : "Sack1"}]]
    set receiver [new Agent/TCPSink/[expr {$xcp ? "XCPSink" : "Sack1"}]]
    $sim attach-agent $from $sender($i)
    $sim attach-agent $to $receiver
    $sim connect $sender($i) $receiver
    set source [new Application/FTP]
    $source attach-agent $sender($i)
    $sim at [expr 0.01 + 0.1 * $i / $flows] "$source start"
    if {$ssthresh ne ""} { $sim at [expr 0.011 + 0.1 * $i / $flows] "$sender($i) set ssthresh_ $ssthresh" }
}
proc finish {} {
    global bottleneck sender flows seconds
    set sent 0
    for {set i 0} {$i < $flows} {incr i} { incr sent [$sender($i) set ndatapack_] }
    set left [$bottleneck set pdepartures_]
    set sum [[$bottleneck get-bytes-integrator] set sum_]
    puts "[expr {$sent + 5 * $left}] $left [$bottleneck set pdrops_] [expr {$sum / $seconds}]"
    exit 0
}
$sim at $seconds finish
$sim run
