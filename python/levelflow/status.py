"""Exit statuses of the commands."""

import signal

#: Exit status after bad input.
BAD_INPUT = 2
#: Exit status after Ctrl-C.
INTERRUPTED = 128 + signal.SIGINT
