"""Checks ScoreTests: their notation, the objects that they name, and contradictions.

Not guaranteed: that a test without findings passes. `gitops-dsf test` runs it.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from dsf_wire.dimension import can_yield, placeholders
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.repository.load import FieldPath, texts_in, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.score_test import ExpectedScore, GivenScore, ScoreTest
from gitops_dsf.repository.model.series_values import SeriesValuesError, expand
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean_one_of

MAX_VALUES: Final = 200_000
"""Values of all series of one test."""
_NOTATION: Final = (
    "write the values of the runs, such as '40 42 38+2x5 _ _x3'; `gitops-dsf explain DSF601`"
    " explains them"
)
_KINDS: Final[Mapping[str, str]] = {
    "scorer": "DynamicScorer",
    "cluster": "ManagedCluster",
    "clusters": "ManagedCluster",
    "application": "ScoredApplication",
    "placement": "Placement",
}
"""The kinds of objects that items of the lists in `given` and `expect` name, by field."""


class _Reference(NamedTuple):
    """The name of an object in a test."""

    kind: str
    path: FieldPath
    name: str


@rule()
def series_values_parse(context: Context) -> Iterator[Diagnostic]:
    """The values of a series must be in promtool's notation, and their number is bounded."""
    for test in context.declared.score_tests:
        total = 0
        for index, series in enumerate(test.value.spec.given.series):
            path = ("spec", "given", "series", index, "values")
            try:
                values = expand(series.values)
            except SeriesValuesError as error:
                yield codes.SERIES_VALUES.at(test.inside(path, error.offset), str(error), _NOTATION)
                continue
            if not values:
                yield codes.SERIES_VALUES.at(test.at(*path), "the series has no value", _NOTATION)
            # `_x200000` is short to write, and each value is scored and simulated.
            total += len(values)
            if total > MAX_VALUES:
                yield codes.SERIES_VALUES.at(
                    test.at(*path),
                    f"the series of a test have at most {MAX_VALUES:,} values together",
                    "write several tests",
                )
                break


@rule(needs=("FleetRepository", "DynamicScorer", "ManagedCluster", *PLACEMENTS))
def tests_name_what_exists(context: Context) -> Iterator[Diagnostic]:
    """Scorers, clusters, applications and Placements of a test must exist."""
    names_by_kind: dict[str, Collection[str]] = {
        "DynamicScorer": context.scorers,
        "Placement": placement_keys(context),
        "ScoredApplication": {application.name for application in context.declared.applications},
    }
    for test in context.declared.score_tests:
        given_clusters = test.value.spec.given.clusters
        # A test with clusters of its own does not see those of the inventory.
        if given_clusters is None:
            names_by_kind["ManagedCluster"] = context.inventory.clusters
        else:
            names_by_kind["ManagedCluster"] = {cluster.name for cluster in given_clusters}
        for reference in _references(test):
            names = names_by_kind[reference.kind]
            if reference.kind == "Placement":
                yield from _placement(test, reference, names)
            elif reference.name not in names:
                yield _unknown(test, reference, names)
            elif reference.kind == "DynamicScorer":
                yield from _waiting(context, test, reference)


@rule()
def scores_name_their_items(context: Context) -> Iterator[Diagnostic]:
    """A score is an item of an AddOnPlacementScore.

    It need not be named if the scorer has only one.
    """
    published = {scorer.resource_name: scorer.name for scorer in context.complete.values()}
    for test in context.declared.score_tests:
        for path, score in _scores(test):
            if score.resource in published:
                name = published[score.resource]
                yield codes.BAD_VALUE.at(
                    test.at(*path, "resource"),
                    f"the scorer {name} of this repository publishes {score.resource}",
                    f"write scorer: {name} in place of resource",
                    edits=(Edit((*path, "scorer"), value=name), Edit((*path, "resource"))),
                )
                continue
            scorer = context.complete.get(score.scorer or "")
            if scorer is not None:
                yield from _dimension(test, path, score.dimension, scorer)


@rule(needs=("FleetRepository", "DynamicScorer"))
def scores_of_add_ons_are_those_that_rank(context: Context) -> Iterator[Diagnostic]:
    """A misspelt name would be given to a score that nothing ranks by."""
    external = context.external_scores
    for test in context.declared.score_tests:
        for path, score in _scores(test):
            if score.resource is None or score.dimension is None:
                continue
            if external.of(score.resource, score.dimension) is not None:
                continue
            # A Placement by hand may rank by a score that is not declared, so only what is nearly
            # the name of a declared one is a mistake.
            similar = external.closest(score.resource, score.dimension)
            if similar:
                yield codes.UNKNOWN_IN_TEST.at(
                    test.at(*path, "dimension"),
                    "spec.externalScores of gitops-dsf.yaml has no"
                    f" {score.resource}/{score.dimension}",
                    f"did you mean {similar}?",
                )


