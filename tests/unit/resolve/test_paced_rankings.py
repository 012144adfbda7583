"""Weights that hold a paced Placement, by the scheduler's own sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.resolve.paced_rankings import hold_weights, nearest_weights, reach

WEIGHTS = st.lists(
    st.tuples(st.integers(-10, 10), st.sampled_from([100, 200])), min_size=1, max_size=6
)


@pytest.mark.parametrize(
    ("weights", "spans", "expected"),
    [
        ([1], [200], (1,)),
        ([10, -10], [100, 100], (1, -1)),
        ([4], [200], (1,)),
        ([3, 1], [100, 199], (3, 1)),
        ([3, 1], [100, 200], None),
        ([3, 2], [100, 100], None),
        ([2, 1], [100, 200], (2, 1)),
        ([0, 6], [200, 200], (0, 1)),
    ],
)
def test_proportions_stay(
    weights: list[int], spans: list[int], expected: tuple[int, ...] | None
) -> None:
    """The smallest whole numbers of the same proportions count."""
    assert hold_weights(weights, spans) == expected


@given(scores=WEIGHTS)
def test_no_scores_outweigh_what_holds(scores: list[tuple[int, int]]) -> None:
    """Steady gives 1000 points.

    An item has 500, which the scores may neither reach nor lift to 1000.
    """
    weights, spans = zip(*scores, strict=True)
    for found in (hold_weights(weights, spans), nearest_weights(weights, spans)):
        if found is None:
            continue
        assert [(each > 0) - (each < 0) for each in found] == [
            (each > 0) - (each < 0) for each in weights
        ]
        swing = reach(found, spans)
        assert swing < 500
        assert swing + 500 < 1000


def test_the_nearest_keep_every_score_and_its_order() -> None:
    """None only where even equal weights are too much."""
    assert nearest_weights([9, 3], [100, 100]) == (3, 1)
    assert nearest_weights([1] * 5, [100] * 5) is None
