"""How many applications do what, in one sentence whose grammar is right for every number."""

import pytest

from gitops_dsf.show.preview.headline import MoveCounts, counts_text
from gitops_dsf.views.preview.moves import MoveKind

RUN = "; that is known once the scorers have run"


@pytest.mark.parametrize(
    ("moving", "others", "open_applications", "words"),
    [
        (0, 0, 0, ""),
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
    moving: int, others: int, open_applications: int, words: str
) -> None:
    by_kind = {MoveKind.MOVE: moving}
    assert counts_text(MoveCounts(by_kind, others, open_applications, True)) == words
    unbounded = words + RUN if open_applications else words
    assert counts_text(MoveCounts(by_kind, others, open_applications, False)) == unbounded


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        ("new", "1 application starts", "2 applications start"),
        ("grow", "1 application gets more clusters", "2 applications get more clusters"),
        ("shrink", "1 application loses clusters", "2 applications lose clusters"),
        (
            "homeless",
            "1 application is left without a cluster",
            "2 applications are left without a cluster",
        ),
        ("remove", "1 application is removed", "2 applications are removed"),
        (
            "follow",
            "1 application follows another Placement",
            "2 applications follow another Placement",
        ),
    ],
)
def test_what_becomes_of_applications_has_words_of_its_own(kind: str, one: str, two: str) -> None:
    """An application that starts does not move from nowhere, and one that is removed not to it."""
    assert counts_text(MoveCounts({MoveKind(kind): 1})) == one
    assert counts_text(MoveCounts({MoveKind(kind): 2})) == two


def test_the_noun_stands_once_and_the_worst_comes_first() -> None:
    counts = {MoveKind.MOVE: 2, MoveKind.REMOVE: 1, MoveKind.HOMELESS: 1, MoveKind.NEW: 3}
    assert counts_text(MoveCounts(counts)) == (
        "1 application is left without a cluster, 2 move, 3 start and 1 is removed"
    )
