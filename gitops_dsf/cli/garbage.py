"""Switches the cyclic garbage collector off during short commands, and at their end."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept() -> Iterator[None]:
    """Disables the cyclic garbage collector, and restores its state afterwards.

    Documents, models, files and the objects of a hub are trees, which reference counting frees. For 2,000
    clusters the collector ran 250 times, freed 1,000 small objects and took 6 % of a render; `validate` spent
    a third of its time in it when every cluster had a mistake. The peak of memory is the same without it.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def end_quickly() -> None:
    """Lets the process end without a search for reference cycles.

    The interpreter searches the whole heap when it ends, which took 70 ms after a `validate` of a small
    repository. The system frees the memory anyway.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
