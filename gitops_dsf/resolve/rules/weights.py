"""Checks weights and stickiness of ScoredApplications and ScoredPlacements."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.stickiness import choose, nearest


def weights_count(context: Context) -> Iterator[Diagnostic]:
    """OCM does not run a prioritizer of weight 0. If all weights are 0, nothing ranks the clusters."""
    for item in context.declared.rankings:
        scores = item.value.spec.scores
        if scores and not any(score.weight for score in scores):
            message = "every weight is 0: nothing ranks the clusters"
            position = item.at("spec", "scores", 0, "weight")
            yield codes.BAD_VALUE.at(
                position,
                message,
                "give a score a weight from 1 to 10; a Placement without scores ranks by nothing, too",
            )
            continue
        for index, score in enumerate(scores):
            if score.weight == 0:
                position = item.at("spec", "scores", index, "weight")
                yield codes.ZERO_WEIGHT.at(
                    position,
                    f"with weight 0 the score {score.scorer} has no effect",
                    "remove the entry, or give it a weight",
                )


def stickiness_keeps(context: Context) -> Iterator[Diagnostic]:
    """With stickiness 0 a point of difference moves an application."""
    for item in context.declared.rankings:
        spec = item.value.spec
        if spec.stickiness == 0 and any(score.weight for score in spec.scores):
            message = "with stickiness 0 the decision changes as soon as another cluster is one point better"
            hint = "write the points of a lead that is worth a move"
            yield codes.NO_STEADY.at(item.at("spec", "stickiness"), message, hint)


def stickiness_can_be_expressed(context: Context) -> Iterator[Diagnostic]:
    """OCM's weights are integers of at most 10, so not every stickiness can be expressed."""
    for item in context.declared.rankings:
        spec = item.value.spec
        weights = [score.weight for score in spec.scores]
        if not any(weights) or choose(spec.stickiness, weights) is not None:
            continue
        values = nearest(spec.stickiness, weights)
        message = (
            f"a stickiness of {spec.stickiness} points cannot be expressed with these weights (OCM allows"
            " whole numbers up to 10)"
        )
        yield codes.STICKINESS.at(
            item.at("spec", "stickiness"), message, f"write {' or '.join(str(value) for value in values)}"
        )
