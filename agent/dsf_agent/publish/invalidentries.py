"""Reports on the hub why an entry of the configuration cannot run, in the condition `Scored`.

Such an entry has no worker, so nothing else would say why there are no scores. Its earlier scores
stay as they are, and expire.

Not guaranteed: that the hub learns of an entry whose score name cannot be read or is not the name
of an object. /readyz and the log of the process have it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dsf_agent.configuration.snapshot import ConfigurationSnapshot
from dsf_agent.metrics import AgentMetrics
from dsf_agent.publish.publication import ScoreFault, ScorePublication
from dsf_agent.publish.publisher import Publisher
from dsf_wire.publishrule import PublishSettings
from dsf_wire.scored import ScoredReason, condition_message
from dsf_wire.summary import Problem, ScorerSummary


@dataclass(kw_only=True, eq=False, repr=False)
class InvalidEntries:
    """Owns the publications of entries without a worker.

    Both methods take each new state of the file: ``release`` before its workers start,
    ``plan_conditions`` after the workers of before have ended. So an object never has two writers.
    """

    publisher: Publisher
    metrics: AgentMetrics
    clusters: Callable[[ScorerSummary], Iterable[str]]
    """The clusters that a scorer scores now."""
    _publications: dict[str, ScorePublication] = field(init=False, default_factory=dict)
    """Publications by name of the AddOnPlacementScore."""

    def release(self, snapshot: ConfigurationSnapshot) -> None:
        """Forgets entries that can run now, went, or changed their name."""
        running = {scorer.score_name for scorer in snapshot.scorers}
        for name, publication in list(self._publications.items()):
            problem = snapshot.explained.get(name)
            if problem is not None and publication.scorer == _stand_in(problem):
                continue
            del self._publications[name]
            publication.keep_only(frozenset())
            # A scorer that runs now goes on with the metrics of its name.
            if publication.scorer.score_name not in running:
                self.metrics.forget(publication.scorer.score_name)

    def plan_conditions(self, snapshot: ConfigurationSnapshot, *, edited: bool) -> None:
        """Plans the condition of each entry. ``edited``: the file changed while the process ran."""
        for name, problem in snapshot.explained.items():
            publication = self._publications.get(name)
            if publication is None:
                publication = self._publication(_stand_in(problem), edited=edited)
                self._publications[name] = publication
            publication.keep_only(frozenset(publication.clusters()))
            # At every new file, because the reason may be another one now.
            fault = ScoreFault(
                reason=ScoredReason.INVALID_CONFIGURATION,
                message=condition_message(problem.reason),
            )
            publication.pause(fault)

    def _publication(self, scorer: ScorerSummary, *, edited: bool) -> ScorePublication:
        return self.publisher.publication(
            scorer,
            rule=PublishSettings.of(scorer, jitter=0.0),
            metrics=self.metrics.of(scorer.score_name),
            clusters=lambda: self.clusters(scorer),
            edited=edited,
        )


def _stand_in(problem: Problem) -> ScorerSummary:
    """A summary with the names of an entry alone.

    Other values may be what is wrong with it: a TTL of a thousand years would delay its condition.
    """
    entry = problem.entry
    if entry is None:
        return ScorerSummary(name="", score_name="")
    return ScorerSummary(name=entry.name, score_name=entry.score_name)
