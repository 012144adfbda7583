"""One cycle of one scorer outside a cluster, for `gitops-dsf scorer try`. It publishes nothing.

The stages, bounds and time-outs are those of `run`. Only the place differs: the caller names the
metric source, and there is no cluster whose Secrets could be read.
"""

import base64
import ssl
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsf_agent.configuration import settings as settings_module
from dsf_agent.configuration.snapshot import ConfigurationSnapshot, ScoredClusters, parse
from dsf_agent.endpoints.auth import RequestAuth, scoring_auth
from dsf_agent.endpoints.budget import Budget, Reservation
from dsf_agent.endpoints.credentials import EndpointCredentials
from dsf_agent.endpoints.endpoint import Endpoint, token_server
from dsf_agent.endpoints.transport import Transport
from dsf_agent.errors import AgentError
from dsf_agent.fetch.stage import Fetch
from dsf_agent.kubernetes.cluster import ClusterInformers
from dsf_agent.metrics import AgentMetrics
from dsf_agent.schedule.cycle import Cycle, CycleResult
from dsf_agent.scoring import query
from dsf_agent.scoring.labels import LONG_NAME, LabelSet, LabelSets
from dsf_agent.scoring.results import ScoreSeries, ScoringStage
from dsf_wire import clusters as wire_clusters
from dsf_wire import summary
from dsf_wire.clusters import FleetCluster
from dsf_wire.scored import Reason
from dsf_wire.scorevalue import Aggregation, aggregate
from dsf_wire.summary import Header, ScorerSummary, SecretRef

_GIVEN: Final = "given on the command line"
"""The name of the Secret that holds what the user gives for the source.

No cluster has one of this name.
"""
_TOKEN_KEY: Final = "token"  # noqa: S105 - a key, not a token


class TriedItem(NamedTuple):
    """An item that the scorer would publish."""

    cluster: str
    name: str
    raw_scores: tuple[float, ...]
    """The raw scores of its results, in their order. A default score has none."""
    aggregate: float | None
    """The raw score that is mapped to the value; None for a default score."""
    value: int


class TrialFailure(NamedTuple):
    """The reason why the cycle gave no scores, as metrics and logs of the agent name it."""

    stage: str
    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """The result of one cycle."""

    failure: TrialFailure | None = None
    series: int = 0
    size: int = 0
    """Bytes of the answers of the source."""
    results: int = 0
    """Results of the clusters, without dropped ones."""
    clamped: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Results that give no item, by reason."""
    first_dropped: str = ""
    """The reason why the first of them was dropped; empty if the short reason is enough."""
    warnings: tuple[str, ...] = ()
    """The warnings of the source."""
    items: tuple[TriedItem, ...] = ()
    """The items, by cluster and name."""
    unscored: tuple[str, ...] = ()
    """Clusters of scoring requests that failed, of a scorer on the hub."""
    unscored_because: str = ""
    """The reason why the first of these requests failed."""


@dataclass(frozen=True, kw_only=True)
class SourceAccess:
    """The credentials for the metric source, in place of the scorer's own ones."""

    token: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trust: ssl.SSLContext | None = None
    """The CAs that are trusted, and the client certificate; None for the CAs of the system."""

    def auth(self) -> RequestAuth:
        """The same as an agent reads it from a Secret, so that messages hide the values."""
        secret_name = _GIVEN if self.token else ""
        headers = tuple(
            Header(name=name, secret_ref=SecretRef(name=_GIVEN, key=name)) for name in self.headers
        )
        return RequestAuth(secret_name=secret_name, secret_key=_TOKEN_KEY, headers=headers)

    async def read(self, kind: str, name: str) -> dict[str, Any]:
        """Reads the Secret of what the user gave. Raises AgentError for every other object."""
        if name != _GIVEN:
            raise AgentError(
                f"{kind} {name!r} is in the managed cluster, which a trial does not read",
                reason=Reason.NOT_FOUND,
            )
        values = {**self.headers, _TOKEN_KEY: self.token}
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        return {"data": data}


async def try_scorer(
    scorer: ScorerSummary,
    *,
    cluster: str,
    clusters: Iterable[FleetCluster] | None,
    access: SourceAccess,
    now: float,
) -> TrialResult:
    """Runs one cycle at a time in Unix seconds.

    ``clusters`` are those of the hub scorer; None for a scorer that an agent runs on ``cluster``.
    """
    # As the agent reads it from its ConfigMap: what it refuses there is a failure here, too.
    content = summary.encode([scorer]).encode()
    known = None if clusters is None else wire_clusters.encode(clusters).encode()
    snapshot = parse(content, known)
    # With one scorer, each mistake is one of this scorer.
    if snapshot.problems:
        reason = snapshot.problems[0].reason
        return TrialResult(failure=TrialFailure("configuration", "bad_entry", reason))
    stages = _Stages(snapshot, cluster=cluster, access=access)
    try:
        result = await stages.cycle(now=now).run()
    except AgentError as error:
        return TrialResult(failure=TrialFailure(error.stage, error.reason.value, str(error)))
    finally:
        await stages.close()
    return TrialResult(
        series=result.series,
        size=result.size,
        results=result.results,
        clamped=result.clamped,
        dropped=dict(sorted(result.dropped.items())),
        first_dropped=result.first_fault,
        warnings=result.warnings,
        items=tuple(_items(scorer, result, own="" if clusters is not None else cluster)),
        unscored=tuple(sorted(result.unscored)),
        unscored_because=result.unscored_because,
    )


