"""What the reconciler asks its worker, and what it answers: JSON over a pipe, because working a change out
takes memory and seconds.
"""

from typing import Any, Literal

import msgspec


class Ask(msgspec.Struct, frozen=True):
    """One question about a checkout."""

    root: str
    scorers: list[str] = []
    """Whose /config pages are asked."""
    seconds: float = 10.0
    """For each page."""
    clusters: list[dict[str, Any]] | None = None
    """ManagedClusters of the hub, none of them on its way out; None: the inventory is not asked about."""
    gone: list[str] = []
    """Clusters that may be removed."""


class Lock(msgspec.Struct, frozen=True):
    """What became of one scorer."""

    scorer: str
    state: Literal["change", "same", "undecided"]
    """same: the page says what the lock says, or there is no such scorer any more."""
    file: str = ""
    text: str = ""
    details: list[str] = []
    why: str = ""
    """Of undecided."""


class Inventory(msgspec.Struct, frozen=True):
    """What became of clusters/."""

    state: Literal["change", "same", "undecided"]
    files: dict[str, str | None] = {}
    details: list[str] = []
    why: str = ""
    """Of undecided; or what was left out."""
    known: list[str] = []
    """Clusters that git has."""
    title: str = ""


class Answer(msgspec.Struct, frozen=True):
    """To one Ask. `trouble` says why there is none."""

    locks: list[Lock] = []
    inventory: Inventory | None = None
    trouble: str = ""
