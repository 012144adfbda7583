"""The decisions of a hub while a backtest changes them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from gitops_dsf.hub.decisions import decided, decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.simulator import HubState


class HubDecisions:
    """The decisions of all Placements of a hub, at the moment."""

    def __init__(self, state: HubState, current: Mapping[str, Sequence[str]]) -> None:
        """`current` are decisions in place of those of the state."""
        self._pages: dict[tuple[str, str], PlacementDecision] = dict(state.decisions)
        self._clusters = {
            f"{key[0]}/{key[1]}": clusters for key, clusters in decided(self._pages.values()).items()
        }
        self._counts = Counter(state.decision_counts)
        self._written: set[str] = set()
        self.version = 0
        """Grows with each change."""
        for placement, clusters in current.items():
            self.put(placement, clusters)

    def of(self, key: str) -> frozenset[str]:
        """The clusters of a Placement."""
        return self._clusters.get(key, frozenset())

    def put(self, key: str, clusters: Sequence[str]) -> None:
        """Replaces the decision of a Placement by one page, which holds any number of clusters here."""
        chosen = frozenset(clusters)
        if key in self._written and chosen == self._clusters[key]:
            return
        namespace, _, name = key.partition("/")
        for page in [
            each for each, item in self._pages.items() if each[0] == namespace and item.placement == name
        ]:
            self._counts.subtract(self._pages.pop(page).cluster_names)
        page = (namespace, f"{name}-decision-0")
        self._pages[page] = decision_of(namespace=namespace, name=page[1], placement=name, clusters=clusters)
        self._counts.update(clusters)
        self._clusters[key] = chosen
        self._written.add(key)
        self.version += 1

    def others(self, key: str) -> Mapping[str, int]:
        """How many decisions of other Placements each cluster has."""
        found = Counter(self._counts)
        found.subtract(self.of(key))
        return found

    def pages(self) -> Sequence[PlacementDecision]:
        """All PlacementDecisions."""
        return tuple(self._pages.values())
