"""How often the reconciler asks a hub or a git server that refuses, and how much it deletes, as numbers.

The values are written again here: a pause that became three times as long, or a limit that grew, fails a test
and not only a user.
"""

import pytest

from dsf_runtime import informer
from dsf_runtime.clock import Backoff
from gitops_dsf.reconciler import refresh
from gitops_dsf.reconciler.git import clone
from gitops_dsf.reconciler.journal import controller as journal
from gitops_dsf.reconciler.moves import controller as moves
from gitops_dsf.reconciler.pacing import publisher
from gitops_dsf.reconciler.scorers import controller as scorers


@pytest.mark.parametrize(
    ("backoff", "seconds"),
    [
        pytest.param(scorers.RETRIES, [10, 20, 40, 80, 160, 300, 300], id="status of a scorer"),
        pytest.param(publisher.RETRIES, [10, 20, 40, 80, 160, 300, 300], id="items of moves"),
        pytest.param(moves.RETRIES, [5, 10, 20, 40, 60, 60], id="a move"),
        pytest.param(refresh.REFUSED, [2, 4, 8, 16, 32, 64, 120, 120], id="a refresh"),
        pytest.param(clone.RETRIES, [10, 20, 40, 80, 160, 320, 600, 600], id="a push"),
        pytest.param(informer.RETRIES, [0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 23, 23], id="a watch"),
    ],
)
def test_pauses_after_failures(backoff: Backoff, seconds: list[float]) -> None:
    exact = Backoff(first=backoff.first, ceiling=backoff.ceiling, jitter=0)
    assert [exact.delay(times) for times in range(1, len(seconds) + 1)] == seconds


def test_other_limits() -> None:
    assert refresh.RETRY_SECONDS == 2
    assert journal.RETRY_SECONDS == 5
    assert moves.PER_MINUTE == 10
