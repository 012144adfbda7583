"""The order in which the items of moves are written, whatever the hub refuses meanwhile. Pure.

One law: **a Placement is pushed away only while it is drawn to the wanted cluster and to no other,
for certain.** Otherwise OCM would send it to another cluster than the move says. So the items
change in three steps. Each step is decided by what is known after the one before it:

1. Items that push away are taken away, where they are not wanted or the Placement is drawn to the
   wrong cluster.
2. Items that draw are written and taken away, except those of a Placement that is still pushed
   away.
3. Items that push away are written, of Placements that are now drawn as wanted.

Not guaranteed: that all wanted items are written in one round. Items that a refused write would
have made safe wait for the next round.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gitops_dsf.pacing.items import MoveItems

ClusterItems = Mapping[str, int]
"""The items of one cluster, by namespace/name of the Placement."""
PossibleItems = Mapping[str, tuple[ClusterItems, ...]]
"""All items that may be published, by cluster.

There is more than one possibility after a write without an answer, which may or may not have taken
effect.
"""

_NOTHING: Final[tuple[ClusterItems, ...]] = ({},)


class ItemWrites:
    """The writes of one pass, in the safe order.

    The caller sends each of the `writes`, and reports what became of it before it takes the next
    one. A write that is not reported did not happen.
    """

    def __init__(self, known: PossibleItems, wanted: MoveItems) -> None:
        self._known = dict(known)
        self._wanted = wanted

    def writes(self) -> Iterator[tuple[str, ClusterItems]]:
        """The writes, in order: a cluster, and all its items."""
        if self._is_done:
            return
        # Each step is prepared after the answers to the one before it, and not in advance: a draw
        # that the hub refused must not be followed by its push.
        for prepare in (self._releasing, self._drawing, self._pushing):
            goal = prepare()
            for cluster in sorted(self._known.keys() | self._wanted.keys()):
                values = goal(cluster)
                if any(possible != values for possible in self._of(cluster)):
                    yield cluster, dict(sorted(values.items()))

    def wrote(self, cluster: str, values: ClusterItems) -> None:
        """The hub has confirmed a write."""
        self._known[cluster] = (values,)

    def lost(self, cluster: str, values: ClusterItems) -> None:
        """A write was not answered, so it may have taken effect."""
        self._known[cluster] = (*self._of(cluster), values)

    @property
    def _is_done(self) -> bool:
        """Whether all published items are as wanted, for certain, and none pushes away.

        Most rounds begin so. Items that push away depend on those that draw, so their steps are
        prepared.
        """
        for cluster in self._known.keys() | self._wanted.keys():
            wanted = self._wanted.get(cluster, {})
            for values in self._of(cluster):
                if values != wanted or _pushed_in(values):
                    return False
        return True

    def paused(self) -> dict[str, frozenset[str]]:
        """The Placements whose items that push away are not as wanted.

        With each, the clusters that differ.
        """
        wanted = set[tuple[str, str]]()
        for cluster, values in self._wanted.items():
            for name in _pushed_in(values):
                wanted.add((name, cluster))
        names = {name for name, _ in self._pushed() ^ wanted}
        differing: defaultdict[str, set[str]] = defaultdict(set)
        for cluster in self._known.keys() | self._wanted.keys():
            goal = self._wanted.get(cluster, {})
            for name in names:
                if any(values.get(name) != goal.get(name) for values in self._of(cluster)):
                    differing[name].add(cluster)
        return {name: frozenset(clusters) for name, clusters in differing.items()}

    def _of(self, cluster: str) -> tuple[ClusterItems, ...]:
        return self._known.get(cluster, _NOTHING)

    def _pushed(self) -> set[tuple[str, str]]:
        """Placements that may be pushed away, with the cluster."""
        pushed = set[tuple[str, str]]()
        for cluster, possible in self._known.items():
            for values in possible:
                for name in _pushed_in(values):
                    pushed.add((name, cluster))
        return pushed

    def _drawn_as_wanted(self) -> Callable[[str], bool]:
        """Whether a Placement is drawn to the wanted clusters and to no other, for certain."""
        maybe: defaultdict[str, set[str]] = defaultdict(set)
        surely: defaultdict[str, set[str]] = defaultdict(set)
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for cluster, possible in self._known.items():
            # A write without an answer may or may not have taken effect, so both are possible.
            drawn = [_drawn_in(values) for values in possible]
            for name in set.union(*drawn):
                maybe[name].add(cluster)
            for name in set.intersection(*drawn):
                surely[name].add(cluster)
        for cluster, values in self._wanted.items():
            for name in _drawn_in(values):
                wanted[name].add(cluster)
        return lambda name: bool(wanted[name]) and maybe[name] == surely[name] == wanted[name]

    def _releasing(self) -> Callable[[str], ClusterItems]:
        """Step 1: what should be published, by cluster, so that nothing is pushed by mistake."""
        is_drawn = self._drawn_as_wanted()

        def goal(cluster: str) -> ClusterItems:
            wanted = self._wanted.get(cluster, {})
            kept: dict[str, int] = {}
            # The last write that was sent is taken, among all items that may be there: if another
            # one took effect, `writes` sends the goal anyway.
            for name, value in self._of(cluster)[-1].items():
                may_push = wanted.get(name, 0) < 0 and is_drawn(name)
                if value > 0 or may_push:
                    kept[name] = value
            return kept

        return goal

    def _drawing(self) -> Callable[[str], ClusterItems]:
        """Step 2: the items that draw, except those of a Placement that is still pushed away."""
        # A Placement that is pushed away stays drawn as it is, or OCM would send it elsewhere.
        held = {name for name, _ in self._pushed()}

        def goal(cluster: str) -> ClusterItems:
            current = self._of(cluster)[-1].items()
            wanted = self._wanted.get(cluster, {}).items()
            values: dict[str, int] = {}
            for name, value in wanted:
                if value > 0 and name not in held:
                    values[name] = value
            for name, value in current:
                if value < 0 or name in held:
                    values[name] = value
            return values

        return goal

    def _pushing(self) -> Callable[[str], ClusterItems]:
        """Step 3: the items that push away, of Placements that are drawn as wanted."""
        is_drawn = self._drawn_as_wanted()

        def goal(cluster: str) -> ClusterItems:
            current = self._of(cluster)[-1].items()
            wanted = self._wanted.get(cluster, {}).items()
            values: dict[str, int] = {}
            for name, value in current:
                if value > 0:
                    values[name] = value
            for name, value in wanted:
                if value < 0 and is_drawn(name):
                    values[name] = value
            return values

        return goal


def _drawn_in(values: ClusterItems) -> set[str]:
    """The Placements that these items draw."""
    return {name for name, value in values.items() if value > 0}


def _pushed_in(values: ClusterItems) -> set[str]:
    """The Placements that these items push away."""
    return {name for name, value in values.items() if value < 0}
