"""Which moves begin, and what the others wait for."""

import pytest

from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import score_of
from gitops_dsf.pacing.admit import Situation, admit
from gitops_dsf.pacing.assumptions import (
    AssumedShift,
    assume,
    shifts_of,
    surely_unmeasured,
    unmeasured,
)
from gitops_dsf.pacing.ledger import LedgerMove, Phase
from gitops_dsf.pacing.waves import waves
from tests.unit.pacing.fleet import PACE, SECONDS, herd, situation

FOUR = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
TWENTY = {f"app-{number:02}": ("c1",) for number in range(20)}


def moved(found: Situation) -> list[tuple[str, str, str]]:
    return [
        (desired.placement.removeprefix("ns/"), desired.source, desired.target)
        for desired in admit(found).moves
    ]


def ended(name: str, source: str, target: str, ago: float) -> LedgerMove:
    return LedgerMove(
        placement=f"ns/{name}",
        source=source,
        target=target,
        since=SECONDS - ago - 60,
        phase=Phase.ENDED,
        phase_since=SECONDS - ago,
    )


def test_a_herd_is_admitted_one_arrival_at_a_time() -> None:
    """Without a demand all twenty want c2, and one may go."""
    found = admit(situation(herd(FOUR, TWENTY)))
    assert [(desired.placement, desired.target, desired.points) for desired in found.moves] == [
        ("ns/app-00", "c2", 22.0)
    ]
    assert {each.reason for each in found.waiting} == {MoveReason.ARRIVALS}
    assert len(found.waiting) == 19


def test_the_second_application_sees_the_load_of_the_first() -> None:
    """With a demand of 5, c2 counts as 57 after the first move, and c3 is better for the second
    one.
    """
    pace = PACE.model_copy(update={"concurrent": 3})
    assert moved(situation(herd(FOUR, TWENTY, demand=5), pace=pace)) == [
        ("app-00", "c1", "c2"),
        ("app-01", "c1", "c3"),
    ]


def test_no_more_than_the_pace_allows_are_under_way() -> None:
    """A move that is under way counts, whatever its phase is, and one that ended does not."""
    placed = {"a": ("c1",), "b": ("c2",), "c": ("c3",)}
    scores = {"c1": 0, "c2": 0, "c3": 0, "d1": 90, "d2": 80}
    for phase, count in (
        (Phase.ADMITTED, 1),
        (Phase.HANDOVER, 1),
        (Phase.WITHDRAWN, 1),
        (Phase.ENDED, 2),
    ):
        other = LedgerMove(placement="ns/z", source="c9", target="c8", since=SECONDS, phase=phase)
        pace = PACE.model_copy(update={"arrivals_per_cluster": 9})
        found = admit(situation(herd(scores, placed), pace=pace, moves=[other]))
        assert len(found.moves) == count
        assert {each.reason for each in found.waiting} == {MoveReason.CONCURRENT}


def test_what_ocm_moved_itself_is_no_admitted_move() -> None:
    """A failover does not use up the pace, but its arrivals count."""
    lost = LedgerMove(
        placement="ns/z",
        source="c9",
        target="c2",
        since=SECONDS,
        phase=Phase.HANDOVER,
        admitted=False,
    )
    found = admit(situation(herd(FOUR, {"a": ("c1",)}), moves=[lost]))
    assert [each.reason for each in found.waiting] == [MoveReason.ARRIVALS]


def test_a_cluster_settles_before_the_next_arrival() -> None:
    """The next arrival waits until the scores have measured the last one."""
    found = admit(situation(herd(FOUR, {"a": ("c1",)}), moves=[ended("z", "c1", "c2", 599)]))
    assert [(each.reason, each.until) for each in found.waiting] == [
        (MoveReason.SETTLE, SECONDS + 1)
    ]
    assert moved(situation(herd(FOUR, {"a": ("c1",)}), moves=[ended("z", "c1", "c2", 600)]))


