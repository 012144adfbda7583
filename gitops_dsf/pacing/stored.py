"""Paced moves as the hub has them: in a ConfigMap of the reconciler."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from gitops_dsf.hub.names import MAINTENANCE_KEY, MOVES_CONFIGMAP
from gitops_dsf.pacing.ledger import Ledger, read_ledger
from gitops_dsf.pacing.maintenance import MaintenanceState, read_state
from gitops_dsf.pacing.queue import Queue, read_queue

LEDGER_KEY: Final = "ledger"
QUEUE_KEY: Final = "queue"


class MovesError(ValueError):
    """The ledger cannot be read, so nobody knows what is under way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredMoves:
    """What is under way, and what waits."""

    ledger: Ledger = field(default_factory=Ledger)
    queue: Queue = field(default_factory=Queue)
    maintenance: MaintenanceState = field(default_factory=MaintenanceState)


def read_moves(data: object) -> StoredMoves:
    """The moves in the data of the ConfigMap, which may be absent. A queue or a maintenance that cannot
    be read is empty, because it is only shown. Raises MovesError.
    """
    try:
        texts = msgspec.convert(data, dict[str, str] | None) or {}
        ledger = read_ledger(texts.get(LEDGER_KEY) or "{}")
    except msgspec.DecodeError as error:
        msg = f"ConfigMap {MOVES_CONFIGMAP}, key {LEDGER_KEY}: {error}; delete the ConfigMap to start anew"
        raise MovesError(msg) from error
    try:
        queue = read_queue(texts.get(QUEUE_KEY) or "{}")
    except msgspec.DecodeError:
        queue = Queue()
    try:
        maintenance = read_state(texts.get(MAINTENANCE_KEY) or "{}")
    except msgspec.DecodeError:
        maintenance = MaintenanceState()
    return StoredMoves(ledger=ledger, queue=queue, maintenance=maintenance)
