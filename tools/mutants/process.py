"""Child processes for mutants: forked, silent, with limits."""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Final

MEMORY: Final = 6 << 30
"""Bytes of address space of a mutant."""
BUSY_SECONDS: Final = 4.0
BUSY_FACTOR: Final = 4.0


def forked(work: Callable[[], int]) -> int:
    """Runs `work` in a child process without output. Returns its result, or the negative number of the signal
    that ended it. Processes that the child started end with it.
    """
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            _be_silent()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = work()
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    try:
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.killpg(child, signal.SIGKILL)
        raise
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def limit_time(seconds: float) -> None:
    """Ends this process after that much time of the processor, or several times as much on the clock and some
    seconds, more on a busy machine. A later call replaces the limit.
    """
    waiting = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, waiting * (BUSY_FACTOR * seconds + BUSY_SECONDS))


def _be_silent() -> None:
    output = os.environ.get("MUTANTS_OUTPUT", os.devnull)
    nowhere = os.open(output, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    for stream in range(3):
        os.dup2(nowhere, stream)
