# Exits with 0 if this ns-2 has an agent: ns has.tcl AGENT
set sim [new Simulator]
exit [catch {new [lindex $argv 0]}]
