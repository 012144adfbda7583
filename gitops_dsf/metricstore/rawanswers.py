"""The query for the raw scores of now, and the raw scores of each cluster in its answer.

It knows neither how the query is sent nor how the answer is encoded.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import MAX_LABEL, SCORE_NAME_LABEL, label_of, selector
from gitops_dsf.hub.raw_results import ByCluster, ClusterResults, LabelValues, RawResult
from gitops_dsf.hub.raw_series import exported

MAX_AGE: Final = 600.0
"""Seconds. Prometheus answers with samples of the last 5 minutes, other stores with older ones."""
MAX_AHEAD: Final = 60.0
"""Seconds by which the clock of a scraped agent's Prometheus may be ahead of this one."""
PART_LABEL: Final = "gitops_dsf_part"
"""Says what a series of the answer is: the lowest number, the highest one, or the time."""


class NumberedSeries(NamedTuple):
    """A series of an answer, and its number."""

    labels: Mapping[str, str]
    value: float


@dataclass(kw_only=True)
class _Cell:
    """One result on one cluster, as far as it is known."""

    low: float = math.nan
    high: float = math.nan
    measured: float = math.nan

    @property
    def is_whole(self) -> bool:
        return all(map(math.isfinite, (self.low, self.high, self.measured)))


def query_of_now(score_names: Iterable[str], *, cluster_label: str) -> str:
    """PromQL for raw scores and the times at which they were measured.

    Replicas of a Prometheus and the two agents of a restart have series of their own, so there may
    be several numbers of one result. Their bounds are asked for.
    """
    metric = selector(*score_names)
    labels = ", ".join((cluster_label, SCORE_NAME_LABEL, *map(label_of, LABELS)))
    parts = (
        ("low", f"min by ({labels}) ({metric})"),
        ("high", f"max by ({labels}) ({metric})"),
        # The oldest sample, because the bounds are only as fresh as that.
        ("time", f"min by ({labels}) (timestamp({metric}))"),
    )
    expressions: list[str] = []
    for part, expression in parts:
        # An empty source label and an empty pattern match every series: this adds the label to all.
        expressions.append(f'label_replace({expression}, "{PART_LABEL}", "{part}", "", "")')
    # Without the added label, `or` would drop series of the second part that the first one has.
    return " or ".join(expressions)


def exported_results(
    samples: Iterable[NumberedSeries],
    score_names: Collection[str],
    *,
    cluster_label: str,
    at: float,
) -> Mapping[str, ByCluster]:
    """The raw scores that agents exported, by score name, then by cluster.

    A cluster of which a part cannot be read is left out: the rest could be aggregated wrongly.
    """
    # The agent cuts label values at MAX_LABEL, so two results may have become one (`_results`).
    read = exported(cluster_label)
    cells: dict[tuple[str, str], dict[LabelValues, _Cell]] = {}
    for sample in samples:
        score_name = sample.labels.get(SCORE_NAME_LABEL, "")
        cluster, labels = read(sample.labels)
        cell = cells.setdefault((score_name, cluster), {}).setdefault(labels, _Cell())
        _fill(cell, sample)
    by_score: dict[str, dict[str, ClusterResults]] = {name: {} for name in score_names}
    for (score_name, cluster), by_labels in cells.items():
        results = _results(by_labels, at=at)
        if results is not None and cluster and score_name in by_score:
            by_score[score_name][cluster] = results
    return by_score


def _fill(cell: _Cell, sample: NumberedSeries) -> None:
    part = sample.labels.get(PART_LABEL)
    if part == "low":
        cell.low = sample.value
    elif part == "high":
        cell.high = sample.value
    elif part == "time":
        cell.measured = sample.value


def _results(by_labels: Mapping[LabelValues, _Cell], *, at: float) -> ClusterResults | None:
    """The results of a cluster; None if one is incomplete, cut, too old or of the future."""
    results = []
    for labels, cell in by_labels.items():
        if not cell.is_whole or any(len(value) >= MAX_LABEL for value in labels):
            return None
        if not -MAX_AHEAD <= at - cell.measured <= MAX_AGE or cell.low > cell.high:
            return None
        results.append(RawResult(labels=labels, low=cell.low, high=cell.high))
    measured = min(cell.measured for cell in by_labels.values())
    return ClusterResults(results=tuple(results), measured=measured)
