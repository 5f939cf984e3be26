# The dumbbell of `python -m experiments.peers reno` in ns-2:
#   ns tcp_ns2.tcl AGENT SINK MBPS DELAY ACCESS_DELAY BUFFER SSTHRESH PACKET FROM TO SAMPLE START ...
# Prints the mean sum of the windows and the mean queue in packets, over samples between FROM and TO. Then prints
# counters for this time: packets that arrived at the bottleneck, packets dropped there, and acknowledged packets of
# each flow.
lassign $argv agent sink mbps delay access buffer ssthresh packet from to sample
set starts [lrange $argv 11 end]
remove-all-packet-headers
foreach header {IP TCP Flags} { add-packet-header $header }
set sim [new Simulator]
foreach {name value} "packetSize_ [expr $packet - 40] window_ 100000 windowInit_ 2 overhead_ 0 minrto_ 0.2" {
    Agent/TCP set $name $value
}
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right ${mbps}Mb $delay DropTail
$sim queue-limit $left $right [expr $buffer + 1]
$sim queue-limit $right $left 100000
set bottleneck [$sim monitor-queue $left $right ""]
set senders {}
foreach start $starts {
    set source [$sim node]
    set end [$sim node]
    foreach {a b} [list $source $left $right $end] {
        $sim duplex-link $a $b [expr 10 * $mbps]Mb $access DropTail
        $sim queue-limit $a $b 100000
        $sim queue-limit $b $a 100000
    }
    set sender [new $agent]
    set receiver [new $sink]
    $sim attach-agent $source $sender
    $sim attach-agent $end $receiver
    $sim connect $sender $receiver
    set data [new Application/FTP]
    $data attach-agent $sender
    $sim at $start "$sender set ssthresh_ $ssthresh; $data start"
    lappend senders $sender
}
proc counts {} {
    global bottleneck senders
    set all [list [$bottleneck set parrivals_] [$bottleneck set pdrops_]]
    foreach sender $senders { lappend all [$sender set ack_] }
    return $all
}
set windows 0.0
set waiting 0.0
set samples 0
proc look {} {
    global sim senders bottleneck sample windows waiting samples
    foreach sender $senders { set windows [expr $windows + [$sender set cwnd_]] }
    set waiting [expr $waiting + [$bottleneck set pkts_]]
    incr samples
    $sim at [expr [$sim now] + $sample] look
}
proc finish {} {
    global before windows waiting samples
    set line [list [expr $windows / $samples] [expr $waiting / $samples]]
    foreach now [counts] then $before { lappend line [expr $now - $then] }
    puts $line
    exit 0
}
$sim at $from {set before [counts]; look}
$sim at $to finish
$sim run
