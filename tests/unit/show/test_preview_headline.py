"""How many applications move and may move, in one sentence whose grammar is right for every
number.
"""

import pytest

from gitops_dsf.show.preview.headline import moves_text

RUN = "; that is known once the changed scorers have run"


@pytest.mark.parametrize(
    ("applications", "others", "open_applications", "words"),
    [
        (0, 0, 0, "no application moves"),
        (1, 0, 0, "1 application moves"),
        (2, 0, 0, "2 applications move"),
        (0, 1, 0, "1 decision for other consumers changes"),
        (0, 2, 0, "2 decisions for other consumers change"),
        (1, 2, 0, "1 application moves and 2 decisions for other consumers change"),
        (0, 0, 1, "1 application may move"),
        (0, 0, 3, "3 applications may move"),
        (1, 0, 1, "1 application moves and 1 more may move"),
        (2, 0, 3, "2 applications move and 3 more may move"),
        (
            2,
            1,
            1,
            "2 applications move, 1 decision for other consumers changes and 1 more may move",
        ),
    ],
)
def test_moves_and_open_moves_are_counted(
    applications: int, others: int, open_applications: int, words: str
) -> None:
    counts = {
        "applications": applications,
        "others": others,
        "open_applications": open_applications,
    }
    assert moves_text(**counts, bounded=True) == words
    unbounded = words + RUN if open_applications else words
    assert moves_text(**counts, bounded=False) == unbounded


@pytest.mark.parametrize(
    ("applications", "starting", "words"),
    [
        (0, 1, "1 application starts"),
        (0, 2, "2 applications start"),
        (1, 1, "1 application moves and 1 starts"),
        (2, 3, "2 applications move and 3 start"),
    ],
)
def test_an_application_without_a_cluster_before_starts(
    applications: int, starting: int, words: str
) -> None:
    """It is no move from nowhere."""
    text = moves_text(
        applications=applications, starting=starting, others=0, open_applications=0, bounded=True
    )
    assert text == words
