"""The file ``summaries`` as a Snapshot: scorers, mistakes, and the clusters that a scorer scores.

Pure. Guaranteed: an entry that cannot run is a mistake with its reason, and the others run. Not
guaranteed: that an entry works. Secrets, CAs and peers are known only when a cycle runs.
"""

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from dsf_agent.endpoints.endpoint import url_fault
from dsf_agent.fetch import stage
from dsf_wire import dimension, scorename, scorevalue, summary
from dsf_wire.clusters import FleetCluster
from dsf_wire.clusters import decode as decode_clusters
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.summary import SCORED_BY_API, SCORED_BY_QUERY, Problem, ScorerSummary, SummariesError

MAX_SECONDS: Final = 31_536_000
"""A year, as the generator's limit.

More is probably a wrong unit, and the expiry may be no valid date.
"""

DESTINATIONS: Final = ("", "AddOnPlacementScore", "None")


@dataclass(frozen=True, kw_only=True)
class ConfigurationSnapshot:
    """One state of the file."""

    digest: str
    scorers: tuple[ScorerSummary, ...]
    problems: tuple[Problem, ...]
    clusters: tuple[FleetCluster, ...] | None = None
    """The clusters of the hub scorer; None for an agent, which has one."""

    @property
    def complete(self) -> bool:
        """Whether every entry is usable. Only such a file may lead to a deletion."""
        return not self.problems

    @property
    def empty(self) -> bool:
        """Whether the file is ``[]``: a cluster without scorers, or a mistake (see prune)."""
        return not self.problems and not self.scorers

    @cached_property
    def explained(self) -> Mapping[str, Problem]:
        """The entries whose reason belongs on the hub, by name of their AddOnPlacementScore.

        An entry that another process runs is not explained by this one. Where several entries mean
        the same object, one that runs wins, else the first.
        """
        taken = {scorename.sanitise(scorer.score_name) for scorer in self.scorers}
        explained: dict[str, Problem] = {}
        for problem in self.problems:
            entry = problem.entry
            if entry is None or entry.on_hub is (self.clusters is None):
                continue
            name = scorename.sanitise(entry.score_name)
            if entry.score_destination == "None" or not scorename.can_be_object(name):
                continue
            if name not in taken:
                explained.setdefault(name, problem)
        return explained

    @cached_property
    def object_names(self) -> frozenset[str]:
        """The names of the AddOnPlacementScores, on the hub with their clusters (key_of)."""
        names = {scorer.name: scorename.sanitise(scorer.score_name) for scorer in self.scorers}
        if self.clusters is None:
            return frozenset(names.values())
        keys = set[str]()
        for cluster in self.clusters:
            for scorer in cluster.scorers:
                if scorer in names:
                    keys.add(key_of(cluster.name, names[scorer]))
        return frozenset(keys)


def publishes(scorer: ScorerSummary) -> bool:
    """Whether the scores of this scorer are published. As upstream, they are by default."""
    return scorer.score_destination != "None"


def key_of(cluster: str, name: str) -> str:
    """The key of an AddOnPlacementScore among those of all clusters."""
    return f"{cluster}/{name}"


def parse(content: bytes, clusters: bytes | None = None) -> ConfigurationSnapshot:
    """Parses the file, and that of the hub scorer's clusters.

    Raises SummariesError or ClustersError.
    """
    # A file that was truncated must not look like a cluster without scorers: that deletes scores.
    if not content.strip():
        raise SummariesError("the file is empty; an agent without scorers has the JSON array []")
    decoded = summary.decode(content)
    problems = list(decoded.problems)
    scorers: list[ScorerSummary] = []
    owners: dict[str, str] = {}
    bad = {problem.index for problem in problems}
    readable = (index for index in itertools.count() if index not in bad)
    # A mistake in one entry stops no other scorer.
    for index, scorer in zip(readable, decoded.summaries, strict=False):
        reason = _place_fault(scorer, on_hub=clusters is not None) or _fault(scorer)
        name = scorename.sanitise(scorer.score_name)
        if reason is None and name in owners:
            # In the upstream agent such scorers overwrite each other. Here the first one runs.
            reason = (
                f"scoreName {scorer.score_name!r} means the same AddOnPlacementScore {name!r} as"
                f" scorer {owners[name]!r}; rename one"
            )
        if reason is not None:
            problem = Problem(
                index=index, name=scorer.name, reason=reason, entry=summary.named_entry(scorer)
            )
            problems.append(problem)
            continue
        owners[name] = scorer.name
        scorers.append(scorer)
    problems.sort(key=lambda problem: problem.index)
    return ConfigurationSnapshot(
        # JSON has no zero byte, so no text can move from one file to the other unnoticed.
        digest=hashlib.sha256(
            content if clusters is None else content + b"\0" + clusters
        ).hexdigest(),
        scorers=tuple(scorers),
        problems=tuple(problems),
        clusters=None if clusters is None else decode_clusters(clusters),
    )


