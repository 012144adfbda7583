"""Checks ScoreTests: their notation, what they name, and that they do not contradict themselves."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Final

from dsf_wire.dimension import can_yield
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import FieldPath, texts_in, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.score_test import ExpectedScore, GivenScore, ScoreTest
from gitops_dsf.repository.model.series_values import SeriesValuesError, expand
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.wording import did_you_mean_one_of

MOST_VALUES: Final = 200_000
"""Values of all series of one test."""
_NOTATION: Final = "write the values of the runs, such as '40 42 38+2x5 _ _x3'; `gitops-dsf explain DSF601` explains them"


@rule()
def series_values_parse(context: Context) -> Iterator[Diagnostic]:
    """The values of a series must be in promtool's notation, and a test has a bounded number of them."""
    for item in context.declared.score_tests:
        total = 0
        for index, series in enumerate(item.value.spec.given.series):
            path = ("spec", "given", "series", index, "values")
            try:
                values = expand(series.values)
            except SeriesValuesError as error:
                yield codes.SERIES_VALUES.at(item.inside(path, error.offset), str(error), _NOTATION)
                continue
            if not values:
                yield codes.SERIES_VALUES.at(item.at(*path), "the series has no value", _NOTATION)
            total += len(values)
            if total > MOST_VALUES:
                message = f"the series of a test have at most {MOST_VALUES:,} values together"
                yield codes.SERIES_VALUES.at(item.at(*path), message, "write several tests")
                break


@rule(needs=("FleetRepository", "DynamicScorer", "ManagedCluster", *PLACEMENTS))
def tests_name_what_exists(context: Context) -> Iterator[Diagnostic]:
    """Scorers, clusters, applications and Placements of a test must exist."""
    known: dict[str, Collection[str]] = {
        "DynamicScorer": context.scorers,
        "Placement": placement_keys(context),
        "ScoredApplication": {item.name for item in context.declared.applications},
    }
    for item in context.declared.score_tests:
        given = item.value.spec.given.clusters
        known["ManagedCluster"] = (
            context.inventory.clusters if given is None else {each.name for each in given}
        )
        for kind, path, name in _named(item):
            found = [name] if name in known[kind] else []
            if kind == "Placement":
                found = [key for key in known[kind] if name in {key, key.partition("/")[2]}]
            if len(found) > 1:
                message, hint = (
                    f"several Placements are called {name}",
                    f"write {' or '.join(found)}",
                )
            elif not found:
                where = " in clusters/" if given is None else " in given.clusters"
                message = f"there is no {kind} {name}{where if kind == 'ManagedCluster' else ''}"
                hint = did_you_mean_one_of(name, known[kind], where="known here")
            elif kind == "DynamicScorer" and context.waits_for_lock(context.scorers[name]):
                message = f"{name} waits for its lock: how it runs is not known yet"
                hint = f"run gitops-dsf sync --scorer {name}"
            else:
                continue
            yield codes.UNKNOWN_IN_TEST.at(item.at(*path), message, hint)


@rule()
def scores_name_their_items(context: Context) -> Iterator[Diagnostic]:
    """A score is an item of an AddOnPlacementScore. It need not be named if the scorer has only one."""
    published = {scorer.resource_name: scorer.name for scorer in context.complete.values()}
    for item in context.declared.score_tests:
        for path, score in _scores(item):
            if score.resource in published:
                name = published[score.resource]
                message = f"the scorer {name} of this repository publishes {score.resource}"
                hint = f"write scorer: {name} in place of resource"
                edits = (Edit((*path, "scorer"), value=name), Edit((*path, "resource")))
                yield codes.BAD_VALUE.at(item.at(*path, "resource"), message, hint, edits=edits)
                continue
            scorer = context.complete.get(score.scorer or "")
            if scorer is None:
                continue
            template, name = scorer.dimension_format, scorer.score_name
            if score.dimension is None and scorer.only_item is None:
                message = (
                    f"the items of {scorer.name} are named {template}, so one must be named here"
                )
                yield codes.TEST_DIMENSION.at(
                    item.at(*path), message, "add dimension: the name of the item"
                )
            elif score.dimension and not can_yield(template, score.dimension, score_name=name):
                message = f"{scorer.name} publishes no item {score.dimension}: its items are named {template}"
                yield codes.TEST_DIMENSION.at(
                    item.at(*path, "dimension"), message, "correct the name"
                )


@rule()
def nothing_is_given_twice(context: Context) -> Iterator[Diagnostic]:
    """A test gives each cluster, series, score and decision once."""
    for item in context.declared.score_tests:
        given = item.value.spec.given
        for name, keys in (
            ("clusters", [each.name for each in given.clusters or ()]),
            ("series", [(each.scorer, each.cluster, each.labels) for each in given.series]),
            (
                "scores",
                [
                    (each.scorer, each.resource, each.cluster, each.dimension)
                    for each in given.scores
                ],
            ),
            ("decisions", [(each.application, each.placement) for each in given.decisions]),
        ):
            yield from _twice(item, ("spec", "given", name), keys)


def placement_keys(context: Context) -> Sequence[str]:
    """`namespace/name` of all Placements of the repository, sorted."""
    declared = context.declared
    items = (*declared.rankings, *declared.placements)
    return sorted({f"{context.namespace_of(item)}/{item.name}" for item in items})


_KINDS: Final = {
    "scorer": "DynamicScorer",
    "cluster": "ManagedCluster",
    "clusters": "ManagedCluster",
    "application": "ScoredApplication",
    "placement": "Placement",
}
"""What the items of the lists in `given` and `expect` name, by field."""


def _named(item: Item[ScoreTest]) -> Iterator[tuple[str, FieldPath, str]]:
    """The kind of what a test names, where, and the name."""
    data = item.document.data
    for section in ("given", "expect"):
        for name in value_at(data, ("spec", section)) or ():
            for place in item.document.items("spec", section, name):
                for field, kind in _KINDS.items():
                    where = (*place, field)
                    for path, text in texts_in(value_at(data, where), where):
                        yield kind, path, text


def _scores(item: Item[ScoreTest]) -> Iterator[tuple[FieldPath, GivenScore | ExpectedScore]]:
    for index, given in enumerate(item.value.spec.given.scores):
        yield ("spec", "given", "scores", index), given
    for index, expected in enumerate(item.value.spec.expect.scores):
        yield ("spec", "expect", "scores", index), expected


def _twice(
    item: Item[ScoreTest], path: FieldPath, keys: Iterable[Hashable]
) -> Iterator[Diagnostic]:
    seen: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        first = seen.setdefault(key, index)
        if first != index:
            message = f"the same is given already at {item.at(*path, first)}"
            yield codes.TEST_TWICE.at(item.at(*path, index), message, "remove one of them")