def test_settling_follows_the_scorers_unless_it_is_written() -> None:
    """The delay of 60 s and the range of 600 s of the scorer of the application that arrived."""
    pace = PACE.model_copy(update={"settle_seconds": None})
    placed = {"a": ("c1",), "b": ("c2",)}
    for ago, expected in ((659, MoveReason.SETTLE), (660, None)):
        found = admit(situation(herd(FOUR, placed), pace=pace, moves=[ended("b", "c1", "c2", ago)]))
        assert [each.reason for each in found.waiting if each.move.placement == "ns/a"] == (
            [expected] if expected else []
        )


SHARED = {"a": ("c1",), "z": ("c1",)}
"""z came from c2 a short time ago; the scores are those of a scorer of 360 s without a range."""


@pytest.mark.parametrize(
    ("ago", "expected"), [(1, [(MoveReason.MEASURING, SECONDS + 359)]), (360, [])]
)
def test_a_move_back_waits_while_the_last_move_may_be_measured(
    ago: float, expected: list[tuple[MoveReason, float]]
) -> None:
    """Both clusters have 79 points.

    If they do not show the move of z, c2 is 12 points better, which is more than the stickiness of
    10; if they do, it is not better at all.
    """
    found = herd({"c1": 79, "c2": 79}, SHARED, demand=6, weight=10, steady=1, delay=360, span=0)
    admission = admit(situation(found, moves=[ended("z", "c2", "c1", ago)]))
    assert not admission.moves
    waiting = [each for each in admission.waiting if each.move.placement == "ns/a"]
    assert [(each.reason, each.until) for each in waiting] == expected


@pytest.mark.parametrize(
    ("scores", "moves"),
    [
        ((79, 90), [("a", "c1", "c2")]),
        ((79, 89), []),
        ((90, 79), []),
    ],
)
def test_a_gain_that_is_sure_begins_at_once(
    scores: tuple[int, int], moves: list[tuple[str, str, str]]
) -> None:
    """Whether or not the move of z is measured, 11 points are more than the stickiness of 10."""
    values = dict(zip(("c1", "c2"), scores, strict=True))
    found = herd(values, SHARED, demand=6, weight=10, steady=1, delay=360, span=0)
    pace = PACE.model_copy(update={"settle_seconds": 0})
    assert moved(situation(found, pace=pace, moves=[ended("z", "c2", "c1", 1)])) == moves


def test_of_two_clusters_with_the_same_sum_the_first_name_is_sure() -> None:
    """As OCM decides: c1 leads by exactly the stickiness."""
    placed = {"a": ("c2",), "z": ("c2",)}
    found = herd({"c1": 89, "c2": 79}, placed, demand=5, weight=10, steady=1, delay=360, span=0)
    pace = PACE.model_copy(update={"settle_seconds": 0})
    assert moved(situation(found, pace=pace, moves=[ended("z", "c1", "c2", 1)])) == [
        ("a", "c2", "c1")
    ]


def test_a_cluster_where_a_lower_score_is_better_may_have_measured_a_move_too() -> None:
    """Load in points: both have 21, and z left c2. Unmeasured c1 would have 27, and c2 15."""
    found = herd({"c1": 21, "c2": 21}, SHARED, demand=6, weight=-10, steady=1, delay=360, span=0)
    admission = admit(situation(found, moves=[ended("z", "c2", "c1", 1)]))
    assert not admission.moves
    assert [each.reason for each in admission.waiting if each.move.placement == "ns/a"] == [
        MoveReason.MEASURING
    ]


@pytest.mark.parametrize(
    ("phase", "elapsed", "share"),
    [
        (Phase.ADMITTED, 50, 1.0),
        (Phase.HANDOVER, 300, 0.5),
        (Phase.HANDOVER, 600, 0.0),
        (Phase.WITHDRAWN, 50, 0.0),
        (Phase.ENDED, 0, 1.0),
        (Phase.ENDED, 300, 0.5),
    ],
)
def test_what_a_range_cannot_show_yet(phase: Phase, elapsed: float, share: float) -> None:
    """From the decision on the new copy may run: after half of the range a score may show half of
    it.
    """
    move = MOVE.entered(phase, elapsed)
    assert surely_unmeasured(move, TERM, now=elapsed) == pytest.approx(share)
    instant = PacedTerm("r", "free", 1, demand=10, delay=60)
    assert surely_unmeasured(move, instant, now=elapsed) == (1.0 if share == 1.0 else 0.0)


