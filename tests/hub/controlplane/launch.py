"""Becomes another program that dies with its parent.

Usage: `python -I -S launch.py PARENT_PID HOW PROGRAM ARGUMENT...`.

Runs as a script without site-packages, so it costs a few milliseconds. On Linux the kernel kills
the program when the parent ends, however it ends; elsewhere the program merely starts.

HOW is `once` or `again`. With `once` this replaces itself by the program. With `again` it stays as
the program's parent, and starts it again after a panic, as a kubelet would.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)
PANIC = 2
"""What a Go program ends with after a panic."""


def main() -> None:
    parent, how, program = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    die_with(parent)
    if how == "once":
        os.execv(program[0], program)  # noqa: S606  no shell on purpose
    while (status := run(program)) == PANIC:
        print(f"launch.py: {program[0]} panicked and is started again", file=sys.stderr, flush=True)
    sys.exit(status)


def run(program: list[str]) -> int:
    """Runs the program to its end, and returns its exit status as a shell counts it."""
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(keeper)
        os.execv(program[0], program)  # noqa: S606  no shell on purpose
    # Whoever stops the session asks its leader. A program that ends well then is not started again.
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    exit_code = os.waitstatus_to_exitcode(status)
    return exit_code if exit_code >= 0 else 128 - exit_code


def die_with(parent: int) -> None:
    """Lets the kernel kill this process when its parent ends. Exits if that has happened."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != parent:
            sys.exit("the parent ended before the program could start")


main()
