"""What the raw scores of a cycle say about scoreRange."""

import pytest

from dsf_wire.summary import ScoreRange
from gitops_dsf.show.scorescale import scale_notes


def scale(low: float, high: float, first: int = 0, last: int = 100) -> ScoreRange:
    return ScoreRange(min=low, max=high, output_min=first, output_max=last)


@pytest.mark.parametrize(
    ("raw", "written", "said"),
    [
        (
            [37.0, 91.5],
            scale(0, 1),
            (
                "the scoreRange clamps 2 of 2 raw scores to the value 100: max is 1, and the"
                " highest is 91.5; the query probably gives percent: write max: 100, or divide the"
                " query by 100"
            ),
        ),
        (
            [37.0],
            scale(0, 1, 100, 1),
            (
                "the scoreRange clamps 1 of 1 raw score to the value 1: max is 1, and the highest"
                " is 37; the query probably gives percent: write max: 100, or divide the query by"
                " 100"
            ),
        ),
        # Bytes, and not percent.
        (
            [5e9, 6e9],
            scale(0, 1),
            (
                "the scoreRange clamps 2 of 2 raw scores to the value 100: max is 1, and the"
                " highest is 6e+09"
            ),
        ),
        (
            [10.0, 150.0, 160.0],
            scale(0, 120),
            (
                "the scoreRange clamps 2 of 3 raw scores to the value 100: max is 120, and the"
                " highest is 160"
            ),
        ),
        (
            [10.0, 3.0],
            scale(5, 20),
            (
                "the scoreRange clamps 1 of 2 raw scores to the value 0: min is 5, and the lowest"
                " is 3"
            ),
        ),
        (
            [0.25, 0.75],
            scale(0, 100),
            (
                "max is 100, and every raw score is between 0 and 1; the query probably gives a"
                " ratio: write max: 1, or multiply the query by 100"
            ),
        ),
        (
            [0.25, 1.0],
            None,
            (
                "without scoreRange the value is the raw score rounded down, and every raw score is"
                " between 0 and 1; the query probably gives a ratio: write scoreRange:"
                " {min: 0, max: 1}"
            ),
        ),
        (
            [250.0, 7.0],
            None,
            (
                "without scoreRange a value is at most 100, which clamps 1 of 2 raw scores; the"
                " highest is 250: write scoreRange"
            ),
        ),
        (
            [3.0, 4.0],
            scale(0, 1e6),
            (
                "all 2 raw scores give the value 0, although they are 3 to 4: the scores rank no"
                " cluster or item above another; write a narrower scoreRange"
            ),
        ),
    ],
)
def test_what_stands_out(raw: list[float], written: ScoreRange | None, said: str) -> None:
    assert scale_notes(raw, written) == [said]


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ([], scale(0, 1)),
        ([0.2, 0.9], scale(0, 1)),
        ([0.0, 1.0], scale(0, 1)),
        ([12.0, 80.0], scale(0, 100)),
        ([0.4, 80.0], scale(0, 100)),
        # Idle clusters: whole percent or none.
        ([0.0, 0.0], scale(0, 100)),
        ([1.0], scale(0, 100)),
        ([5.0, 5.0], scale(0, 100)),
        ([-40.0, 60.0], None),
        ([3.0], None),
    ],
)
def test_a_healthy_scale_is_not_remarked(raw: list[float], written: ScoreRange | None) -> None:
    assert scale_notes(raw, written) == []
