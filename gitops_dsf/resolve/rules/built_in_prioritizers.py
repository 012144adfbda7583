"""Checks rankings by prioritizers of OCM: their conflicts, and missing parts."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.points import points_text
from gitops_dsf.resolve.context import Context, RankedScore
from gitops_dsf.resolve.eligibility import eligible
from gitops_dsf.resolve.paced_rankings import is_paced
from gitops_dsf.resolve.ranked_scores import BUILT_IN_SPAN
from gitops_dsf.resolve.rankings import multi_kueue_of
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import names_text

_RESOURCES = {"ResourceAllocatableCPU": "cpu", "ResourceAllocatableMemory": "memory"}


def _ranked_by_ocm(context: Context) -> Iterator[RankedScore]:
    """Every entry of a ranking that is a prioritizer of OCM and counts."""
    for ranking, path, score in context.ranked:
        if score.built_in is not None and score.weight:
            yield RankedScore(ranking, (*path, "builtIn"), score)


@rule(needs=("FleetRepository",))
def only_scores_are_paced(context: Context) -> Iterator[Diagnostic]:
    """The reconciler knows scores, and assumes what moves and jobs do to them."""
    for ranking, path, score in _ranked_by_ocm(context):
        if multi_kueue_of(ranking) is not None:
            yield codes.BUILT_IN_REFUSED.at(
                ranking.at(*path),
                f"the order of clusters for jobs is that of scores, and {score} is a prioritizer of"
                " OCM",
                "rank by scorers or addOn scores, or remove multiKueue",
            )
        elif is_paced(ranking, context.settings):
            yield codes.BUILT_IN_REFUSED.at(
                ranking.at(*path),
                f"paced moves follow scores, and {score} is a prioritizer of OCM",
                "rank by scorers or addOn scores, or write moves.pace: None",
            )


@rule()
def balance_is_held(context: Context) -> Iterator[Diagnostic]:
    """Each decision of another Placement changes Balance, so Placements can move in turns."""
    for ranking, path, score in _ranked_by_ocm(context):
        spec = ranking.value.spec
        # A Placement on all of its clusters cannot be displaced from one.
        if score.built_in != "Balance" or spec.placement.number_of_clusters is None:
            continue
        total = sum(abs(other.weight) for other in spec.scores)
        swing = BUILT_IN_SPAN * abs(score.weight) / total
        if spec.stickiness < swing:
            yield codes.BALANCE_SWINGS.at(
                ranking.at(*path),
                f"one decision of another Placement can change Balance by {BUILT_IN_SPAN}, which is"
                f" {points_text(swing)} points here, and the stickiness is {spec.stickiness}:"
                " Placements may displace each other in turns",
                "write a larger stickiness, or a smaller share of the weights for Balance",
            )


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def resources_are_reported(context: Context) -> Iterator[Diagnostic]:
    """OCM 1.2.1 counts a cluster without allocatable or capacity as 0, the middle of the scale."""
    for ranking, path, score in _ranked_by_ocm(context):
        resource = _RESOURCES.get(str(score.built_in))
        if resource is None:
            continue
        lacking: list[str] = []
        clusters = sorted(eligible(context, ranking))
        for name in clusters:
            status = context.inventory.clusters[name].status
            if resource not in status.allocatable or resource not in status.capacity:
                lacking.append(name)
        # An inventory without any of them was imported without resources, and says nothing.
        if lacking and len(lacking) < len(clusters):
            yield codes.NO_RESOURCES.at(
                ranking.at(*path),
                f"of the eligible clusters {names_text(lacking)} report no allocatable {resource},"
                " and count as 0: the middle between the worst and the best one",
                "exclude them with clusterSelector; or run gitops-dsf import --resources again, if"
                " the hub knows their resources",
            )
