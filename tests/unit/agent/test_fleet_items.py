"""The items of a cluster of the hub scorer are those that an agent would publish."""

import math

from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.scoring.items import ItemBuilder, items_of
from dsf_agent.scoring.labels import LabelSet
from dsf_wire.summary import ScoreRange, Summary

SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-200, 200).map(float)
RANGES = st.none() | st.just(ScoreRange(min=-5, max=7.5, output_min=100, output_max=1))
RESULTS = st.lists(st.tuples(st.sampled_from(("", "a", "b")), SCORES), min_size=1, max_size=3)


@given(RESULTS, RANGES, st.sampled_from(("Last", "Mean", "Sum")))
async def test_one_result_is_treated_as_many_are(
    found: list[tuple[str, float]], scale: ScoreRange | None, aggregation: str
) -> None:
    scorer = Summary(name="s", score_name="s", score_range=scale, score_aggregation=aggregation)
    label_sets = [LabelSet(item=item, line=b"") for item, _ in found]
    scores = [score for _, score in found]
    builder = ItemBuilder(scorer=scorer)
    builder.add(label_sets, scores)
    builder.map(builder.order())
    assert await items_of(scorer, label_sets, scores) == builder.finish()
    assert all(map(math.isfinite, scores))
