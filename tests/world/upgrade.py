"""An upgrade of the reconciler in the world: one replica keeps the ledger as an older version did.

The older version is the program of today that reads and writes the ledger in the oldest format that
a release can have: what it does not know, it drops when it reads, so it is gone when it writes. How
older versions decided otherwise is not modelled.
"""

from contextvars import ContextVar
from typing import Final

import msgspec
from msgspec import Struct

from gitops_dsf.pacing import stored
from gitops_dsf.pacing.ledger import Phase
from gitops_dsf.pacing.stored import LEDGER_KEY, QUEUE_KEY, StoredMoves
from gitops_dsf.reconciler.pacing import controller

OLDER: ContextVar[bool] = ContextVar("older", default=False)
"""Whether the program that runs now is of the older version."""


class OlderMove(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Without `gain` and `cause`, which came later."""

    placement: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    since: float
    phase: Phase = Phase.ADMITTED
    phase_since: float = 0.0
    admitted: bool = True


class OlderLedger(Struct, frozen=True):
    """Without `omitted` and `wholeAfter`. It wrote its two fields also when they were empty."""

    moves: tuple[OlderMove, ...] = ()
    decided: dict[str, tuple[str, ...]] = {}


class OlderQueued(Struct, frozen=True, rename="camel", omit_defaults=True):
    placement: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    points: float
    reason: str
    message: str
    since: float
    until: float | None = None


class OlderQueue(Struct, frozen=True):
    """Without `omitted`."""

    waiting: tuple[OlderQueued, ...] = ()


_FORMATS: Final[dict[str, type[Struct]]] = {LEDGER_KEY: OlderLedger, QUEUE_KEY: OlderQueue}


def as_older(data: object) -> object:
    """The data of the ConfigMap as the older version has it in memory, and writes it."""
    if not isinstance(data, dict):
        return data
    kept = dict(data)
    for key, form in _FORMATS.items():
        if kept.get(key):
            try:
                kept[key] = msgspec.json.encode(msgspec.json.decode(kept[key], type=form)).decode()
            except msgspec.DecodeError:
                # Somebody wrote nonsense. The older version reads none of it, as the newer one.
                continue
    return kept


def install() -> None:
    """Makes programs of the older version read and write its format."""
    read = stored.read_moves
    written = vars(StoredMoves)["data"].fget

    def read_moves(data: object) -> StoredMoves:
        return read(as_older(data) if OLDER.get() else data)

    def data(self: StoredMoves) -> object:
        return as_older(written(self)) if OLDER.get() else written(self)

    for owner, name, replacement in (
        (controller, "read_moves", read_moves),
        (StoredMoves, "data", property(data)),
    ):
        setattr(owner, name, replacement)
