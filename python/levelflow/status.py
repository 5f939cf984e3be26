"""Exit statuses of the commands."""

import signal

#: Of bad input.
BAD_INPUT = 2
#: Of what Ctrl-C stopped.
INTERRUPTED = 128 + signal.SIGINT
