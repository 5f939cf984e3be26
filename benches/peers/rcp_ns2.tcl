# Flows that arrive at given times over one link, under the authors' RCP in ns-2, for `python -m experiments.peers rcp`:
#   ns rcp_ns2.tcl ARRIVALS MBPS RTPD SECONDS ALPHA BETA COMPLETIONS STATUS
# ARRIVALS has a line per flow: the start in seconds, and the number of packets of 1000 bytes. When the last packet of a
# flow has arrived, the script writes the flow's number and completion time to COMPLETIONS. It also writes a line per
# control interval to STATUS, in the format of the authors' router.
lassign $argv arrivals mbps rtpd seconds alpha beta completions status
remove-all-packet-headers
foreach header {IP Flags RCP} { add-packet-header $header }
set sim [new Simulator]
Agent/RCP set packetSize_ 960
Queue/DropTail/RCP set alpha_ $alpha
Queue/DropTail/RCP set beta_ $beta
Queue set limit_ 1000000000
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right ${mbps}Mb [expr $rtpd / 2.0] DropTail/RCP
foreach {a b} [list $left $right $right $left] {
    [[$sim link $a $b] queue] set-link-capacity [expr $mbps * 1e6 / 8]
}
set log [open $status w]
[[$sim link $left $right] queue] attach $log
set done [open $completions w]
set waiting [open $arrivals]
set idle {}
set flows 0

Agent/RCP instproc fin-received {} {
    global sim done
    puts $done "[$self set fid_] [$sim now]"
}
# A completed sender returns its pair of agents to the pool. Receivers are not in `partner`.
Agent/RCP instproc done {} {
    global partner idle
    if {![info exists partner($self)]} return
    $self reset
    $partner($self) reset
    lappend idle $self
}
proc free_sender {} {
    global sim left right partner idle
    if {[llength $idle]} {
        set sender [lindex $idle end]
        set idle [lrange $idle 0 end-1]
        return $sender
    }
    set sender [new Agent/RCP]
    set partner($sender) [new Agent/RCP]
    $sim attach-agent $left $sender
    $sim attach-agent $right $partner($sender)
    $sim connect $sender $partner($sender)
    return $sender
}
proc start {packets} {
    global partner flows
    set sender [free_sender]
    foreach agent [list $sender $partner($sender)] { $agent set fid_ $flows }
    incr flows
    $sender set numpkts_ $packets
    $sender sendfile
    schedule
}
proc schedule {} {
    global sim waiting
    if {[gets $waiting line] >= 0} { $sim at [lindex $line 0] "start [lindex $line 1]" }
}
proc finish {} {
    global log done
    close $log
    close $done
    exit 0
}
schedule
$sim at $seconds finish
$sim run
