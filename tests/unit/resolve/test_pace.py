"""Weights that hold a paced Placement, by the scheduler's own sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.resolve.rankings import hold_weights, nearest_weights, reach

WEIGHTS = st.lists(st.tuples(st.integers(-10, 10), st.sampled_from([100, 200])), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("weights", "spans", "refuges", "expected"),
    [
        ([1], [200], False, (1,)),
        ([10, -10], [100, 100], True, (1, -1)),
        ([4], [200], False, (1,)),
        ([3, 2], [200, 100], False, (3, 2)),
        ([3, 4], [200, 100], False, None),
        ([3, 2], [100, 100], True, None),
        ([2, 1], [100, 200], True, (2, 1)),
        ([0, 6], [200, 200], False, (0, 1)),
    ],
)
def test_proportions_stay(
    weights: list[int], spans: list[int], refuges: bool, expected: tuple[int, ...] | None
) -> None:
    """The smallest whole numbers of the same proportions count."""
    assert hold_weights(weights, spans, refuges=refuges) == expected


@given(scores=WEIGHTS, refuges=st.booleans())
def test_no_scores_outweigh_what_holds(scores: list[tuple[int, int]], refuges: bool) -> None:
    """Steady gives 1000 points. A refuge has 500, which the scores may neither reach nor lift to 1000."""
    weights, spans = zip(*scores, strict=True)
    for found in (
        hold_weights(weights, spans, refuges=refuges),
        nearest_weights(weights, spans, refuges=refuges),
    ):
        if found is None:
            continue
        assert [(each > 0) - (each < 0) for each in found] == [(each > 0) - (each < 0) for each in weights]
        swing = reach(found, spans)
        assert swing < 1000
        assert not refuges or (swing < 500 and swing + 500 < 1000)


def test_the_nearest_keep_every_score_and_its_order() -> None:
    """None only where even equal weights are too much."""
    assert nearest_weights([9, 3], [200, 100], refuges=False) in {(3, 1), (4, 1)}
    assert nearest_weights([1] * 5, [200] * 5, refuges=False) is None
