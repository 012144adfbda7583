"""Values that people give: policy, preferences, anything that no metric knows."""

import msgspec

from dsf_scorer import Score, Series, batch_scorer


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``arguments`` of the DynamicScorer."""

    scores: dict[str, float]
    """Score by dimension; the dimension is the label ``meta`` of the result."""


@batch_scorer(name="fixed", interval_seconds=600)
def app(series: list[Series], arguments: Values) -> list[Score]:
    """The values of the DynamicScorer's arguments, as they are; higher is better."""
    return [Score({"meta": dimension}, score) for dimension, score in arguments.scores.items()]