def test_a_preview_is_what_the_reconciler_would_admit_while_a_move_is_in_doubt() -> None:
    """The first wave, with the scores of now: they do not change in a preview, so the doubt
    stays.
    """
    values = {"c1": 79, "c2": 79, "c3": 95}
    found = herd(values, {**SHARED, "b": ("c2",)}, demand=6, weight=10, steady=1, delay=360, span=0)
    pace = PACE.model_copy(update={"settle_seconds": 0, "cooldown_seconds": 0})
    now = situation(found, pace=pace, moves=[ended("z", "c2", "c1", 1)])
    first = next(waves(now)).moves
    assert first == admit(now).moves
    assert [(desired.source, desired.target) for desired in first] == [("c1", "c3")]
    still = situation(
        herd({"c1": 79, "c2": 79}, SHARED, demand=6, weight=10, steady=1, delay=360, span=0),
        moves=[ended("z", "c2", "c1", 1)],
    )
    assert list(waves(still)) == []


def test_an_application_cools_down() -> None:
    """It does not move twice within the time, and others do."""
    placed = {"a": ("c1",), "b": ("c1",)}
    moves = [ended("a", "c3", "c1", 3599)]
    found = admit(situation(herd(FOUR, placed), moves=moves))
    assert [desired.placement for desired in found.moves] == ["ns/b"]
    assert [(each.reason, each.until) for each in found.waiting] == [
        (MoveReason.COOLDOWN, SECONDS + 1)
    ]


def test_an_application_rests_until_its_move_is_measured() -> None:
    """Also without a cooldown: 600 s of the pace. A drain does not wait for it."""
    pace = PACE.model_copy(update={"cooldown_seconds": 0})
    for ago, expected in ((599, [(MoveReason.COOLDOWN, SECONDS + 1)]), (600, [])):
        moves = [ended("a", "c3", "c1", ago)]
        found = admit(situation(herd(FOUR, {"a": ("c1",)}), pace=pace, moves=moves))
        assert [(each.reason, each.until) for each in found.waiting] == expected
    moves = [ended("a", "c3", "c1", 599)]
    cordoned = herd(FOUR, {"a": ("c1",)}, taints={"c1": [{"key": "x", "effect": "NoSelectIfNew"}]})
    drained = herd(FOUR, {"a": ("c1",)}, taints={"c1": [{"key": "x", "effect": "NoSelect"}]})[0]
    assert moved(
        situation(cordoned, pace=pace, moves=moves, drained=drained, leaving=frozenset({"c1"}))
    ) == [("a", "c1", "c2")]


def test_of_moves_that_gain_the_same_the_largest_load_goes_first() -> None:
    """A larger gain still comes before it."""
    small, paced = herd(FOUR, {"a": ("c1",), "b": ("c1",)}, demand=2)
    large = herd(FOUR, {"b": ("c1",)}, demand=5)[1]
    assert moved(situation((small, {**paced, **large}))) == [("b", "c1", "c2"), ("a", "c1", "c3")]
    small, paced = herd(FOUR, {"a": ("c1",), "b": ("c4",)}, demand=2)
    large = herd(FOUR, {"b": ("c4",)}, demand=3)[1]
    assert moved(situation((small, {**paced, **large}))) == [("a", "c1", "c2")]


def test_a_move_that_is_under_way_is_not_desired_again() -> None:
    """OCM has not followed yet, so its decision still names the old cluster."""
    move = LedgerMove(placement="ns/a", source="c1", target="c2", since=SECONDS)
    found = admit(situation(herd(FOUR, {"a": ("c1",)}), moves=[move]))
    assert not found.moves
    assert not found.waiting


