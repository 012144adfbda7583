"""What a check of a move measured, in words."""

import pytest

from gitops_dsf.hub.moves.measured import check_text


@pytest.mark.parametrize(
    ("score", "value", "at_least", "text"),
    [
        ("slo/slo", 62, 80, "slo 62 of at least 80"),
        ("shop-slo/shop", -3, -10, "shop-slo/shop -3 of at least -10"),
        ("slo/slo", None, 80, "slo not known"),
        ("slo/slo", None, None, "slo not known"),
        ("slo/slo", 0, None, "slo 0, and the score before the move is not known"),
    ],
)
def test_what_was_measured_in_words(
    score: str, value: int | None, at_least: int | None, text: str
) -> None:
    assert check_text(score, value, at_least) == text
