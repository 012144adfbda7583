"""Checks the stickiness of rankings: it must hold, be expressible, and be overcome by scores."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.paced_rankings import reach
from gitops_dsf.resolve.rankings import multi_kueue_of
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.stickiness import choose, expressible, nearest


@rule()
def stickiness_keeps(context: Context) -> Iterator[Diagnostic]:
    """With stickiness 0 a point of difference moves an application."""
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        # Steady gives its points only to the clusters of the present decision. Without a weight of
        # it, OCM 1.2.1 ranks those as all others.
        if spec.stickiness or not any(score.weight for score in spec.scores):
            continue
        position = ranking.at("spec", "stickiness")
        if multi_kueue_of(ranking) is not None:
            yield codes.NO_STEADY.at(
                position,
                "with stickiness 0 the order changes as soon as another cluster is better by any"
                " fraction of a point",
                "write the points of a lead that is worth another order",
            )
        else:
            yield codes.NO_STEADY.at(
                position,
                "with stickiness 0 the decision changes as soon as another cluster is one point"
                " better",
                "write the points of a lead that is worth a move",
            )


@rule()
def stickiness_can_be_expressed(context: Context) -> Iterator[Diagnostic]:
    """OCM's weights are integers of at most 10, so not every stickiness can be expressed."""
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        weights = [score.weight for score in spec.scores]
        if not any(weights) or choose(spec.stickiness, weights) is not None:
            continue
        # The reconciler keeps the order of jobs by the points as they are written. OCM decides for
        # every eligible cluster, so its Steady changes nothing.
        if multi_kueue_of(ranking) is not None:
            continue
        possible = map(str, nearest(spec.stickiness, weights))
        yield codes.STICKINESS.at(
            ranking.at("spec", "stickiness"),
            f"stickiness {spec.stickiness} cannot be expressed with these weights (OCM allows whole"
            " numbers up to 10)",
            f"write {' or '.join(possible)}",
        )


@rule()
def stickiness_can_be_overcome(context: Context) -> Iterator[Diagnostic]:
    """A stickiness above the largest possible lead keeps an application where it is first.

    If every eligible cluster is chosen, scores move nothing anyway. They may order jobs.
    """
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        weights = [score.weight for score in spec.scores]
        widths: list[int] = []
        for score in spec.scores:
            width = context.width_of(score)
            if width is not None:
                widths.append(width)
        orders_jobs = multi_kueue_of(ranking) is not None
        moves = spec.placement.number_of_clusters is not None
        if not (moves or orders_jobs) or len(widths) < len(weights) or not any(weights):
            continue
        lead = reach(weights, widths) / sum(map(abs, weights))
        if spec.stickiness <= lead:
            continue
        possible = int(lead)
        if not orders_jobs:
            possible = max(points for points in expressible(weights) if points <= lead)
        hint = (
            f"write {possible} or less, or give the scorers a scoreRange with outputs further apart"
            if possible
            else "give the scorers a scoreRange with outputs further apart"
        )
        position = ranking.at("spec", "stickiness")
        if orders_jobs:
            yield codes.UNREACHABLE_STICKINESS.at(
                position,
                f"the scores of two clusters differ by at most {lead:g}, so no cluster ever leads"
                f" by {spec.stickiness} points: the order of the clusters for jobs never changes",
                hint,
            )
        else:
            yield codes.UNREACHABLE_STICKINESS.at(
                position,
                f"the scores of two clusters differ by at most {lead:g}, so no cluster ever leads"
                f" by {spec.stickiness} points: the application stays where it is first",
                hint,
            )