@pytest.mark.parametrize("name", ["ns/a", "c1", "c2"])
def test_frozen(name: str) -> None:
    """An application, a source and a target can be frozen."""
    found = admit(situation(herd(FOUR, {"a": ("c1",)}), frozen={name: "maintenance night"}))
    assert [(each.reason, each.message) for each in found.waiting] == [
        (MoveReason.FROZEN, "maintenance night")
    ]


def test_an_infeasible_cluster_is_left_by_ocm_itself() -> None:
    """So there is nothing to admit, even if the pace is used up."""
    taints = {"c1": [{"key": "x", "effect": "NoSelect"}]}
    found = admit(situation(herd(FOUR, {"a": ("c1",)}, taints=taints)))
    assert not found.moves
    assert not found.waiting


def test_a_drained_cluster_is_left_first() -> None:
    """Before larger gains elsewhere, and also for a cluster with a lower score."""
    scores = {"c1": 90, "c2": 10, "c3": 60}
    placed = {"a": ("c1",), "b": ("c2",)}
    cordoned = herd(scores, placed, taints={"c1": [{"key": "x", "effect": "NoSelectIfNew"}]})
    drained = herd(scores, placed, taints={"c1": [{"key": "x", "effect": "NoSelect"}]})[0]
    pace = PACE.model_copy(update={"concurrent": 1, "arrivals_per_cluster": 5})
    found = admit(situation(cordoned, pace=pace, drained=drained, leaving=frozenset({"c1"})))
    assert [(desired.placement, desired.target, desired.drains) for desired in found.moves] == [
        ("ns/a", "c3", True)
    ]
    assert [(each.move.placement, each.reason) for each in found.waiting] == [
        ("ns/b", MoveReason.CONCURRENT)
    ]


def test_stickiness_counts_as_written() -> None:
    """A lead of 22 points is a desired move with a stickiness of 20 (weight 5, Steady 1), and none
    with one of 25.
    """
    assert moved(situation(herd(FOUR, {"a": ("c1",)}, weight=5, steady=1)))
    assert not moved(situation(herd(FOUR, {"a": ("c1",)}, weight=4, steady=1)))
    assert not moved(situation(herd(FOUR, {"a": ("c1",)}, weight=-1)))


def test_a_move_that_would_be_followed_by_one_back_is_not_desired() -> None:
    """With a demand of 11, c1 would have 51 points after the move, and c2 51; with 12 c1 would be
    better.
    """
    assert moved(situation(herd(FOUR, {"a": ("c1",)}, demand=11)))
    assert not moved(situation(herd(FOUR, {"a": ("c1",)}, demand=12)))
    sticky = herd(FOUR, {"a": ("c1",)}, demand=21, weight=5, steady=1)
    assert moved(situation(sticky)), "a stickiness of 20 points keeps it there"


def test_only_one_cluster_of_several_changes_at_a_time() -> None:
    """The worst cluster of the decision is left for the best one outside."""
    found = herd({"c1": 10, "c2": 20, "c3": 90, "c4": 95}, {"a": ("c1", "c2")})
    assert moved(situation(found)) == [("a", "c1", "c4")]


def test_waves_of_a_herd_end_evenly() -> None:
    """With a demand that is right, twenty applications spread until no cluster is clearly
    better.
    """
    found = situation(
        herd(FOUR, TWENTY, demand=2), pace=PACE.model_copy(update={"cooldown_seconds": 0})
    )
    shown = [wave.moves for wave in waves(found)]
    assert all(len(wave) <= PACE.concurrent for wave in shown)
    left = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
    for wave in shown:
        assert len({desired.target for desired in wave}) == len(wave)
        for desired in wave:
            left[desired.source] += 2
            left[desired.target] -= 2
    assert max(left.values()) - min(left.values()) <= 4


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase.ADMITTED, [("b", "c3")]),
        (Phase.HANDOVER, [("b", "c3")]),
        (Phase.WITHDRAWN, [("a", "c2"), ("b", "c3")]),
    ],
)
def test_waves_begin_when_what_is_under_way_is_done(
    phase: Phase, expected: list[tuple[str, str]]
) -> None:
    """OCM has followed a handover, will follow an admitted move, and not one that is withdrawn.

    After a move to c2, with a demand of 5, c3 is better.
    """
    on = "c2" if phase is Phase.HANDOVER else "c1"
    under_way = LedgerMove(placement="ns/a", source="c1", target="c2", since=SECONDS, phase=phase)
    pace = PACE.model_copy(update={"concurrent": 1, "cooldown_seconds": 0})
    found = situation(
        herd(FOUR, {"a": (on,), "b": ("c1",)}, demand=5), pace=pace, moves=[under_way]
    )
    shown = [
        (desired.placement.removeprefix("ns/"), desired.target)
        for wave in waves(found)
        for desired in wave.moves
    ]
    assert shown == expected


