"""The scores of the hub in little memory: by the name of the score, then by cluster.

A fleet of 3,500 clusters has hundreds of thousands of AddOnPlacementScores. So keys are not stored
as text, and one informer serves all controllers.
"""

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Final, cast

import msgspec

from dsf_runtime.informer import Informer
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.hub.scores import AddOnPlacementScore, Interner, PublishedScore, ScoreStatus
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import StoredMetadata, StoredObject

MAX_CHARACTERS: Final = 65_536
"""Upper limit of the characters in the names of a score's items, so that one cluster cannot fill
the memory of the hub.
"""
_NOTHING: Final[Mapping[str, PublishedScore]] = MappingProxyType({})


class StoredScore(msgspec.Struct, frozen=True):
    """An AddOnPlacementScore that is read in order to be changed or deleted."""

    metadata: StoredMetadata
    status: ScoreStatus | None = None


class ScoreColumns(MutableMapping[str, PublishedScore]):
    """Scores by cluster/name, kept by name: the keys are not stored twice."""

    # One counter for all columns that were ever made: after a new list a column must not have a
    # number that it had with other scores.
    _numbers: Final = itertools.count()

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, PublishedScore]] = {}
        self.versions: dict[str, int] = {}
        """A number for each column. It never has the same one with other scores."""

    def __getitem__(self, key: str) -> PublishedScore:
        cluster, _, resource = key.partition("/")
        return self.columns[resource][cluster]

    def __setitem__(self, key: str, score: PublishedScore) -> None:
        cluster, _, resource = key.partition("/")
        resource = sys.intern(resource)
        # The names of clusters come once for each score, from another JSON text each time.
        self.columns.setdefault(resource, {})[sys.intern(cluster)] = score
        self.versions[resource] = next(self._numbers)

    def __delitem__(self, key: str) -> None:
        cluster, _, resource = key.partition("/")
        del self.columns[resource][cluster]
        self.versions[resource] = next(self._numbers)
        if not self.columns[resource]:
            del self.columns[resource]
            del self.versions[resource]

    def __iter__(self) -> Iterator[str]:
        for resource, column in self.columns.items():
            for cluster in column:
                yield f"{cluster}/{resource}"

    def __len__(self) -> int:
        return sum(map(len, self.columns.values()))


class ScoreMarks:
    """Keys of scores, in one byte each: a set of a million keys takes 150 MB."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Numbers of the clusters, by name."""
        self._columns: dict[str, bytearray] = defaultdict(bytearray)

    def add(self, key: str, /) -> None:
        cluster, _, resource = key.partition("/")
        number = self._numbers.setdefault(cluster, len(self._numbers))
        column = self._columns[resource]
        if number >= len(column):
            column.extend(bytes(number + 1 - len(column)))
        column[number] = 1

    def __contains__(self, key: object, /) -> bool:
        cluster, _, resource = str(key).partition("/")
        number = self._numbers.get(cluster)
        column = self._columns.get(resource, b"")
        return number is not None and number < len(column) and bool(column[number])


class ScoreInformer(Informer[PublishedScore]):
    """The informer of all AddOnPlacementScores, scorers' and others'."""

    def __init__(self, *, api: HubApi) -> None:
        interner = Interner()
        versions: dict[str, str] = {}
        self._versions_of_moves = versions
        self.lists = 0
        """Number of lists of the scores. Writes between a watch and the next list are not seen."""

        def project(raw: msgspec.Raw) -> tuple[str, PublishedScore]:
            decoded = msgspec.json.decode(raw, type=AddOnPlacementScore)
            score = interner.of(decoded.status, on_hub=decoded.metadata.on_hub)
            # The informer then calls this object unreadable, keeps its earlier state, and reads all
            # others.
            if sum(map(len, score.names)) > MAX_CHARACTERS:
                msg = f"the names of its items have more than {MAX_CHARACTERS} characters"
                raise ValueError(msg)
            # This process writes no other scores, so it does not need the versions of a million
            # objects.
            if decoded.metadata.name == MOVES_SCORE:
                metadata = msgspec.json.decode(raw, type=StoredObject).metadata
                versions[decoded.metadata.namespace or ""] = metadata.resource_version
            return f"{decoded.metadata.namespace}/{decoded.metadata.name}", score

        super().__init__(
            api=api,
            path=SCORES.path,
            project=project,
            key=lambda cluster, name: f"{cluster}/{name}",
            shelf=ScoreColumns,
            marks=ScoreMarks,
        )

    async def refresh(self) -> str:
        self.lists += 1
        return await super().refresh()

    @property
    def columns(self) -> Mapping[str, Mapping[str, PublishedScore]]:
        """Scores of scorers and of others, by name and then by cluster."""
        return cast("ScoreColumns", self._items).columns

    @property
    def versions_of_moves(self) -> Mapping[str, str]:
        """The resourceVersion of each `gitops-dsf-moves`, by cluster.

        The writer of these objects compares it with what it wrote, because an informer may be
        behind.
        """
        versions: dict[str, str] = {}
        # Only of objects that exist: a deleted one must not seem to have its last version.
        for cluster in self.of(MOVES_SCORE):
            versions[cluster] = self._versions_of_moves.get(cluster, "")
        return versions

    def version(self, resource: str) -> int:
        """A number that changes with the scores of one name; -1 while there are none."""
        return cast("ScoreColumns", self._items).versions.get(resource, -1)

    def of(self, resource: str) -> Mapping[str, PublishedScore]:
        """The scores of one name by cluster, such as a scorer's."""
        return self.columns.get(resource, _NOTHING)
