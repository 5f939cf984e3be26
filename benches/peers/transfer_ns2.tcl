# Transfer of a single flow for `python -m experiments.peers reno` in ns-2:
#   ns transfer_ns2.tcl AGENT SINK MBPS DELAY BUFFER PACKET PACKETS
# Prints the time at which all packets are acknowledged, and the number of retransmitted packets.
lassign $argv agent sink mbps delay buffer packet packets
remove-all-packet-headers
foreach header {IP TCP Flags} { add-packet-header $header }
set sim [new Simulator]
foreach {name value} "packetSize_ [expr $packet - 40] window_ 100000 windowInit_ 2 overhead_ 0 minrto_ 0.2" {
    Agent/TCP set $name $value
}
set source [$sim node]
set end [$sim node]
$sim duplex-link $source $end ${mbps}Mb $delay DropTail
$sim queue-limit $source $end $buffer
$sim queue-limit $end $source $buffer
set sender [new $agent]
set receiver [new $sink]
$sim attach-agent $source $sender
$sim attach-agent $end $receiver
$sim connect $sender $receiver
set data [new Application/FTP]
$data attach-agent $sender
Agent/TCP instproc done {} {
    global sim sender
    puts "[$sim now] [$sender set nrexmitpack_]"
    exit 0
}
$sim at 0 "$data produce $packets"
$sim at 100 {puts stderr "the transfer is not over after 100 s"; exit 1}
$sim run
