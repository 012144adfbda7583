"""AddOnPlacementScores of the whole hub, by name and then by cluster: a fleet has hundreds of thousands."""

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Final, cast

import msgspec

from dsf_runtime.informer import Informer
from gitops_dsf.hub.resources import SCORES
from gitops_dsf.hub.scores import AddOnPlacementScore, Interner, Score
from gitops_dsf.reconciler.hub.api import HubApi

MOST_CHARACTERS: Final = 65_536
"""Of the names of a score's items: a cluster cannot fill the memory of the hub."""
_NOTHING: Final[Mapping[str, Score]] = MappingProxyType({})


class ScoreColumns(MutableMapping[str, Score]):
    """Scores by cluster/name, kept by name: the keys are not stored twice."""

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Score]] = {}

    def __getitem__(self, key: str) -> Score:
        cluster, _, resource = key.partition("/")
        return self.columns[resource][cluster]

    def __setitem__(self, key: str, item: Score) -> None:
        cluster, _, resource = key.partition("/")
        self.columns.setdefault(sys.intern(resource), {})[sys.intern(cluster)] = item

    def __delitem__(self, key: str) -> None:
        cluster, _, resource = key.partition("/")
        del self.columns[resource][cluster]
        if not self.columns[resource]:
            del self.columns[resource]

    def __iter__(self) -> Iterator[str]:
        return (f"{cluster}/{resource}" for resource, column in self.columns.items() for cluster in column)

    def __len__(self) -> int:
        return sum(map(len, self.columns.values()))


class ScoreInformer(Informer[Score]):
    """All scores of the hub."""

    def __init__(self, *, api: HubApi) -> None:
        interner = Interner()

        def score(raw: msgspec.Raw) -> tuple[str, Score]:
            item = msgspec.json.decode(raw, type=AddOnPlacementScore)
            found = interner.of(item.status, on_hub=item.metadata.on_hub)
            if sum(map(len, found.names)) > MOST_CHARACTERS:
                msg = f"the names of its items have more than {MOST_CHARACTERS} characters"
                raise ValueError(msg)
            return f"{item.metadata.namespace}/{item.metadata.name}", found

        super().__init__(
            api=api,
            path=SCORES.path,
            project=score,
            key=lambda cluster, name: f"{cluster}/{name}",
            shelf=ScoreColumns,
        )

    @property
    def columns(self) -> Mapping[str, Mapping[str, Score]]:
        """By name, scorers' and others', and then by cluster. Ask each time: a new list makes new columns."""
        return cast("ScoreColumns", self._items).columns

    def of(self, resource: str) -> Mapping[str, Score]:
        """The scores of one name by cluster, such as a scorer's."""
        return self.columns.get(resource, _NOTHING)
