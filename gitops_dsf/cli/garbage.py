"""Spares short commands the cyclic garbage collector, and the end of the interpreter."""

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import Final

_ENDING: Final = Event()
"""Set when this process has nothing to do after its command."""


@contextmanager
def kept() -> Iterator[None]:
    """Disables the cyclic garbage collector. Restores its state afterwards, unless the process ends.

    Documents, models, files and the objects of a hub are trees, which reference counting frees. For 2,000
    clusters the collector ran 250 times, freed 1,000 small objects and took 6 % of a render; `validate` spent
    a third of its time in it when every cluster had a mistake. The peak of memory is the same without it.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was and not _ENDING.is_set():
            gc.enable()


def collect_no_more() -> None:
    """Lets `kept` leave the collector disabled. The first search after a command took 40 ms."""
    _ENDING.set()


def end_quickly(code: int) -> None:
    """Lets the process end with this exit code when its threads and later exit handlers have ended.

    Otherwise the interpreter searches the whole heap for reference cycles, which took 70 ms after `validate`
    of a small repository, and frees each object, which took 20 ms. The system frees the memory anyway.
    """
    atexit.register(_end, code)


def _end(code: int) -> None:
    # If the output cannot be written, the interpreter reports it.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
