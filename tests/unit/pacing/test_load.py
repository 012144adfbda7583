"""The load that is assumed until it is measured."""

import pytest

from gitops_dsf.hub.pace import PacedRanking, Term
from gitops_dsf.hub.scores import score_of
from gitops_dsf.pacing.ledger import Move, Phase
from gitops_dsf.pacing.load import Shift, assume, shifts_of, unmeasured

TERM = Term("r", "free", 1, demand=10, delay=60, range=600)
MOVE = Move(placement="ns/a", source="c1", target="c2", since=0.0)


@pytest.mark.parametrize(
    ("elapsed", "share"), [(0, 1.0), (60, 1.0), (360, 0.5), (659, 1 / 600), (660, 0.0), (9999, 0.0)]
)
def test_a_range_measures_a_move_little_by_little(elapsed: float, share: float) -> None:
    """The mean of ten minutes shows half of a change after five."""
    ended = MOVE.entered(Phase.ENDED, 1000.0)
    assert unmeasured(ended, TERM, now=1000.0 + elapsed) == pytest.approx(share)
    assert unmeasured(MOVE, TERM, now=1000.0 + elapsed) == 1.0, "nothing is measured while it is under way"


def test_a_score_of_the_present_measures_at_once() -> None:
    """After the delay it shows everything."""
    term, ended = Term("r", "free", 1, demand=10, delay=60), MOVE.entered(Phase.ENDED, 0.0)
    assert [unmeasured(ended, term, now=at) for at in (59, 60)] == [1.0, 0.0]


def test_the_target_is_assumed_lower_and_the_source_higher() -> None:
    """The other way round where a lower score is better; without a demand nothing is assumed."""
    for weight, sign in ((1, 1), (-2, -1)):
        ranking = PacedRanking((Term("r", "free", weight, demand=10), Term("s", "x", 1)), steady=0)
        found = {each.cluster: each.points for each in shifts_of(MOVE, ranking, now=0.0)}
        assert found == {"c2": -10 * sign, "c1": 10 * sign}
    new = Move(placement="ns/a", source="", target="c2", since=0.0)
    assert [each.cluster for each in shifts_of(new, PacedRanking((TERM,), steady=0), now=0.0)] == ["c2"]


def test_assumed_scores() -> None:
    """Shifts add up within the range of scores. Other items, clusters and names stay the same objects."""
    scores = {"r": {"c1": score_of({"free": 40, "other": 1}), "c2": score_of({"free": -95})}, "s": {}}
    shifts = [
        *(Shift(cluster="c2", resource="r", dimension="free", points=-4.6) for _ in range(2)),
        Shift(cluster="c3", resource="r", dimension="free", points=-4),
        Shift(cluster="c1", resource="r", dimension="gone", points=-4),
    ]
    found = assume(scores, shifts)
    assert found["r"]["c2"].get("free") == -100
    assert found["r"]["c1"] is scores["r"]["c1"]
    assert set(found["r"]) == {"c1", "c2"}
    assert found["s"] is scores["s"]
    assert scores["r"]["c2"].get("free") == -95
