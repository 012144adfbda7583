"""The hub scorer's clusters in its ConfigMap: a line for each, and shared lists of scorers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from dsf_wire.jsontext import without_mark

NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetCluster:
    """A cluster, and the scorers that score it.

    ``values`` are claims and labels to compare, by ClusterLabel.identity.
    """

    name: str
    scorers: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=lambda: NO_VALUES)

    def value(self, identity: str) -> str | None:
        """The value by which the label of a series means this cluster; None if there is none."""
        return self.values.get(identity) if identity else self.name


class ClustersError(ValueError):
    """The text is not a valid list of clusters. Nothing in it can be trusted."""


class _ClusterScorers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    scorers: int | None = None
    values: dict[str, str] = {}


class _Clusters(msgspec.Struct, frozen=True, kw_only=True):
    scorers: list[list[str]]
    clusters: list[_ClusterScorers]


def encode(clusters: Iterable[FleetCluster]) -> str:
    """The value of the ConfigMap key, sorted by name."""
    # Most clusters have one of a few lists of scorers. A line refers to its list by index, so
    # that thousands of clusters fit into a ConfigMap, which Kubernetes limits to 1 MiB.
    lists: dict[tuple[str, ...], int] = {}
    lines = []
    for cluster in sorted(clusters, key=lambda item: item.name):
        index = lists.setdefault(cluster.scorers, len(lists)) if cluster.scorers else None
        # A cluster without scorers stays in the list: its old scores are to be deleted.
        entry = _ClusterScorers(
            name=cluster.name, scorers=index, values=dict(sorted(cluster.values.items()))
        )
        # One line for each cluster, so that a diff shows which clusters changed.
        lines.append(msgspec.json.encode(entry).decode())
    names = ",\n".join(f"  {msgspec.json.encode(names).decode()}" for names in lists)
    rows = ",\n".join(f"  {line}" for line in lines)
    return f'{{\n"scorers": [\n{names}\n],\n"clusters": [\n{rows}\n]\n}}'


def decode(text: str | bytes) -> tuple[FleetCluster, ...]:
    """Reads the ConfigMap key. Raises ClustersError."""
    try:
        content = text.encode() if isinstance(text, str) else text
        listed = msgspec.json.decode(without_mark(content), type=_Clusters)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClustersError(f"not a valid list of clusters: {error}") from error
    lists = [tuple(names) for names in listed.scorers]
    seen: set[str] = set()
    clusters = []
    for entry in listed.clusters:
        # One cluster with two lists of scorers would have two answers to what is published for it.
        if not entry.name or entry.name in seen:
            msg = (
                f"the cluster {entry.name!r} is listed twice"
                if entry.name
                else "a cluster has no name"
            )
            raise ClustersError(msg)
        if entry.scorers is not None and not 0 <= entry.scorers < len(lists):
            msg = (
                f"cluster {entry.name!r} refers to list {entry.scorers} of {len(lists)} lists"
                " of scorers"
            )
            raise ClustersError(msg)
        seen.add(entry.name)
        names = () if entry.scorers is None else lists[entry.scorers]
        clusters.append(
            FleetCluster(name=entry.name, scorers=names, values=entry.values or NO_VALUES)
        )
    return tuple(clusters)
