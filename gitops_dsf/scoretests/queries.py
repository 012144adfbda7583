"""Queries that promtool evaluates over the metrics of a test: what to ask, and what the answers mean."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dsf_wire import query
from dsf_wire.dimension import LABELS
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import SCORED_BY_QUERY
from gitops_dsf.backtest.publisher import Labels
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.score_test import ScoreTestSpec, seconds
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import names_text, shortened

MOST_EVALUATIONS: Final = 20_000


class QueryError(Exception):
    """A query could not be evaluated. The message is for people."""


@dataclass(frozen=True, kw_only=True)
class PromtoolQuestion:
    """The runs of one scorer on one cluster, and the metrics that its source has."""

    scorer: str
    cluster: str
    expressions: tuple[str, ...]
    times: range
    """Seconds from the beginning, of each run."""
    metrics: tuple[tuple[str, str], ...]
    """Series and values, as promtool reads them."""
    interval: int
    """Seconds between two values."""

    def other_metrics(self) -> str:
        """A sentence if no given metric has a name that the queries ask for; empty if one has."""
        asked = " ".join(self.expressions)
        names = sorted({series.partition("{")[0].strip() for series, _ in self.metrics} - {""})
        words = (rf"(?<![\w:]){re.escape(name)}(?![\w:])" for name in names)
        if "__name__" in asked or any(re.search(word, asked) for word in words):
            return ""
        given = f"it gives {names_text(names)}, and the query is {shortened(asked, most=120)}"
        return f"no metric of the test has a name that the query asks for: {given}"


Sample = tuple[Mapping[str, str], float]
"""Labels and value. The value of a native histogram is NaN, because agents drop it."""


@dataclass(frozen=True, kw_only=True)
class QueryResults:
    """The results of the runs of one scorer on one cluster."""

    series: Sequence[tuple[Labels, tuple[float | None, ...]]]
    """Labels that count, and one value for each run; None where a run does not have the series."""
    runs: int


Answers = Mapping[tuple[str, str], QueryResults]
"""By scorer and cluster."""
Evaluate = Callable[[PromtoolQuestion], QueryResults]
"""Raises QueryError."""


def no_promtool(question: PromtoolQuestion) -> QueryResults:
    what = f"the query of {question.scorer} is evaluated by promtool, which is not on the PATH"
    raise QueryError(f"{what}: install it, or name it with --promtool")


def questions(
    spec: ScoreTestSpec, *, fleet: CheckedFleet, scorers: Sequence[str], end: int
) -> Iterator[PromtoolQuestion]:
    """These scorers where there are metrics and no series. Raises QueryError if that is too much."""
    given = spec.given
    if not given.metrics:
        return
    with_series = {(each.scorer, each.cluster) for each in given.series}
    count = 0
    for name in scorers:
        scorer = fleet.scorer_by_name[name]
        if not_evaluated(scorer, fleet):
            continue
        for cluster in sorted(fleet.runs_on[name]):
            metrics = tuple(
                (each.series, each.values)
                for each in given.metrics
                if each.cluster in {None, cluster}
            )
            if not metrics or (name, cluster) in with_series:
                continue
            expressions = tuple(part.text for part in query.split(scorer.spec.source.params.query))
            times = range(0, end + 1, scorer.spec.scoring.params.interval)
            count += len(times) * len(expressions)
            if count > MOST_EVALUATIONS:
                most = f"the queries of a test are evaluated at most {MOST_EVALUATIONS:,} times"
                raise QueryError(f"{most}; write earlier expectations, or fewer clusters")
            yield PromtoolQuestion(
                scorer=name,
                cluster=cluster,
                expressions=expressions,
                times=times,
                metrics=metrics,
                interval=seconds(given.metric_interval),
            )


def not_evaluated(scorer: EffectiveScorer, fleet: CheckedFleet) -> str:
    """Why the query of a scorer cannot be evaluated over given metrics; empty if it can."""
    if scorer.scoring_type != SCORED_BY_QUERY:
        return "it has a scoring API"
    if scorer.spec.on_hub:
        return "it runs on the hub"
    if any(form.source_type == SOURCE_TYPE for form in fleet.by_variant[scorer.name]):
        return "its source is Kubernetes"
    return ""


def answer_of(found: Sequence[Sequence[Sample]]) -> QueryResults:
    """The answer for the samples of each run. Series differ in all labels, also those that do not count."""
    columns: dict[tuple[tuple[str, str], ...], list[float | None]] = {}
    for number, samples in enumerate(found):
        for labels, value in samples:
            column = columns.setdefault(tuple(sorted(labels.items())), [None] * len(found))
            column[number] = value
    return QueryResults(
        series=[
            (tuple(dict(labels).get(name, "") for name in LABELS), tuple(values))
            for labels, values in columns.items()
        ],
        runs=len(found),
    )
