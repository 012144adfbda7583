"""What one cluster's agent has on the hub after some cycles, by the agent's own functions.

Neither a process nor sockets are needed: results go in, published scores come out.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from dsf_agent.publish.publisher import decided
from dsf_agent.scoring.items import items_of
from dsf_agent.scoring.labels import LabelSets
from dsf_wire.dimension import LABELS
from dsf_wire.publishrule import PublishedItems, PublishSettings
from dsf_wire.scorename import sanitise
from dsf_wire.scorevalue import default_items
from dsf_wire.summary import ScorerSummary


@dataclass(frozen=True)
class PublishedResult:
    """One result of a scorer. The label `node` may name its item."""

    raw: float
    node: str = ""


@dataclass
class PublishedScores:
    """The AddOnPlacementScores of one cluster, by name."""

    cluster: str
    by_name: dict[str, PublishedItems] = field(default_factory=dict)

    def cycle(
        self, scorer: ScorerSummary, results: Sequence[PublishedResult], *, now: float
    ) -> None:
        """One cycle. A source without series publishes the default score, or fails the cycle."""
        wanted = self._items(scorer, results)
        if not wanted:
            return
        name = sanitise(scorer.score_name)
        rule = PublishSettings.of(scorer, jitter=0.0)
        present = self.by_name.get(name)
        if decided(wanted, present, rule=rule, now=now).at <= now:
            until = now + rule.ttl
            self.by_name[name] = PublishedItems(values=wanted, written=now, valid_until=until)

    def counted(self, name: str, item: str, *, now: float) -> int:
        """What OCM counts of an item."""
        score = self.by_name.get(name)
        if score is None or now > score.valid_until:
            return 0
        return score.values.get(item, 0)

    def keep(self, *names: str) -> None:
        """Deletes the objects of scorers that are gone, as the agent's pruner does."""
        self.by_name = {name: self.by_name[name] for name in names if name in self.by_name}

    def _items(self, scorer: ScorerSummary, results: Sequence[PublishedResult]) -> dict[str, int]:
        if not results:
            return default_items(scorer, cluster=self.cluster) or {}
        label_sets = LabelSets(
            template=scorer.score_dimension_format,
            cluster=self.cluster,
            score_name=scorer.score_name,
        )
        labels = [
            label_sets.of(tuple(each.node if name == "node" else "" for name in LABELS))
            for each in results
        ]
        return asyncio.run(items_of(scorer, labels, [each.raw for each in results])).values
