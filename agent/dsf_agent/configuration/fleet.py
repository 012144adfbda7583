"""The clusters that this process scores. All scorers share one Fleet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dsf_wire.clusters import FleetCluster
from dsf_wire.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The clusters that one scorer scores, and which value of its cluster label means which of them."""

    names: tuple[str, ...]
    by_value: Mapping[str, str]


class Fleet:
    """Answers which clusters a scorer scores. A new file changes the answers of the next cycle, and no scorer
    is restarted.
    """

    def __init__(self, *, own: str = "") -> None:
        """``own`` is the one cluster of an agent."""
        self._own = Targets(names=(own,), by_value={}) if own else None
        self._clusters: tuple[FleetCluster, ...] = ()
        self._targets: dict[tuple[str, str], Targets] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All clusters, also those that no scorer scores."""
        return tuple(cluster.name for cluster in self._clusters)

    def set(self, clusters: Iterable[FleetCluster]) -> None:
        """Takes the clusters of a new file."""
        self._clusters = tuple(clusters)
        self._targets = {}

    def targets(self, scorer: Summary) -> Targets:
        """The target clusters of a scorer. The answer is the same object until the file changes."""
        if self._own is not None:
            return self._own
        identity = scorer.cluster_label.identity if scorer.cluster_label is not None else ""
        key = (scorer.name, identity)
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = self._find(scorer.name, identity)
        return found

    def _find(self, scorer: str, identity: str) -> Targets:
        chosen = [cluster for cluster in self._clusters if scorer in cluster.scorers]
        by_value: dict[str, str] = {}
        ambiguous: set[str] = set()
        for cluster in chosen:
            value = cluster.value(identity)
            if value is not None and by_value.setdefault(value, cluster.name) != cluster.name:
                ambiguous.add(value)
        for value in ambiguous:
            # A score of the wrong cluster is worse than none.
            del by_value[value]
        return Targets(names=tuple(cluster.name for cluster in chosen), by_value=by_value)
