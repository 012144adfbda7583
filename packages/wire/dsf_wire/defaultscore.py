"""spec.defaultScore: what is published for a cluster whose metric source answers without series."""

from dsf_wire import dimension
from dsf_wire.summary import Summary


def default_items(scorer: Summary, *, cluster: str) -> dict[str, int] | None:
    """The published items; None if the scorer has no default score.

    No label is known then, so the dimension format must be one without labels.
    """
    if scorer.default_score is None:
        return None
    name = dimension.fill(
        scorer.score_dimension_format, cluster=cluster, score_name=scorer.score_name, labels={}
    )
    return {name: scorer.default_score}
