"""How often the reconciler asks a hub or a git server that refuses, as numbers.

How much it deletes is tested here, too.

The values are written again here: a pause that became three times as long, or a limit that grew,
fails a test and not only a user.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

from dsf_runtime import informer
from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler import loop, refresh
from gitops_dsf.reconciler.git import pushing
from gitops_dsf.reconciler.hub import api
from gitops_dsf.reconciler.moves import controller as moves

RECONCILER = Path(api.__file__).parents[1]


@pytest.mark.parametrize(
    ("backoff", "seconds"),
    [
        pytest.param(
            api.REFUSAL_BACKOFF,
            [10, 20, 40, 80, 160, 300, 300],
            id="status of a scorer, items of moves",
        ),
        pytest.param(moves.RETRIES, [5, 10, 20, 40, 60, 60], id="a move"),
        pytest.param(refresh.REFUSAL_BACKOFF, [2, 4, 8, 16, 32, 64, 120, 120], id="a refresh"),
        pytest.param(pushing.RETRIES, [10, 20, 40, 80, 160, 320, 600, 600], id="a push"),
        pytest.param(informer.RETRIES, [0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 23, 23], id="a watch"),
    ],
)
def test_pauses_after_failures(backoff: Backoff, seconds: list[float]) -> None:
    exact = Backoff(first=backoff.first, ceiling=backoff.ceiling, jitter=0)
    assert [exact.delay(times) for times in range(1, len(seconds) + 1)] == seconds


def test_other_limits() -> None:
    assert refresh.RETRY_SECONDS == 2
    assert (loop.RETRY_SECONDS, loop.CONFLICT_SECONDS) == (10, 1)
    assert moves.MAX_PER_MINUTE == 10


def test_no_pauses_are_written_twice() -> None:
    """Controllers with the same pauses share one constant: a change of one is a change of both."""
    written = [
        ast.unparse(node)
        for path in sorted(RECONCILER.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Backoff"
    ]
    assert len(written) >= 7
    assert [text for text, count in Counter(written).items() if count > 1] == []
