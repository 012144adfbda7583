"""The index of a ledger answers as a walk through all of its moves does."""

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.pacing.admit import admit
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.pacing.ledgerindex import LedgerIndex
from gitops_dsf.pacing.progress import advance
from tests.support.laws import examples
from tests.unit.pacing.fleet import PACE, SECONDS, herd, situation

CLUSTERS = ("c1", "c2", "c3")
KEYS = ("ns/a", "ns/b", "ns/c", "ns/d")

MOVES = st.lists(
    st.builds(
        LedgerMove,
        placement=st.sampled_from((*KEYS, "ns/gone")),
        source=st.sampled_from(("", *CLUSTERS)),
        target=st.sampled_from(CLUSTERS),
        since=st.sampled_from((SECONDS - 5_000, SECONDS - 300)),
        phase=st.sampled_from((*Phase, Phase.ENDED, Phase.ENDED)),
        phase_since=st.sampled_from([SECONDS - ago for ago in (4_000, 700, 650, 300, 10)]),
        admitted=st.booleans(),
    ),
    max_size=12,
)


@examples(60, soak=4000)
@given(moves=MOVES, later=MOVES)
def test_each_answer_is_that_of_a_walk(moves: list[LedgerMove], later: list[LedgerMove]) -> None:
    """Also after moves were added."""
    index = LedgerIndex(moves)
    for move in later:
        index.add(move)
    every = [*moves, *later]
    for key in (*KEYS, "ns/gone", "ns/unknown"):
        own = [move for move in every if move.placement == key]
        going = [move for move in own if move.phase != "Ended"]
        ends = [move.phase_since for move in own if move.phase == "Ended" and move.admitted]
        assert list(index.of(key)) == own
        assert index.under_way(key) is (going[0] if going else None)
        assert index.last_end(key) == max(ends, default=None)
    for cluster in (*CLUSTERS, "c9"):
        arrivals = [move for move in every if move.target == cluster]
        assert list(index.arrivals(cluster)) == arrivals
        touching = {id(move) for move in every if cluster in (move.source, move.target)}
        assert {id(move) for move in index.touching(cluster)} == touching
    admitted = [move for move in every if move.phase != "Ended" and move.admitted]
    assert index.admitted_under_way == len(admitted)


@examples(60, soak=4000)
@given(
    moves=MOVES,
    decided=st.dictionaries(
        st.sampled_from(KEYS), st.frozensets(st.sampled_from(CLUSTERS), min_size=1)
    ),
    before=st.dictionaries(
        st.sampled_from((*KEYS, "ns/gone")),
        st.lists(st.sampled_from(CLUSTERS), unique=True, min_size=1).map(
            lambda clusters: tuple(sorted(clusters))
        ),
        min_size=1,
    ),
)
def test_arrivals_are_those_of_a_walk(
    moves: list[LedgerMove],
    decided: dict[str, frozenset[str]],
    before: dict[str, tuple[str, ...]],
) -> None:
    after = advance(
        Ledger(tuple(moves), before),
        paced=set(KEYS),
        decided=decided,
        published=(),
        finished=lambda _: False,
        loss=lambda cluster: MoveCause("lost", cluster),
        now=SECONDS,
    )
    expected: list[tuple[str, str, str]] = []
    for key in sorted(KEYS):
        known = before.get(key, ())
        clusters = sorted(decided.get(key, known))
        left = sorted(set(known) - set(clusters))
        for cluster in clusters:
            awaited = any(
                move.placement == key and move.target == cluster and move.phase != "Ended"
                for move in moves
            )
            if cluster not in known and not awaited:
                expected.append((key, left.pop(0) if left else "", cluster))
    kept = len(after.moves) - len(expected)
    arrivals = after.moves[kept:]
    assert [(move.placement, move.source, move.target) for move in arrivals] == expected
    assert all(move.phase == "Handover" and not move.admitted for move in arrivals)


@examples(50, soak=3000)
@given(moves=MOVES, demand=st.sampled_from((0, 5)), limit=st.integers(1, 2))
def test_what_waits_says_what_a_walk_says(moves: list[LedgerMove], demand: int, limit: int) -> None:
    """Where nothing begins, so that the ledger is all that counts."""
    pace = PACE.model_copy(update={"concurrent": 30, "arrivals_per_cluster": limit})
    placed = {"a": ("c1",), "b": ("c1",), "c": ("c1",), "d": ("c3",)}
    scores = {"c1": 40, "c2": 62, "c3": 50}
    admission = admit(situation(herd(scores, placed, demand=demand), pace=pace, moves=moves))
    assume(not admission.moves)
    for waiting in admission.waiting:
        source = waiting.move.source
        target = waiting.move.target
        arrivals = [move for move in moves if move.target == target]
        coming = [move for move in arrivals if move.phase != "Ended"]
        if waiting.reason is MoveReason.ARRIVALS:
            assert waiting.message == f"{target} receives {len(coming)} already"
            assert len(coming) >= limit
        elif waiting.reason is MoveReason.SETTLE:
            ends = sorted(move.phase_since + 600 for move in arrivals if move.phase == "Ended")
            unmeasured = [end for end in ends if end > SECONDS]
            assert waiting.until == unmeasured[len(coming) + len(unmeasured) - limit]
        elif waiting.reason is MoveReason.MEASURING:
            ends = [-math.inf]
            for move in moves:
                if move.placement in KEYS and {source, target} & {move.source, move.target}:
                    is_ended = move.phase == "Ended"
                    ends.append(move.phase_since + 660 if is_ended else math.inf)
            last = max(ends)
            assert waiting.until == (last if SECONDS < last < math.inf else None)
