"""Becomes another program that dies with its parent: `python -I -S launch.py PARENT_PID PROGRAM
ARGUMENT...`.

Runs as a script without site-packages, so it costs a few milliseconds, and replaces itself by the
program. On Linux the kernel then kills the program when the parent ends, however it ends; elsewhere
the program merely starts.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != parent:
            sys.exit("the parent ended before the program could start")
    os.execv(program[0], program)  # noqa: S606  no shell on purpose


main()
