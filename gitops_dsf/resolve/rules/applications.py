"""Checks names, moves and scores of ScoredApplications, and where Argo CD puts Applications."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import FieldPath, texts_in
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule

MAX_NAME: Final = 63
"""The name of a Placement becomes a label value (docs/decisions/scheduler.md#placements)."""
_DESTINATION: Final[dict[str, FieldPath]] = {
    "ApplicationSet": ("template", "spec", "destination", "namespace"),
    "ScoredApplication": ("spec", "application", "destinationNamespace"),
}
"""The path of a destination's namespace, below a template: generators of a set may have templates,
too.
"""


@rule()
def replace_is_not_excluding(context: Context) -> Iterator[Diagnostic]:
    """A score that is missing for a moment would delete the application at once."""
    for application in context.declared.applications:
        ranking = context.ranking_of(application)
        if ranking is None or application.value.spec.moves.strategy != "Replace":
            continue
        # A cluster that is excluded leaves the decision, and Replace deletes its copy at once.
        if ranking.value.spec.on_missing_score != "Exclude":
            continue
        yield codes.REPLACE_EXCLUDE.at(
            application.at("spec", "moves", "strategy"),
            "Replace together with onMissingScore: Exclude deletes the application as soon as a"
            " score is missing"
            if ranking is application
            else f"Replace together with onMissingScore: Exclude of the ScoredPlacement"
            f" {ranking.name} deletes the application as soon as a score is missing",
            "write moves.strategy: MakeBeforeBreak, or onMissingScore: Neutral",
        )


@rule()
def names_fit_labels(context: Context) -> Iterator[Diagnostic]:
    """Names of applications and Placements become label values."""
    for application in context.declared.applications:
        length = len(application.name)
        if length > MAX_NAME:
            yield codes.LONG_NAME.at(
                application.position,
                f"{length} characters; the name becomes a label value, which has at most"
                f" {MAX_NAME}",
                "choose a shorter name",
            )
    for placement in (*context.declared.placements, *context.declared.scored_placements):
        length = len(placement.name)
        # OCM 1.2.1 writes no decision for such a Placement, and only its log says so.
        if length > MAX_NAME:
            yield codes.LONG_NAME.at(
                placement.position,
                f"{length} characters; OCM labels its decisions with the name, and a label value"
                f" has at most {MAX_NAME}",
                "choose a shorter name",
            )


@rule()
def scores_are_listed_once(context: Context) -> Iterator[Diagnostic]:
    """OCM adds the weights (docs/decisions/scheduler.md#what-the-scores-do-not-say)."""
    seen: set[tuple[int, str, str | None]] = set()
    for ranking, path, score in context.ranked:
        scorer = context.scorers.get(score.scorer or "")
        dimension = score.dimension or (scorer.only_item if scorer is not None else None)
        name = score.scorer or str(score)
        key = (id(ranking), name, dimension)
        # OCM runs a prioritizer for each entry, and adds both results.
        if key in seen:
            yield _listed_twice(ranking, path, score)
        seen.add(key)


@rule()
def checks_are_listed_once(context: Context) -> Iterator[Diagnostic]:
    """Finds two checks with the same bound: the one with the shorter forSeconds decides nothing."""
    # Two bounds of one score are not a mistake: 80 for ten minutes, and never below 50 for an hour.
    seen: set[tuple[int, str, str | None, int | None, int | None]] = set()
    for application, path, check in context.verified:
        scorer = context.scorers.get(check.scorer)
        dimension = check.dimension or (scorer.only_item if scorer is not None else None)
        key = (id(application), check.scorer, dimension, check.at_least, check.no_worse_than)
        if key in seen:
            yield codes.DUPLICATE_COORDINATE.at(
                application.at(*path, "scorer"),
                f"{application.name} has two checks of {check.scorer} with the same bound",
                "keep the one with the forSeconds that you mean",
            )
        seen.add(key)


def _listed_twice(ranking: RankingItem, path: FieldPath, score: Score) -> Diagnostic:
    hint = "keep one entry with the weight you mean"
    if score.built_in is not None:
        # It has no pointer in OCM's map of weights, so the last entry replaces the first.
        return codes.DUPLICATE_COORDINATE.at(
            ranking.at(*path, "builtIn"), f"{score} is listed twice; the last one wins", hint
        )
    if score.add_on is not None:
        return codes.DUPLICATE_COORDINATE.at(
            ranking.at(*path, "addOn"), f"{score} is listed twice; the weights add up", hint
        )
    return codes.DUPLICATE_COORDINATE.at(
        ranking.at(*path, "scorer"),
        f"{score.scorer} is listed twice for the same dimension; the weights add up",
        hint,
    )


@rule(needs=("FleetRepository",))
def applications_live_with_argocd(context: Context) -> Iterator[Diagnostic]:
    """Argo CD looks in its own namespace (docs/contributing/behaviour.md#one-namespace)."""
    home = context.argocd_namespace
    for application in context.declared.applications:
        namespace = application.value.metadata.namespace
        if namespace is not None and namespace != home:
            yield codes.WRONG_NAMESPACE.at(
                application.at("metadata", "namespace"),
                f"the application is rendered into {home}, the Argo CD namespace, not into"
                f" {namespace}",
                f"remove namespace, or write {home}",
            )


@rule(needs=("FleetRepository",))
def destinations_are_no_namespaces_of_the_platform(context: Context) -> Iterator[Diagnostic]:
    """Finds namespaces of the platform: writers there control a cluster, the hub or tokens."""
    for workload in (*context.declared.applications, *context.declared.application_sets):
        ending = _DESTINATION[workload.document.kind]
        for path, namespace in texts_in(workload.document.data["spec"], ("spec",)):
            if path[-len(ending) :] != ending:
                continue
            owner = context.settings.platform.owner_of(namespace)
            if owner is not None and owner.on_spokes:
                yield codes.PLATFORM_DESTINATION.at(
                    workload.at(*path),
                    f"{workload.name} is deployed into {namespace}, a namespace of {owner.owner}:"
                    f" {owner.reason}",
                    "write a namespace of the application's own",
                )