@pytest.mark.parametrize("settle", [0, 600, 3600])
def test_waves_count_the_load_of_a_move_once(settle: float) -> None:
    """However long a cluster settles: with 10 points each, the first move leaves c2 at 52 and c1 at
    50.
    """
    pace = PACE.model_copy(update={"settle_seconds": settle, "cooldown_seconds": 0})
    found = situation(herd({"c1": 30, "c2": 72}, TWENTY, demand=10), pace=pace)
    assert [
        [(desired.target, desired.points) for desired in wave.moves] for wave in waves(found)
    ] == [
        [("c2", 42.0)],
        [("c2", 22.0)],
    ]


TERM = PacedTerm("r", "free", 1, demand=10, delay=60, range=600)
MOVE = LedgerMove(placement="ns/a", source="c1", target="c2", since=0.0)


@pytest.mark.parametrize(
    ("elapsed", "share"), [(0, 1.0), (60, 1.0), (360, 0.5), (659, 1 / 600), (660, 0.0), (9999, 0.0)]
)
def test_a_range_measures_a_move_little_by_little(elapsed: float, share: float) -> None:
    """The mean of ten minutes shows half of a change after five."""
    ended = MOVE.entered(Phase.ENDED, 1000.0)
    assert unmeasured(ended, TERM, now=1000.0 + elapsed) == pytest.approx(share)
    assert unmeasured(MOVE, TERM, now=1000.0 + elapsed) == 1.0, (
        "nothing is measured while it is under way"
    )


def test_the_target_is_assumed_lower_and_the_source_higher() -> None:
    """The other way round where a lower score is better; without a demand nothing is assumed."""
    for weight, sign in ((1, 1), (-2, -1)):
        ranking = PacedRanking(
            (PacedTerm("r", "free", weight, demand=10), PacedTerm("s", "x", 1)), steady=0
        )
        found = {each.cluster: each.points for each in shifts_of(MOVE, ranking, now=0.0)}
        assert found == {"c2": -10 * sign, "c1": 10 * sign}
    new = LedgerMove(placement="ns/a", source="", target="c2", since=0.0)
    assert [each.cluster for each in shifts_of(new, PacedRanking((TERM,), steady=0), now=0.0)] == [
        "c2"
    ]


def test_assumed_scores() -> None:
    """Shifts add up within the range of scores.

    Other items, clusters and names stay the same objects.
    """
    scores = {
        "r": {"c1": score_of({"free": 40, "other": 1}), "c2": score_of({"free": -95})},
        "s": {},
    }
    shifts = [
        *(
            AssumedShift(cluster="c2", resource="r", dimension="free", points=-4.6)
            for _ in range(2)
        ),
        AssumedShift(cluster="c3", resource="r", dimension="free", points=-4),
        AssumedShift(cluster="c1", resource="r", dimension="gone", points=-4),
    ]
    found = assume(scores, shifts)
    assert found["r"]["c2"].get("free") == -100
    assert found["r"]["c1"] is scores["r"]["c1"]
    assert set(found["r"]) == {"c1", "c2"}
    assert found["s"] is scores["s"]
    assert scores["r"]["c2"].get("free") == -95
