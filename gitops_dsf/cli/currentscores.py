"""The raw scores of now, which `diff` may read from a metric store.

A store that fails, is late or answers nonsense never fails a preview: the scores after the change
stay within bounds, and one sentence says why.
"""

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from gitops_dsf.hub.raw_results import NO_RAW_SCORES, ClusterResults, RawScores
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.rawquestions import (
    AnewQuestion,
    RawQuestion,
    RawScorerAnswer,
    RawScoreSource,
    anew_questions,
    raw_questions,
)

if TYPE_CHECKING:
    from gitops_dsf.metricstore.client import MetricStore

SECONDS: Final = 20.0
"""For all questions together. A pull request waits for them."""

ByCluster = Mapping[str, ClusterResults]


class CurrentScores(NamedTuple):
    """Raw scores, and what people should know of where they are from."""

    raw: RawScores
    source: RawScoreSource | None
    """None if no store was asked."""


NOTHING_ASKED: Final = CurrentScores(NO_RAW_SCORES, None)


def current_scores(
    args: argparse.Namespace,
    base: CheckedFleet | None,
    head: CheckedFleet | None,
    *,
    is_simulated: bool,
) -> CurrentScores:
    """Asks the store of --prometheus for what a preview could use. Raises UsageError.

    `is_simulated`: whether there is data of a hub. Without it raw scores are of no use.
    """
    if args.prometheus is None:
        return NOTHING_ASKED
    try:
        from gitops_dsf.cli.storeaccess import check_store_url
    except ModuleNotFoundError as error:
        problem = f"{error.name} is not installed; a store needs the extra backtest"
        return CurrentScores(
            NO_RAW_SCORES, RawScoreSource(origin="--prometheus", scorers=(), problems=(problem,))
        )
    check_store_url(args.prometheus)
    if base is None or head is None or not is_simulated:
        return NOTHING_ASKED
    exported = tuple(raw_questions(base, head))
    anew = tuple(anew_questions(base, head, cluster_label=args.cluster_label))
    if not exported and not anew:
        return NOTHING_ASKED
    reading = _Reading(args, at=(time.time() if args.now is None else args.now.timestamp()))
    return reading.read(base, exported, anew)


class _Reading:
    """One attempt to read from a store. What was read before it failed is of use."""

    def __init__(self, args: argparse.Namespace, *, at: float) -> None:
        self._args = args
        self._at = at
        self._exported: dict[str, ByCluster] = {}
        self._anew: dict[str, ByCluster] = {}
        self._answers: list[RawScorerAnswer] = []

    def read(
        self,
        base: CheckedFleet,
        exported: Sequence[RawQuestion],
        anew: Sequence[AnewQuestion],
    ) -> CurrentScores:
        from dsf_runtime.calls import display
        from gitops_dsf.metricstore.errors import StoreError

        problems: tuple[str, ...] = ()
        try:
            asyncio.run(self._read(base, exported, anew))
        except StoreError as error:
            problems = (str(error),)
        except TimeoutError:
            url = display(self._args.prometheus)
            problems = (f"{url} did not answer everything within {SECONDS:.0f} s",)
        return CurrentScores(
            RawScores(exported=self._exported, anew=self._anew),
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
        anew: Sequence[AnewQuestion],
    ) -> None:
        from gitops_dsf.cli.storeaccess import open_store

        async with asyncio.timeout(SECONDS), open_store(self._args, base) as store:
            if exported:
                await self._read_exported(store, exported)
            for asked in anew:
                await self._read_anew(store, asked)

    async def _read_exported(self, store: "MetricStore", asked: Sequence[RawQuestion]) -> None:
        from gitops_dsf.metricstore.currentscores import exported_now

        names = [question.score_name for question in asked]
        by_score = await exported_now(
            store, names, cluster_label=self._args.cluster_label, at=self._at
        )
        for question in asked:
            by_cluster = _only(by_score[question.score_name], question.clusters)
            self._exported[question.resource] = by_cluster
            self._note(question.scorer, len(question.clusters), by_cluster, anew=False)

    async def _read_anew(self, store: "MetricStore", asked: AnewQuestion) -> None:
        from gitops_dsf.backtest.rawscores import evaluated
        from gitops_dsf.metricstore.currentscores import evaluated_now

        query = asked.query
        by_cluster = await evaluated_now(
            store,
            query.text,
            read=evaluated(query.label, query.clusters),
            parameters=dict(query.parameters),
            at=self._at,
        )
        self._anew[asked.resource] = by_cluster
        self._note(asked.scorer, len(query.clusters), by_cluster, anew=True)

    def _note(self, scorer: str, clusters: int, by_cluster: ByCluster, *, anew: bool) -> None:
        age = None
        if by_cluster:
            oldest = min(results.measured for results in by_cluster.values())
            age = max(0, round(self._at - oldest))
        self._answers.append(
            RawScorerAnswer(
                scorer=scorer,
                clusters=clusters,
                answered=len(by_cluster),
                age_seconds=age,
                anew=anew,
            )
        )


def _only(by_cluster: ByCluster, clusters: frozenset[str]) -> ByCluster:
    return {cluster: results for cluster, results in by_cluster.items() if cluster in clusters}
