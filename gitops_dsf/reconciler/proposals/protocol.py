"""What the controller and its worker say to each other, as JSON over pipes."""

from typing import Any, Literal

import msgspec


class WorkerRequest(msgspec.Struct, frozen=True):
    """Asks for changes to a checkout."""

    root: str
    scorers: list[str] = []
    """Scorers whose /config pages are compared with their locks."""
    seconds: float = 10.0
    """Time limit of each page."""
    clusters: list[dict[str, Any]] | None = None
    """ManagedClusters of the hub that are not being deleted. None: do not compare the inventory."""
    gone: list[str] = []
    """Clusters that may be removed from git."""


class LockChange(msgspec.Struct, frozen=True):
    """The change of one scorer's lock."""

    scorer: str
    state: Literal["change", "same", "undecided"]
    """`same`: the page says what the lock says, or the scorer does not exist any more."""
    file: str = ""
    text: str = ""
    details: list[str] = []
    why: str = ""
    """The reason of `undecided`."""


class InventoryChange(msgspec.Struct, frozen=True):
    """The change of the folder clusters/."""

    state: Literal["change", "same", "undecided"]
    files: dict[str, str | None] = {}
    details: list[str] = []
    why: str = ""
    """The reason of `undecided`, or what was left out of the change."""
    known: list[str] = []
    """Clusters in git."""
    title: str = ""


class WorkerResponse(msgspec.Struct, frozen=True):
    """`trouble` is the error when the changes could not be worked out."""

    locks: list[LockChange] = []
    inventory: InventoryChange | None = None
    trouble: str = ""
