"""Queries that promtool evaluates over the metrics of a test, and their answers.

The evaluation is in `gitops_dsf.metricstore.promtool`, because it starts a program.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dsf_wire import query
from dsf_wire.dimension import LABELS
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import SCORED_BY_QUERY
from gitops_dsf.hub.raw_results import LabelValues
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.score_test import Given, ScoreTestSpec, seconds
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import names_text, shortened

MAX_EVALUATIONS: Final = 20_000
"""Upper limit for one test, each evaluation at one time."""
MAX_SHOWN_QUERY: Final = 120
"""Characters of a query in a message."""


class QueryError(Exception):
    """A query could not be evaluated. The message is for people."""


class ScorerOnCluster(NamedTuple):
    """The names of a scorer, and of a cluster on which it runs."""

    scorer: str
    cluster: str


class GivenSamples(NamedTuple):
    """A series and its values, as promtool reads them."""

    series: str
    values: str


@dataclass(frozen=True, kw_only=True)
class PromtoolQuestion:
    """The runs of one scorer on one cluster, and the metrics that its source has."""

    scorer: str
    cluster: str
    expressions: tuple[str, ...]
    times: range
    """Seconds from the beginning, of each run."""
    metrics: tuple[GivenSamples, ...]
    interval: int
    """Seconds between two values."""

    def other_metrics(self) -> str:
        """A sentence if no given metric has a name that the queries ask for; empty if one has."""
        text = " ".join(self.expressions)
        # A matcher of __name__ may ask for any name.
        if "__name__" in text:
            return ""
        names = {metric.series.partition("{")[0].strip() for metric in self.metrics} - {""}
        for name in names:
            # A name of a metric may have colons, which are not part of a word of `re`.
            if re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", text):
                return ""
        return (
            "no metric of the test has a name that the query asks for: it gives"
            f" {names_text(sorted(names))}, and the query is"
            f" {shortened(text, max_characters=MAX_SHOWN_QUERY)}"
        )


class QuerySample(NamedTuple):
    """A sample of a result."""

    labels: Mapping[str, str]
    value: float
    """NaN for a native histogram, because agents drop it."""


class ResultSeries(NamedTuple):
    """A series of results of one scorer on one cluster."""

    labels: LabelValues
    values: tuple[float | None, ...]
    """One for each run; None where a run does not have the series."""


@dataclass(frozen=True, kw_only=True)
class QueryResults:
    """The results of the runs of one scorer on one cluster."""

    series: Sequence[ResultSeries]
    runs: int


Evaluate = Callable[[PromtoolQuestion], QueryResults]
"""Raises QueryError."""


def no_promtool(question: PromtoolQuestion) -> QueryResults:
    """Evaluates nothing, because there is no promtool. Raises QueryError."""
    raise QueryError(
        f"the query of {question.scorer} is evaluated by promtool, which is not on the PATH:"
        " install it, or name it with --promtool"
    )


def questions(
    spec: ScoreTestSpec, *, fleet: CheckedFleet, scorers: Sequence[str], end: int
) -> Iterator[PromtoolQuestion]:
    """The questions about scorers that have metrics and no series.

    `end` is the last time of the test, in seconds. Raises QueryError if there are too many.
    """
    if not spec.given.metrics:
        return
    # Series of a test are results, so nothing is left to be evaluated where it gives them.
    with_series = {(series.scorer, series.cluster) for series in spec.given.series}
    evaluations = 0
    for name in scorers:
        scorer = fleet.scorer_by_name[name]
        if not_evaluated(scorer, fleet):
            continue
        for cluster in sorted(fleet.runs_on[name]):
            metrics = _metrics_on(cluster, spec.given)
            if not metrics or (name, cluster) in with_series:
                continue
            parts = query.split(scorer.spec.source.params.query)
            question = PromtoolQuestion(
                scorer=name,
                cluster=cluster,
                expressions=tuple(part.text for part in parts),
                times=range(0, end + 1, scorer.spec.scoring.params.interval),
                metrics=metrics,
                interval=seconds(spec.given.metric_interval),
            )
            evaluations += len(question.times) * len(question.expressions)
            if evaluations > MAX_EVALUATIONS:
                raise QueryError(
                    f"the queries of a test are evaluated at most {MAX_EVALUATIONS:,} times; write"
                    " earlier expectations, or fewer clusters"
                )
            yield question


def _metrics_on(cluster: str, given: Given) -> tuple[GivenSamples, ...]:
    """The metrics that the source of a cluster has."""
    samples: list[GivenSamples] = []
    for metric in given.metrics:
        # A metric without a cluster is in the sources of all clusters.
        if metric.cluster in {None, cluster}:
            samples.append(GivenSamples(metric.series, metric.values))
    return tuple(samples)


def not_evaluated(scorer: EffectiveScorer, fleet: CheckedFleet) -> str:
    """The reason why a scorer's query cannot be evaluated over given metrics; empty if it can."""
    # The answer of an API cannot follow from metrics: such a test gives series of results instead.
    if scorer.scoring_type != SCORED_BY_QUERY:
        return "it has a scoring API"
    # The hub scorer asks one store about all clusters, and metrics are given for each cluster.
    if scorer.spec.on_hub:
        return "it runs on the hub"
    for variant in fleet.by_variant[scorer.name]:
        if variant.source_type == SOURCE_TYPE:
            return "its source is Kubernetes"
    return ""


def results_of(runs: Sequence[Sequence[QuerySample]]) -> QueryResults:
    """The results for the samples of each run.

    Series differ in all labels, also those that no item is named by: the agent aggregates them.
    """
    columns: dict[tuple[tuple[str, str], ...], list[float | None]] = {}
    for number, samples in enumerate(runs):
        for sample in samples:
            labels = tuple(sorted(sample.labels.items()))
            column = columns.setdefault(labels, [None] * len(runs))
            column[number] = sample.value
    series: list[ResultSeries] = []
    for labels, values in columns.items():
        value_by_label = dict(labels)
        counted = tuple(value_by_label.get(name, "") for name in LABELS)
        series.append(ResultSeries(counted, tuple(values)))
    return QueryResults(series=series, runs=len(runs))