class _GivenCredentials(EndpointCredentials):
    """Credentials of endpoints, where the TLS context of the source is given."""

    source: RequestAuth | None = None
    source_trust: ssl.SSLContext | None = None

    async def trust(self, auth: RequestAuth, *, fresh: bool = False) -> ssl.SSLContext | None:
        if auth is self.source and self.source_trust is not None:
            return self.source_trust
        return await super().trust(auth, fresh=fresh)


class _Stages:
    """The stages of the one scorer of a configuration, with the agent's default limits."""

    def __init__(
        self, snapshot: ConfigurationSnapshot, *, cluster: str, access: SourceAccess
    ) -> None:
        flags = settings_module.parser().parse_args(["check", "--cluster-name", cluster])
        # Without the environment, because there its variables belong to other programs.
        settings = settings_module.read(flags, {})
        (self._scorer,) = snapshot.scorers
        self._cluster = cluster
        self._auth = access.auth()
        self._transport = Transport(limits=settings.limits)
        self._reservation = Budget(limit=settings.bytes_in_flight).reservation()
        self._credentials = _GivenCredentials(
            read=access.read,
            # This program may run in a pod, too, and the token of that pod is not the agent's.
            token_file=Path("/nonexistent/token"),
            ask=token_server(self._transport),
            wall=time.time,
        )
        self._credentials.source = self._auth
        self._credentials.source_trust = access.trust
        self._informers = ClusterInformers(server=None, wait_seconds=settings.limits.total_seconds)
        self._fleet = ScoredClusters(own=cluster if snapshot.clusters is None else "")
        if snapshot.clusters is not None:
            self._fleet.set(snapshot.clusters)

    def cycle(self, *, now: float) -> Cycle:
        scorer = self._scorer
        return Cycle(
            scorer=scorer,
            fleet=self._fleet,
            fetch=Fetch(
                scorer=scorer,
                endpoint=self._endpoint(self._auth, self._reservation),
                cluster=self._informers,
            ),
            score_of=self._score,
            publication=None,
            metrics=AgentMetrics(cluster=self._cluster).of(scorer.score_name),
            reservation=self._reservation,
            wall=lambda: now,
        )

    def _score(self, label_sets: LabelSets) -> ScoreSeries:
        scorer = self._scorer
        if scorer.scored_by_query:
            return partial(query.score, label_sets=label_sets)
        endpoint = self._endpoint(scoring_auth(scorer), self._reservation)
        return ScoringStage(scorer=scorer, endpoint=endpoint, label_sets=label_sets)

    def _endpoint(self, auth: RequestAuth, reservation: Reservation) -> Endpoint:
        return Endpoint(
            transport=self._transport,
            credentials=self._credentials,
            auth=auth,
            reservation=reservation,
        )

    async def close(self) -> None:
        await self._informers.close()
        await self._transport.close()


def credentials_needed(scorer: ScorerSummary) -> tuple[str, ...]:
    """The credentials of the scoring API that only a managed cluster has: ``Secret api-token``."""
    if scorer.scored_by_query:
        return ()
    auth = scoring_auth(scorer)
    names = [f"{kind} {name}" for kind, name in sorted(auth.objects)]
    if auth.service_account_token:
        names.append("the token of the agent's pod")
    return tuple(names)


def _items(scorer: ScorerSummary, result: CycleResult, *, own: str) -> Iterable[TriedItem]:
    how = Aggregation(scorer.score_aggregation or Aggregation.LAST)
    raw_scores: dict[str, tuple[float, ...]] = {}
    for cluster, (label_sets, scores) in result.by_cluster.items():
        prefix = "" if own else f"{cluster} "
        for item, of_item in _by_item(label_sets, scores).items():
            raw_scores[prefix + item] = of_item
    for name, value in sorted(result.items.items()):
        of_item = raw_scores.get(name, ())
        mapped = aggregate(of_item, how) if of_item else None
        cluster = own
        item = name
        if not own:
            # Names of clusters have no spaces, and names of items may have some.
            cluster, _, item = name.partition(" ")
        yield TriedItem(cluster, item, of_item, mapped, value)


def _by_item(
    label_sets: Iterable[LabelSet], scores: Iterable[float]
) -> Mapping[str, tuple[float, ...]]:
    by_item: dict[str, list[float]] = defaultdict(list)
    for label_set, score in zip(label_sets, scores, strict=True):
        if label_set.item not in {"", LONG_NAME}:
            by_item[label_set.item].append(score)
    return {item: tuple(of_item) for item, of_item in by_item.items()}
