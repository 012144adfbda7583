"""AddOnPlacementScores: when they expire and what they hold. A few bytes each, because a fleet has hundreds
of thousands.
"""

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Final, cast

import msgspec

from dsf_runtime.informer import Informer
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.hub.scores import AddOnPlacementScore, ScoreStatus
from gitops_dsf.reconciler.hub.api import HubApi

NAMES: Final = 8
"""Items up to which their names are kept. Placements name the few dimensions that every cluster has, not
those of nodes and pods.
"""
NAMES_LENGTH: Final = 1024
"""Characters of all of them together, up to which they are kept."""
LOWEST_BYTE: Final = 128
"""Added to a value, so that all values from -128 to 127 fit into a byte. The CRD allows -100 to 100."""
NAMINGS: Final = 4096
"""Different sets of names that are kept; most clusters share one."""
_NOTHING: Final[Mapping[str, "ScoreSummary"]] = MappingProxyType({})


class ScoreSummary(msgspec.Struct, frozen=True, gc=False):
    """All that is kept of an AddOnPlacementScore."""

    valid_until: float | None
    """Seconds since 1970; None: none is named, and OCM counts it for ever."""
    count: int
    """Of items."""
    names: frozenset[str] | None = None
    """Of items; None where there are more of them, or longer ones, than are kept."""
    on_hub: bool = False
    """Whether the hub scorer wrote it."""
    values: bytes | None = None
    """A byte for each of the names, in order of name: the value and LOWEST_BYTE. None where the names are not
    kept, or a value is outside of what the CRD allows. Python shares all bytes objects of length 1.
    """

    def has(self, dimension: str) -> bool:
        """Whether there is an item of this name, or the names are not known."""
        return bool(self.count) and (self.names is None or dimension in self.names)

    def items(self) -> tuple[tuple[str, int], ...] | None:
        """Names and values, in order of name; None if they are not kept."""
        if self.names is None or self.values is None:
            return None
        return tuple(
            (name, byte - LOWEST_BYTE) for name, byte in zip(sorted(self.names), self.values, strict=True)
        )


def score_summary(raw: msgspec.Raw) -> tuple[str, ScoreSummary]:
    """Keyed by cluster/name."""
    item = msgspec.json.decode(raw, type=AddOnPlacementScore)
    status = item.status or ScoreStatus()
    until, scores = status.valid_until, status.scores or ()
    few = len(scores) <= NAMES and sum(len(each.name) for each in scores) <= NAMES_LENGTH
    values = {each.name: each.value for each in scores} if few else None
    key = f"{item.metadata.namespace}/{item.metadata.name}"
    return key, ScoreSummary(
        valid_until=None if until is None else until.timestamp(),
        count=len(scores),
        names=None if values is None else frozenset(values),
        on_hub=item.metadata.on_hub,
        values=None if values is None else _packed(values),
    )


def _packed(values: Mapping[str, int]) -> bytes | None:
    try:
        return bytes(values[name] + LOWEST_BYTE for name in sorted(values))
    except ValueError:
        return None


class ScoreTable(MutableMapping[str, ScoreSummary]):
    """Scores by cluster/name, kept by name: neither the keys nor equal sets of item names are
    stored twice.
    """

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, ScoreSummary]] = {}
        self._namings: dict[frozenset[str], frozenset[str]] = {}
        self._size = 0

    def of(self, resource: str) -> Mapping[str, ScoreSummary]:
        """The scores of this name by cluster, now and as they change; read-only."""
        column = self._columns.get(resource)
        return _NOTHING if column is None else MappingProxyType(column)

    def resources(self) -> tuple[str, ...]:
        """Names that any cluster has a score of."""
        return tuple(self._columns)

    def __getitem__(self, key: str) -> ScoreSummary:
        cluster, _, resource = key.partition("/")
        return self._columns[resource][cluster]

    def __setitem__(self, key: str, item: ScoreSummary) -> None:
        cluster, _, resource = key.partition("/")
        column = self._columns.get(resource)
        if column is None:
            column = self._columns[sys.intern(resource)] = {}
        self._size += cluster not in column
        names = self._naming(item.names)
        column[sys.intern(cluster)] = (
            item if names is item.names else msgspec.structs.replace(item, names=names)
        )

    def __delitem__(self, key: str) -> None:
        cluster, _, resource = key.partition("/")
        column = self._columns[resource]
        del column[cluster]
        self._size -= 1
        if not column:
            del self._columns[resource]

    def __iter__(self) -> Iterator[str]:
        return (f"{cluster}/{resource}" for resource, column in self._columns.items() for cluster in column)

    def __len__(self) -> int:
        return self._size

    def _naming(self, names: frozenset[str] | None) -> frozenset[str] | None:
        if names is None:
            return None
        known = self._namings.get(names)
        if known is None and len(self._namings) < NAMINGS:
            known = self._namings[names] = names
        return known


class ScoreInformer(Informer[ScoreSummary]):
    """All scores of the hub."""

    def __init__(self, *, api: HubApi) -> None:
        super().__init__(
            api=api,
            path=SCORES.path,
            project=score_summary,
            key=lambda cluster, name: f"{cluster}/{name}",
            shelf=ScoreTable,
        )

    def of(self, resource: str) -> Mapping[str, ScoreSummary]:
        """The scores of one name by cluster, such as a scorer's; read-only. Ask again each time: a new list
        makes a new table.
        """
        return cast("ScoreTable", self._items).of(resource)

    def resources(self) -> tuple[str, ...]:
        """Names that any cluster has a score of, scorers' and others'."""
        return cast("ScoreTable", self._items).resources()