@rule()
def nothing_is_given_twice(context: Context) -> Iterator[Diagnostic]:
    """A test gives each cluster, series, score and decision once."""
    for test in context.declared.score_tests:
        content = test.value.spec.given
        yield from _twice(test, "clusters", content.clusters or (), "name")
        yield from _twice(test, "series", content.series, "scorer", "cluster", "labels")
        yield from _twice(
            test, "scores", content.scores, "scorer", "resource", "cluster", "dimension"
        )
        yield from _twice(test, "decisions", content.decisions, "application", "placement")


def placement_keys(context: Context) -> Sequence[str]:
    """`namespace/name` of all Placements of the repository, sorted."""
    declared = context.declared
    items = (*declared.rankings, *declared.placements)
    return sorted({f"{context.namespace_of(placement)}/{placement.name}" for placement in items})


def _references(test: Item[ScoreTest]) -> Iterator[_Reference]:
    data = test.document.data
    for section in ("given", "expect"):
        for name in value_at(data, ("spec", section)) or ():
            for entry in test.document.items("spec", section, name):
                # The lists have different fields, but a field names one kind in all of them.
                for field, kind in _KINDS.items():
                    start = (*entry, field)
                    for path, text in texts_in(value_at(data, start), start):
                        yield _Reference(kind, path, text)


def _placement(
    test: Item[ScoreTest], reference: _Reference, known: Collection[str]
) -> Iterator[Diagnostic]:
    """A Placement may be written without its namespace, if no other one has its name."""
    name = reference.name
    matching = [key for key in known if name in {key, key.partition("/")[2]}]
    if len(matching) > 1:
        yield codes.UNKNOWN_IN_TEST.at(
            test.at(*reference.path),
            f"several Placements are called {name}",
            f"write {' or '.join(matching)}",
        )
    elif not matching:
        yield codes.UNKNOWN_IN_TEST.at(
            test.at(*reference.path),
            f"there is no Placement {name}",
            did_you_mean_one_of(name, known, where="known here"),
        )


def _unknown(test: Item[ScoreTest], reference: _Reference, known: Collection[str]) -> Diagnostic:
    message = f"there is no {reference.kind} {reference.name}"
    if reference.kind == "ManagedCluster" and test.value.spec.given.clusters is not None:
        message = f"there is no ManagedCluster {reference.name} in given.clusters"
    elif reference.kind == "ManagedCluster":
        message = f"there is no ManagedCluster {reference.name} in clusters/"
    hint = did_you_mean_one_of(reference.name, known, where="known here")
    return codes.UNKNOWN_IN_TEST.at(test.at(*reference.path), message, hint)


def _waiting(
    context: Context, test: Item[ScoreTest], reference: _Reference
) -> Iterator[Diagnostic]:
    name = reference.name
    if context.waits_for_lock(context.scorers[name]):
        yield codes.UNKNOWN_IN_TEST.at(
            test.at(*reference.path),
            f"{name} waits for its lock: how it runs is not known yet",
            f"run gitops-dsf sync --scorer {name}",
        )


def _dimension(
    test: Item[ScoreTest], path: FieldPath, dimension: str | None, scorer: EffectiveScorer
) -> Iterator[Diagnostic]:
    template = scorer.dimension_format
    if dimension is None and scorer.only_item is None:
        yield codes.TEST_DIMENSION.at(
            test.at(*path),
            f"the items of {scorer.name} are named {template}, so one must be named here",
            "add dimension: the name of the item",
        )
    elif dimension and not can_yield(template, dimension, score_name=scorer.score_name):
        yield codes.TEST_DIMENSION.at(
            test.at(*path, "dimension"),
            f"{scorer.name} publishes no item {dimension}: its items are named {template}",
            "correct the name",
        )
    elif dimension and placeholders(dimension):
        yield codes.TEST_DIMENSION.at(
            test.at(*path, "dimension"),
            f"dimension is the name of one item, and in '{dimension}' nothing is filled in",
            "write the name itself",
        )


def _scores(test: Item[ScoreTest]) -> Iterator[tuple[FieldPath, GivenScore | ExpectedScore]]:
    for index, given_score in enumerate(test.value.spec.given.scores):
        yield ("spec", "given", "scores", index), given_score
    for index, expected in enumerate(test.value.spec.expect.scores):
        yield ("spec", "expect", "scores", index), expected


def _twice(
    test: Item[ScoreTest], section: str, entries: Iterable[object], *key: str
) -> Iterator[Diagnostic]:
    """The items of a list below `given` that have the same fields `key` as an earlier one."""
    path: FieldPath = ("spec", "given", section)
    key_of = attrgetter(*key)
    first_indexes: dict[Hashable, int] = {}
    for index, entry in enumerate(entries):
        first = first_indexes.setdefault(key_of(entry), index)
        if first != index:
            yield codes.TEST_TWICE.at(
                test.at(*path, index),
                f"the same is given already at {test.at(*path, first)}",
                "remove one of them",
            )
