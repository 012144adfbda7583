"""Checks that scores of raw Placements are published on some cluster that may be chosen."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import value_at
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.candidates import choosable
from gitops_dsf.resolve.rules.selectors import is_certain


def placements_rank_by_what_is_published(context: Context) -> Iterator[Diagnostic]:
    """The counterpart of `scores_are_published` for raw Placements. Skips Placements whose clusters are not
    known.
    """
    scorers = {scorer.resource_name: scorer for scorer in context.scorers.values()}
    uncertain = context.is_uncertain("ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig")
    for item in context.declared.placements:
        configurations = value_at(item.document.data, ("spec", "prioritizerPolicy", "configurations"))
        clusters = None if uncertain or item.document.ambiguous else choosable(context, item)
        for index in range(len(configurations) if isinstance(configurations, list) else 0):
            place = (
                "spec",
                "prioritizerPolicy",
                "configurations",
                index,
                "scoreCoordinate",
                "addOn",
                "resourceName",
            )
            name = value_at(item.document.data, place)
            scorer = scorers.get(name) if isinstance(name, str) else None
            if scorer is None:
                continue
            if scorer.destination == "None":
                message = (
                    f"{scorer.name} has scoreDestination None: it publishes no score that could rank clusters"
                )
                yield codes.SCORE_NOT_RUNNING.at(
                    item.at(*place), message, "write scoreDestination: AddOnPlacementScore in the scorer"
                )
            elif scorer.suspend:
                message = f"{scorer.name} is suspended: its scores are removed everywhere"
                yield codes.SCORE_SUSPENDED.at(
                    item.at(*place),
                    message,
                    "remove the score from this Placement while the scorer is suspended",
                )
            elif (
                clusters
                and not clusters & context.target_clusters[scorer.name]
                and _is_certain(context, scorer.name)
            ):
                message = (
                    f"{scorer.name} runs on none of the {len(clusters)} clusters that {item.name} may choose"
                )
                hint = "correct its clusterSelector or the masks, or choose other clusters"
                yield codes.SCORE_NOT_RUNNING.at(item.at(*place), message, hint)


def _is_certain(context: Context, scorer: str) -> bool:
    return is_certain(context.overlays[scorer].scorer.document, "spec", "clusterSelector")
