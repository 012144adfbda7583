"""Checks scores of other add-ons: they must be declared, and agree with their known publishers.

OCM counts a score that is not published as 0 on every cluster, and reports nothing. For a score of
this repository the scorer has its names. For any other one only `spec.externalScores` has them.
"""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.ranked_scores import how_zero_wins
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import names_text


@rule(needs=("FleetRepository", "DynamicScorer"))
def external_scores_are_declared(context: Context) -> Iterator[Diagnostic]:
    """Finds undeclared scores: a misspelt one counts as 0 everywhere, without any report."""
    published = {scorer.resource_name: scorer for scorer in context.scorers.values()}
    for ranking, path, _, add_on in context.ranked_by_add_ons:
        if context.external_scores.of(add_on.resource, add_on.name) is not None:
            continue
        # On the hub the score of a scorer looks like that of any other add-on, so people copy it.
        if add_on.resource in published:
            yield _of_scorer(ranking, path, add_on, published[add_on.resource])
            continue
        yield codes.UNDECLARED_SCORE.at(
            ranking.at(*path, "addOn"),
            f"spec.externalScores of gitops-dsf.yaml has no {add_on}",
            undeclared_hint(context, add_on.resource, add_on.name),
        )


def undeclared_hint(context: Context, resource: str, name: str) -> str:
    """The hint for a score that is not declared."""
    external = context.external_scores
    if similar := external.closest(resource, name):
        return f"did you mean {similar}?"
    if not external.texts:
        return "declare it there with its resource and names, if an add-on publishes it"
    declared = names_text(external.texts, max_names=8)
    return (
        "declare it there with its resource and names, if an add-on publishes it; declared is"
        f" {declared}"
    )


def _of_scorer(
    ranking: RankingItem, path: FieldPath, add_on: AddOnScore, scorer: EffectiveScorer
) -> Diagnostic:
    """The finding about a score of this repository that is named as one of another add-on."""
    edits = [Edit((*path, "scorer"), value=scorer.name), Edit((*path, "addOn"))]
    # A scorer with one item needs no dimension.
    if add_on.name != scorer.only_item:
        edits.insert(1, Edit((*path, "dimension"), value=add_on.name))
    return codes.BAD_VALUE.at(
        ranking.at(*path, "addOn", "resource"),
        f"the scorer {scorer.name} of this repository publishes {scorer.resource_name}",
        f"write scorer: {scorer.name} in place of addOn",
        edits=tuple(edits),
    )


@rule(needs=(SETTINGS,))
def external_scores_are_of_others(context: Context) -> Iterator[Diagnostic]:
    """A score has one publisher, and is declared once."""
    published = {scorer.resource_name: scorer for scorer in context.scorers.values()}
    seen = set[ScoreKey]()
    for index, external in enumerate(context.settings.external_scores):
        path: FieldPath = ("spec", "externalScores", index)
        resource = external.resource
        if resource in published:
            yield codes.EXTERNAL_SCORE.at(
                context.repository.at(*path, "resource"),
                f"the scorer {published[resource].name} of this repository publishes {resource}",
                "remove this entry, and name the scorer where it ranks",
            )
        elif resource == MOVES_SCORE:
            yield codes.EXTERNAL_SCORE.at(
                context.repository.at(*path, "resource"),
                f"the AddOnPlacementScore {MOVES_SCORE} carries out paced moves, and ranks nothing",
                "remove this entry",
            )
        for position, name in enumerate(external.names):
            if (resource, name) in seen:
                yield codes.EXTERNAL_SCORE.at(
                    context.repository.at(*path, "names", position),
                    f"{resource}/{name} is declared twice",
                    "keep the one with the range that the add-on publishes",
                )
            seen.add((resource, name))


@rule()
def missing_external_scores_lose(context: Context) -> Iterator[Diagnostic]:
    """A cluster on which the add-on does not run counts as 0."""
    for ranking, path, score, add_on in context.ranked_by_add_ons:
        # With Exclude, a cluster without the score is not eligible.
        if ranking.value.spec.on_missing_score == "Exclude":
            continue
        declared = context.external_scores.of(add_on.resource, add_on.name)
        if declared is None:
            continue
        if message := how_zero_wins(str(add_on), declared.published, score.weight):
            yield codes.MISSING_BEATS_REAL.at(
                ranking.at(*path, "addOn"),
                message,
                "write onMissingScore: Exclude; or the range in spec.externalScores, if the add-on"
                " publishes no such values",
            )
