"""The task and the answer of the worker of proposals. Both go through its pipes as JSON."""

from enum import StrEnum
from typing import Any

import msgspec


class ProposalKind(StrEnum):
    LOCKS = "locks"
    INVENTORY = "inventory"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A change to make in a checkout."""

    root: str
    kind: ProposalKind
    scorers: list[str] = []
    """The scorers whose /config pages are compared with their locks, in a task for locks."""
    seconds: float = 10.0
    """Time limit of each page."""
    secrets: str | None = None
    """Folder with the credentials of pages."""
    clusters: list[dict[str, Any]] = []
    """The ManagedClusters of the hub that are not being deleted, in a task for the inventory."""
    gone: list[str] = []
    """Clusters that may be removed from git."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was made in a checkout."""

    files: list[str] = []
    """The files that were written or removed, below the folder of the fleet.

    Empty if nothing differs.
    """
    title: str = ""
    details: list[str] = []
    """One change each. They may quote /config pages and clusters, without control characters."""
    why: str = ""
    """The reason why it is unknown whether something differs. Then nothing was changed."""
    note: str = ""
    """The parts that were left out, and why."""
    scorers: list[str] = []
    """Scorers whose locks changed."""
    refused: list[str] = []
    """Scorers whose pages could not be read, or were not accepted."""
    known: list[str] = []