def _place_fault(scorer: ScorerSummary, *, on_hub: bool) -> str | None:
    """The reason why this process does not run the entry, or None."""
    if scorer.on_hub and not on_hub:
        return "runsOn is Hub: the hub scorer runs this entry, and no agent"
    if not on_hub:
        return None
    if not scorer.on_hub:
        return "runsOn is not Hub: the agents run this entry"
    if scorer.cluster_label is None or not scorer.cluster_label.name:
        return (
            "clusterLabel is missing; write the name of the label that names the cluster of a"
            " series"
        )
    return None


def _fault(scorer: ScorerSummary) -> str | None:
    """The reason why a well-formed entry cannot run, or None."""
    if not 1 <= scorer.scoring_interval <= MAX_SECONDS:
        return (
            f"scoringInterval is {scorer.scoring_interval}; write the seconds between two runs,"
            f" from 1 to {MAX_SECONDS}"
        )
    pause = scorer.publish.min_interval_seconds if scorer.publish is not None else 0
    for key, seconds in (
        ("scoreTTLSeconds", scorer.score_ttl_seconds or 0),
        ("publish.minIntervalSeconds", pause),
    ):
        if seconds > MAX_SECONDS:
            return f"{key} is {seconds}; write seconds up to {MAX_SECONDS}"
    scale = scorer.score_range
    # One value outside of this range makes the API server refuse the whole status
    # (docs/contributing/behaviour.md#score-objects-have-no-spec).
    if scale is not None and not all(
        SCORE_MIN <= output <= SCORE_MAX for output in (scale.output_min, scale.output_max)
    ):
        return (
            f"scoreRange has the outputs {scale.output_min} and {scale.output_max}; write whole"
            f" numbers from {SCORE_MIN} to {SCORE_MAX}"
        )
    if scorer.score_destination not in DESTINATIONS:
        return (
            f"scoreDestination {scorer.score_destination!r} is not one of AddOnPlacementScore, None"
        )
    aggregations = [aggregation.value for aggregation in scorevalue.Aggregation]
    if scorer.score_aggregation is not None and scorer.score_aggregation not in aggregations:
        return (
            f"scoreAggregation {scorer.score_aggregation!r} is not one of {', '.join(aggregations)}"
        )
    fault = _scoring_fault(scorer) or _default_fault(scorer)
    if fault is not None:
        return fault
    for prefix, name, key in (
        ("source", scorer.source_endpoint_auth_name, scorer.source_endpoint_auth_key),
        ("scoring", scorer.scoring_endpoint_auth_name, scorer.scoring_endpoint_auth_key),
    ):
        if bool(name) != bool(key):
            return (
                f"{prefix}EndpointAuthName and {prefix}EndpointAuthKey must both be set: the Secret"
                " and its key"
            )
    return stage.fault(scorer)


def _scoring_fault(scorer: ScorerSummary) -> str | None:
    """The reason why the series cannot be scored, or None."""
    kind = scorer.scoring_type or SCORED_BY_API
    if kind not in {SCORED_BY_API, SCORED_BY_QUERY}:
        return f"scoringType {kind!r} is not one of {SCORED_BY_API}, {SCORED_BY_QUERY}"
    if kind == SCORED_BY_API:
        return url_fault("scoringEndpoint", scorer.scoring_endpoint)
    if not stage.has_series(scorer):
        return "scoringType Query needs a source: the value of each of its series is a score"
    return None


def _default_fault(scorer: ScorerSummary) -> str | None:
    """The reason why the default score cannot be published, or None."""
    if scorer.default_score is None:
        return None
    if not stage.has_series(scorer):
        return "defaultScore needs a source: it is published if the source has no series"
    labels = dimension.label_placeholders(scorer.score_dimension_format)
    if labels:
        return (
            "defaultScore needs a scoreDimensionFormat without labels, and it has"
            f" ${{{labels[0].name}}}"
        )
    return None


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The clusters that one scorer scores.

    ``by_value``: which value of its cluster label means which of them.
    """

    names: tuple[str, ...]
    by_value: Mapping[str, str]


class ScoredClusters:
    """Answers which clusters a scorer scores.

    The next cycle follows a new file, without a restart.
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

    def targets(self, scorer: ScorerSummary) -> Targets:
        """The target clusters of a scorer. The answer is the same object until the file changes."""
        if self._own is not None:
            return self._own
        identity = scorer.cluster_label.identity if scorer.cluster_label is not None else ""
        key = (scorer.name, identity)
        targets = self._targets.get(key)
        if targets is None:
            targets = self._find(scorer.name, identity)
            self._targets[key] = targets
        return targets

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
