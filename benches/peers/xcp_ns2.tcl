# Topology T1 under XCP in ns-2, for `python -m experiments.peers xcp`:
#   ns xcp_ns2.tcl SEED SECONDS ACCESS_LAW DELAY1 DELAY2
# ACCESS_LAW is DropTail or XCP. At each full second, the script prints the acknowledged packets of each flow and the
# queued packets at R1.
lassign $argv seed seconds law delay1 delay2
ns-random $seed
remove-all-packet-headers
foreach header {IP TCP Flags XCP} { add-packet-header $header }
set sim [new Simulator]
foreach {name value} {packetSize_ 1000 window_ 100000 maxcwnd_ 100000 overhead_ 0 minrto_ 0.2} {
    Agent/TCP set $name $value
}
set left [$sim node]
set right [$sim node]
proc connect {a b mbps delay law} {
    global sim
    $sim duplex-link $a $b ${mbps}Mb $delay $law
    foreach {from to} [list $a $b $b $a] {
        $sim queue-limit $from $to 2525
        if {$law eq "XCP"} { [[$sim link $from $to] queue] set-link-capacity [expr $mbps * 1e6] }
    }
}
connect $left $right 10 10ms XCP
set bottleneck [$sim monitor-queue $left $right ""]
set senders {}
foreach delay [list $delay1 $delay2] start {0.01 5} {
    set source [$sim node]
    connect $source $left 100 $delay $law
    set sender [new Agent/TCP/Reno/XCP]
    set receiver [new Agent/TCPSink/XCPSink]
    $sim attach-agent $source $sender
    $sim attach-agent $right $receiver
    $sim connect $sender $receiver
    set data [new Application/FTP]
    $data attach-agent $sender
    $sim at $start "$data start"
    lappend senders $sender
}
proc look {} {
    global sim senders bottleneck
    set line {}
    foreach sender $senders { lappend line [$sender set ack_] }
    puts [lappend line [$bottleneck set pkts_]]
    $sim at [expr [$sim now] + 1] look
}
$sim at 1 look
$sim at [expr $seconds + 0.5] {exit 0}
$sim run
