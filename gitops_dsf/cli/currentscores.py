"""The raw scores of now, which `diff` may read from a metric store, or from the state branch.

A store that fails, is late or answers nonsense never fails a preview: the scores after the change
stay within bounds, and one sentence says why.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from gitops_dsf.hub.raw_results import NO_RAW_SCORES, ByCluster, RawScores
from gitops_dsf.hub.snapshots.snapshot import HubData, Snapshot
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.rawquestions import (
    RawQuestion,
    RawScorerAnswer,
    RawScoreSource,
    ReevaluationQuery,
    raw_questions,
    reevaluation_queries,
)

if TYPE_CHECKING:
    from gitops_dsf.metricstore.client import OpenStore

# A preview without a store has bounds of the scores and is of use, so this wait is a short one.
SECONDS: Final = 20.0
"""The time limit for all queries together. A pull request waits for them."""
MAX_BEHIND: Final = 3600.0
"""Seconds by which raw scores in a snapshot may be older than its published scores. The reconciler
leaves out older ones, and others may have been written by hand.
"""


class CurrentScores(NamedTuple):
    """Raw scores, and what people should know of where they are from."""

    raw: RawScores
    source: RawScoreSource | None
    """None if no store was asked, and the data of the hub has no raw scores."""

    @property
    def is_of_use(self) -> bool:
        """Whether there is a raw score of any cluster."""
        return any(self.raw.exported.values()) or any(self.raw.reevaluated.values())


NOTHING_ASKED: Final = CurrentScores(NO_RAW_SCORES, None)


def current_scores(
    args: argparse.Namespace,
    base: CheckedFleet | None,
    head: CheckedFleet | None,
    data: HubData,
) -> CurrentScores:
    """The raw scores of the store of --prometheus, else of the hub's data. Raises UsageError.

    Without data of a hub nothing is simulated, and raw scores are of no use.
    """
    stored: CurrentScores | None = None
    if args.prometheus is not None:
        # The extra is optional. A preview without it is still of use, and says what is missing.
        try:
            from gitops_dsf.cli.storeaccess import check_store_url
        except ModuleNotFoundError as error:
            problem = f"{error.name} is not installed; a store needs the extra backtest"
            source = RawScoreSource(origin="--prometheus", scorers=(), problems=(problem,))
            stored = CurrentScores(NO_RAW_SCORES, source)
        else:
            # A wrong URL is a mistake of whoever wrote the command. It is refused before anything
            # else is read, unlike a store that does not answer.
            check_store_url(args.prometheus)
    # Raw scores are of use only where a change leaves the published ones unknown: that needs two
    # valid sides, and a hub whose scores change.
    if base is None or head is None or data.snapshot is None:
        return stored or NOTHING_ASKED
    exported = tuple(raw_questions(base, head))
    if args.prometheus is not None and stored is None:
        reevaluated = tuple(reevaluation_queries(base, head, cluster_label=args.cluster_label))
        if exported or reevaluated:
            at = time.time() if args.now is None else args.now.timestamp()
            # The credentials are those of the base: see `trusted`.
            stored = _Reading(args, at=at).read(base, exported, reevaluated)
    # A store is asked of now, and a snapshot may be minutes old.
    if stored is not None and stored.is_of_use:
        return stored
    in_snapshot = _in_snapshot(exported, data.snapshot, today=data.today.timestamp())
    return _instead(stored, in_snapshot)


def _instead(stored: CurrentScores | None, in_snapshot: CurrentScores) -> CurrentScores:
    """The raw scores in the data of the hub, and the reason why a store that was asked has none."""
    if stored is None:
        return in_snapshot
    if in_snapshot.source is None or stored.source is None:
        return stored
    source = structs.replace(in_snapshot.source, problems=stored.source.problems)
    return CurrentScores(in_snapshot.raw, source)


def _in_snapshot(
    questions: Sequence[RawQuestion], snapshot: Snapshot, *, today: float
) -> CurrentScores:
    """The raw scores that were written beside the published ones, such as on the state branch."""
    exported: dict[str, ByCluster] = {}
    answers: list[RawScorerAnswer] = []
    for question in questions:
        by_cluster = _only(snapshot.raw_scores.get(question.score_name, {}), question.clusters)
        by_cluster = _of_its_time(by_cluster, snapshot)
        if by_cluster:
            exported[question.resource] = by_cluster
            answers.append(
                _answer(
                    question.scorer, len(question.clusters), by_cluster, at=today, reevaluated=False
                )
            )
    if not answers:
        return NOTHING_ASKED
    source = RawScoreSource(origin=snapshot.origin, scorers=tuple(answers), problems=())
    return CurrentScores(RawScores(exported=exported), source)


def _of_its_time(by_cluster: ByCluster, snapshot: Snapshot) -> ByCluster:
    """The raw scores that are not much older than the published scores beside them."""
    if snapshot.observed_at is None:
        return by_cluster
    oldest = snapshot.observed_at.timestamp() - MAX_BEHIND
    return {
        cluster: results for cluster, results in by_cluster.items() if results.measured >= oldest
    }


class _Reading:
    """One attempt to read from a store. What was read before it failed is of use."""

    def __init__(self, args: argparse.Namespace, *, at: float) -> None:
        self._args = args
        self._at = at
        self._exported: dict[str, ByCluster] = {}
        self._reevaluated: dict[str, ByCluster] = {}
        self._answers: list[RawScorerAnswer] = []

    def read(
        self,
        base: CheckedFleet,
        exported: Sequence[RawQuestion],
        reevaluated: Sequence[ReevaluationQuery],
    ) -> CurrentScores:
        # Imported late, as everything of the runtime library here: `diff` without --prometheus
        # works without the extra that brings it.
        from dsf_runtime.calls import display
        from gitops_dsf.metricstore.errors import StoreError

        problems: tuple[str, ...] = ()
        try:
            asyncio.run(self._read(base, exported, reevaluated))
        except StoreError as error:
            problems = (str(error),)
        except TimeoutError:
            url = display(self._args.prometheus)
            problems = (f"{url} did not answer everything within {SECONDS:.0f} s",)
        return CurrentScores(
            RawScores(exported=self._exported, reevaluated=self._reevaluated),
            RawScoreSource(
                origin=display(self._args.prometheus),
                scorers=tuple(self._answers),
                problems=problems,
            ),
        )

    async def _read(
        self,
        base: CheckedFleet,
        exported: Sequence[RawQuestion],
        reevaluated: Sequence[ReevaluationQuery],
    ) -> None:
        from gitops_dsf.cli.storeaccess import open_store

        async with asyncio.timeout(SECONDS), open_store(self._args, base) as store:
            # One question for all scorers, so it comes before those that are asked one by one: if
            # the time ends, most of the answers are there.
            if exported:
                await self._read_exported(store, exported)
            for question in reevaluated:
                await self._read_reevaluated(store, question)

    async def _read_exported(self, store: "OpenStore", questions: Sequence[RawQuestion]) -> None:
        from gitops_dsf.metricstore.currentscores import exported_now

        names = [question.score_name for question in questions]
        by_score = await exported_now(
            store, names, cluster_label=self._args.cluster_label, at=self._at
        )
        for question in questions:
            by_cluster = _only(by_score[question.score_name], question.clusters)
            self._exported[question.resource] = by_cluster
            self._note(question.scorer, len(question.clusters), by_cluster, reevaluated=False)

    async def _read_reevaluated(self, store: "OpenStore", question: ReevaluationQuery) -> None:
        from gitops_dsf.hub.raw_series import evaluated
        from gitops_dsf.metricstore.currentscores import evaluated_now

        query = question.query
        by_cluster = await evaluated_now(
            store,
            query.text,
            read=evaluated(query.label, query.clusters),
            parameters=dict(query.parameters),
            at=self._at,
        )
        self._reevaluated[question.resource] = by_cluster
        self._note(question.scorer, len(query.clusters), by_cluster, reevaluated=True)

    def _note(
        self, scorer: str, clusters: int, by_cluster: ByCluster, *, reevaluated: bool
    ) -> None:
        self._answers.append(
            _answer(scorer, clusters, by_cluster, at=self._at, reevaluated=reevaluated)
        )


def _answer(
    scorer: str, clusters: int, by_cluster: ByCluster, *, at: float, reevaluated: bool
) -> RawScorerAnswer:
    """The answer for a scorer. Its age is that at the time `at`, in Unix seconds."""
    age = None
    if by_cluster:
        # The oldest, because a reader judges by the age whether all of them can be trusted.
        oldest = min(results.measured for results in by_cluster.values())
        # The clocks of a store and of this machine differ a little.
        age = max(0, round(at - oldest))
    return RawScorerAnswer(
        scorer=scorer,
        clusters=clusters,
        answered=len(by_cluster),
        age_seconds=age,
        reevaluated=reevaluated,
    )


def _only(by_cluster: ByCluster, clusters: frozenset[str]) -> ByCluster:
    return {cluster: results for cluster, results in by_cluster.items() if cluster in clusters}
