"""Checks the stickiness of rankings: it must hold, be expressible, and be overcome by scores."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.paced_rankings import reach
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.stickiness import choose, expressible, nearest


@rule()
def stickiness_keeps(context: Context) -> Iterator[Diagnostic]:
    """With stickiness 0 a point of difference moves an application."""
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        # Steady gives its points only to the clusters of the present decision. Without a weight of
        # it, OCM 1.2.1 ranks those as all others.
        if spec.stickiness == 0 and any(score.weight for score in spec.scores):
            yield codes.NO_STEADY.at(
                ranking.at("spec", "stickiness"),
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

    If every eligible cluster is chosen, scores move nothing anyway.
    """
    for ranking in context.declared.rankings:
        spec = ranking.value.spec
        weights = [score.weight for score in spec.scores]
        widths: list[int] = []
        for score in spec.scores:
            if score.scorer in context.scorers:
                widths.append(context.scorers[score.scorer].width)
        chooses_all = spec.placement.number_of_clusters is None
        if chooses_all or len(widths) < len(weights) or not any(weights):
            continue
        lead = reach(weights, widths) / sum(map(abs, weights))
        if spec.stickiness <= lead:
            continue
        possible = max(points for points in expressible(weights) if points <= lead)
        yield codes.UNREACHABLE_STICKINESS.at(
            ranking.at("spec", "stickiness"),
            f"the scores of two clusters differ by at most {lead:g}, so no cluster ever leads by"
            f" {spec.stickiness} points: the application stays where it is first",
            f"write {possible} or less, or give the scorers a scoreRange with outputs further apart"
            if possible
            else "give the scorers a scoreRange with outputs further apart",
        )
