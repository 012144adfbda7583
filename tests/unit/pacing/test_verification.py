"""What the checks of a move say, one sentence of the rules after the other."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure, score_of
from gitops_dsf.pacing.ledger import CheckState, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.pacing.verification import (
    ChecksVerdict,
    Judgement,
    Reading,
    adapted,
    begun,
    judge,
    unverified,
    value_of,
)
from tests.support.laws import examples

ARRIVED = 100_000.0
"""When the new copy was healthy."""
MEASURED = ARRIVED + 120
"""From then on a score has measured nothing but the new copy."""
DEADLINE = ARRIVED + 1800
CHECK = VerifiedBy(
    scorer="slo",
    resource="slo",
    dimension="shop",
    at_least=80,
    for_seconds=600.0,
    delay=60.0,
    range=60.0,
    lifetime=900.0,
)
VERIFICATION = Verification(checks=(CHECK,), seconds=1800.0, hold_seconds=60.0, revision="r1")
MOVE = LedgerMove(
    placement="argocd/shop",
    source="eu-1",
    target="us-1",
    since=ARRIVED - 100,
    phase=Phase.VERIFYING,
    phase_since=ARRIVED,
    verified=True,
    revision="r1",
    checks=(CheckState(score="slo/shop", at_least=80),),
)
UNKNOWN = Reading(unbroken=True)


def reading(value: int, *, written: float = MEASURED, meanwhile: int | None = None) -> Reading:
    between = frozenset() if meanwhile is None else frozenset({meanwhile})
    return Reading(value=value, written=written, meanwhile=between, unbroken=True)


def judged(
    *looks: tuple[float, Reading], verification: Verification = VERIFICATION
) -> tuple[Judgement, LedgerMove]:
    """The judgement at the last of these looks, each with its time."""
    move = MOVE
    for now, read in looks:
        judgement = judge(move, verification, lambda _, read=read: read, now=now)
        move = replace(move, checks=judgement.checks)
    return judgement, move


def verdict(
    *looks: tuple[float, Reading], verification: Verification = VERIFICATION
) -> ChecksVerdict:
    return judged(*looks, verification=verification)[0].verdict


def test_a_score_that_is_good_for_long_enough_passes() -> None:
    good = reading(80)
    assert verdict((MEASURED, good), (MEASURED + 599, good)) is ChecksVerdict.OPEN
    judgement, move = judged((MEASURED, good), (MEASURED + 600, good))
    assert judgement.verdict is ChecksVerdict.PASSED
    assert move.checks == (CheckState(score="slo/shop", at_least=80, held_since=MEASURED, last=80),)


def test_a_score_that_is_bad_for_long_enough_fails_and_says_what_was_measured() -> None:
    bad = reading(79)
    assert verdict((MEASURED, bad), (MEASURED + 599, bad)) is ChecksVerdict.OPEN
    judgement, move = judged((MEASURED, bad), (MEASURED + 600, bad))
    assert judgement.verdict is ChecksVerdict.FAILED
    assert judgement.detail == "slo/shop 79 of at least 80"
    assert move.checks == (
        CheckState(score="slo/shop", at_least=80, failing_since=MEASURED, last=79),
    )


@pytest.mark.parametrize("value", [80, 79])
def test_nothing_counts_before_a_score_can_have_measured_the_new_copy(value: int) -> None:
    early = reading(value, written=MEASURED - 1)
    assert judged((MEASURED - 1, early))[1].checks == MOVE.checks
    assert verdict((MEASURED - 1, early), (MEASURED + 598, early)) is ChecksVerdict.OPEN


@pytest.mark.parametrize("value", [90, 10])
def test_a_score_that_was_written_before_that_decides_nothing(value: int) -> None:
    """An agent that died leaves it for 15 minutes."""
    old = reading(value, written=MEASURED - 1)
    assert verdict((MEASURED, old), (MEASURED + 900, old)) is ChecksVerdict.OPEN
    assert verdict((MEASURED, old), (DEADLINE, old)) is ChecksVerdict.UNKNOWN


def test_one_bad_moment_between_two_looks_begins_the_time_anew() -> None:
    good, dipped = reading(90), reading(90, meanwhile=70)
    looks = ((MEASURED, good), (MEASURED + 500, dipped))
    assert verdict(*looks, (MEASURED + 1099, good)) is ChecksVerdict.OPEN
    assert verdict(*looks, (MEASURED + 1100, good)) is ChecksVerdict.PASSED


def test_one_good_moment_between_two_looks_keeps_a_check_from_failing() -> None:
    bad, better = reading(70), reading(70, meanwhile=90)
    looks = ((MEASURED, bad), (MEASURED + 500, better))
    assert verdict(*looks, (MEASURED + 1099, bad)) is ChecksVerdict.OPEN
    assert verdict(*looks, (MEASURED + 1100, bad)) is ChecksVerdict.FAILED


def test_a_moment_of_which_nobody_knows_begins_the_time_anew() -> None:
    good = reading(90)
    looks = ((MEASURED, good), (MEASURED + 500, UNKNOWN), (MEASURED + 510, good))
    assert verdict(*looks, (MEASURED + 1109, good)) is ChecksVerdict.OPEN
    assert verdict(*looks, (MEASURED + 1110, good)) is ChecksVerdict.PASSED


def test_after_a_gap_the_time_begins_anew_unless_nobody_wrote_meanwhile() -> None:
    good = reading(90)
    written_again = replace_reading(good, written=MEASURED + 100)
    unwritten = replace_reading(good, written=MEASURED)
    looks = ((MEASURED, good), (MEASURED + 590, written_again))
    assert verdict(*looks, (MEASURED + 600, good)) is ChecksVerdict.OPEN
    assert verdict(*looks, (MEASURED + 1190, good)) is ChecksVerdict.PASSED
    looks = ((MEASURED, good), (MEASURED + 590, unwritten))
    assert verdict(*looks, (MEASURED + 600, good)) is ChecksVerdict.PASSED


def replace_reading(read: Reading, *, written: float) -> Reading:
    """The first look of another leader."""
    return Reading(value=read.value, written=written)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (reading(79), ChecksVerdict.FAILED),
        (reading(80), ChecksVerdict.UNKNOWN),
        (UNKNOWN, ChecksVerdict.UNKNOWN),
    ],
)
def test_when_the_time_is_over_a_bad_score_fails_and_the_rest_is_unknown(
    last: Reading, expected: ChecksVerdict
) -> None:
    assert verdict((DEADLINE - 1, last)) is ChecksVerdict.OPEN
    assert verdict((DEADLINE, last)) is expected


def test_a_check_passes_also_after_the_time_when_it_holds_at_last() -> None:
    good = reading(90)
    assert verdict((DEADLINE, good), (DEADLINE + 600, good)) is ChecksVerdict.PASSED


def test_all_checks_must_pass_at_the_same_time_and_one_fails_the_move() -> None:
    second = replace(CHECK, scorer="errors", resource="errors")
    both = replace(VERIFICATION, checks=(CHECK, second))
    move = replace(MOVE, checks=(*MOVE.checks, CheckState(score="errors/shop", at_least=80)))

    def at(now: float, first: int, other: int) -> Judgement:
        nonlocal move
        values = {"slo": first, "errors": other}
        judgement = judge(move, both, lambda check: reading(values[check.scorer]), now=now)
        move = replace(move, checks=judgement.checks)
        return judgement

    at(MEASURED, 90, 70)
    assert at(MEASURED + 500, 90, 90).verdict is ChecksVerdict.OPEN
    assert at(MEASURED + 600, 70, 90).verdict is ChecksVerdict.OPEN
    assert at(MEASURED + 610, 90, 90).verdict is ChecksVerdict.OPEN
    assert at(MEASURED + 1100, 90, 90).verdict is ChecksVerdict.OPEN, "the first one only for 490 s"
    assert at(MEASURED + 1210, 90, 90).verdict is ChecksVerdict.PASSED
    at(MEASURED + 1211, 90, 10)
    failed = at(DEADLINE + 100, 90, 10)
    assert (failed.verdict, failed.detail) == (
        ChecksVerdict.FAILED,
        "errors/shop 10 of at least 80",
    )


def test_no_worse_than_compares_with_the_old_copy_before_the_move() -> None:
    check = replace(CHECK, at_least=None, no_worse_than=10)
    verification = replace(VERIFICATION, checks=(check,))
    plain = LedgerMove(placement="a/b", source="c1", target="c2", since=ARRIVED)
    known = begun(plain, verification, lambda _: 75)
    assert known.verified
    assert known.revision == "r1"
    assert known.checks == (CheckState(score="slo/shop", at_least=65, before=75),)
    assert begun(plain, verification, lambda _: None).checks == (CheckState(score="slo/shop"),)


def test_without_the_score_of_the_old_copy_nobody_knows() -> None:
    check = replace(CHECK, at_least=None, no_worse_than=10)
    verification = replace(VERIFICATION, checks=(check,))
    move = replace(MOVE, checks=(CheckState(score="slo/shop"),))
    judgement = judge(move, verification, lambda _: reading(100), now=DEADLINE)
    assert judgement.verdict is ChecksVerdict.UNKNOWN
    assert judgement.detail == "slo/shop 100, and the score before the move is not known"


def test_a_check_that_is_written_again_goes_on_and_a_changed_one_begins_anew() -> None:
    held = replace(MOVE, checks=(CheckState(score="slo/shop", at_least=80, held_since=MEASURED),))
    assert adapted(held, VERIFICATION) is held
    edited = adapted(held, replace(VERIFICATION, revision="r2"))
    assert (edited.revision, edited.checks) == ("r2", held.checks)
    stricter = replace(VERIFICATION, checks=(replace(CHECK, at_least=85),))
    assert adapted(held, stricter).checks == (CheckState(score="slo/shop", at_least=85),)
    second = replace(CHECK, resource="errors")
    more = replace(VERIFICATION, checks=(CHECK, second))
    assert adapted(held, more).checks == (
        *held.checks,
        CheckState(score="errors/shop", at_least=80),
    )


def test_the_score_of_the_old_copy_stays_known_when_its_check_changes() -> None:
    move = replace(MOVE, checks=(CheckState(score="slo/shop", at_least=65, before=75),))
    check = replace(CHECK, at_least=None, no_worse_than=20)
    assert adapted(move, replace(VERIFICATION, checks=(check,))).checks == (
        CheckState(score="slo/shop", at_least=55, before=75),
    )


def test_a_move_that_began_without_verification_is_verified_from_now_on() -> None:
    plain = LedgerMove(placement="a/b", source="c1", target="c2", since=ARRIVED)
    after = adapted(plain, VERIFICATION)
    assert (after.verified, after.checks) == (True, MOVE.checks)


NOW = 1_000_000.0
"""When somebody looks at the score of an agent that writes every 450 s at least."""


def published(*, ago: float) -> PublishedScore:
    until = datetime.fromtimestamp(NOW - ago + 900, UTC)
    return score_of({"shop": 90}, valid_until=until)


FAILURE = ScoreFailure(reason="NoData", message="", since=None)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (published(ago=0), 90),
        (published(ago=570), 90),
        (published(ago=571), None),
        (published(ago=901), None),
        (published(ago=-60), 90),
        (published(ago=-61), None),
        (score_of({"shop": 90}), None),
        (score_of({"cart": 90}, valid_until=datetime.fromtimestamp(NOW + 900, UTC)), None),
        (None, None),
        (replace(published(ago=0), failure=FAILURE), None),
    ],
    ids=[
        "just written",
        "as old as a living agent lets it become",
        "older",
        "over",
        "of a clock that is ahead",
        "of a longer lifetime",
        "never over",
        "without the item",
        "none",
        "its scorer gives none now",
    ],
)
def test_a_score_counts_while_its_agent_lives(
    score: PublishedScore | None, expected: int | None
) -> None:
    assert value_of(score, CHECK, now=NOW) == expected


BACK = LedgerMove(placement="argocd/shop", source="us-1", target="eu-1", since=NOW, returning=True)


@pytest.mark.parametrize(
    ("moves", "cluster", "decided", "expected"),
    [
        ((), "eu-1", "us-1", "no move away from there is in the ledger yet"),
        ((MOVE,), "eu-1", "us-1", "the checks on us-1 have not passed yet"),
        (
            (replace(MOVE, phase=Phase.HANDOVER),),
            "eu-1",
            "us-1",
            "the checks on us-1 have not begun yet",
        ),
        ((replace(MOVE, passed_at=NOW),), "eu-1", "us-1", ""),
        ((replace(MOVE, passed_at=NOW, phase=Phase.ENDED),), "eu-1", "us-1", ""),
        ((replace(MOVE, passed_at=NOW),), "eu-2", "us-1", "no move away from there"),
        ((replace(MOVE, passed_at=NOW),), "eu-1", "us-2", "no move away from there"),
        (
            (replace(MOVE, passed_at=NOW, phase=Phase.ENDED), MOVE),
            "eu-1",
            "us-1",
            "have not passed yet",
        ),
        (
            (replace(MOVE, phase=Phase.ENDED, outcome=VerificationOutcome.FAILED),),
            "eu-1",
            "us-1",
            "the checks on us-1 failed",
        ),
        ((replace(MOVE, outcome=VerificationOutcome.RETURNED), BACK), "us-1", "eu-1", ""),
        (
            (replace(MOVE, outcome=VerificationOutcome.RETURNED), BACK),
            "eu-1",
            "us-1",
            "not passed yet",
        ),
    ],
)
def test_an_old_copy_goes_only_when_exactly_its_move_has_passed(
    moves: tuple[LedgerMove, ...], cluster: str, decided: str, expected: str
) -> None:
    kept = unverified(moves, "argocd/shop", [cluster], frozenset({decided}))
    reason = kept.get(cluster, "")
    assert expected in reason
    assert bool(reason) == bool(expected)


READINGS = st.builds(
    Reading,
    value=st.none() | st.integers(60, 100),
    written=st.floats(ARRIVED - 500, ARRIVED + 4000),
    meanwhile=st.frozensets(st.none() | st.integers(60, 100), max_size=2),
    unbroken=st.booleans(),
)
STEPS = st.lists(st.tuples(st.integers(1, 700), READINGS), min_size=1, max_size=12)


def story(steps: list[tuple[float, Reading]]) -> list[tuple[float, Reading, Judgement]]:
    """The judgements of these looks until one decides."""
    move, now, told = MOVE, ARRIVED, []
    for seconds, read in steps:
        now += seconds
        judgement = judge(move, VERIFICATION, lambda _, read=read: read, now=now)
        move = replace(move, checks=judgement.checks)
        told.append((now, read, judgement))
        if judgement.verdict in {ChecksVerdict.PASSED, ChecksVerdict.FAILED}:
            break
    return told


@examples(60, soak=4000)
@given(STEPS)
def test_whatever_was_measured_the_rules_hold(steps: list[tuple[float, Reading]]) -> None:
    told = story(steps)
    for now, _, judgement in told:
        assert (judgement.verdict is ChecksVerdict.OPEN) <= (now < DEADLINE), (
            "it is decided in time"
        )
        [state] = judgement.checks
        assert state.held_since is None or state.failing_since is None
    now, last, judgement = told[-1]
    if judgement.verdict not in {ChecksVerdict.PASSED, ChecksVerdict.FAILED}:
        return
    assert last.value is not None
    assert last.written >= MEASURED
    passed = judgement.verdict is ChecksVerdict.PASSED
    assert (last.value >= 80) is passed
    if passed:
        # All that anybody saw within the last 600 s was good, and somebody looked before them.
        before = [at for at, _, _ in told if at <= now - 600]
        assert before
        for at, read, _ in told:
            values = {read.value, *(read.meanwhile if at > before[-1] else ())}
            assert at < before[-1] or all(value is not None and value >= 80 for value in values)


@examples(50)
@given(STEPS)
def test_a_check_that_is_never_known_decides_nothing(steps: list[tuple[float, Reading]]) -> None:
    unknown = [
        (seconds, Reading(written=read.written, meanwhile=read.meanwhile))
        for seconds, read in steps
    ]
    for _, _, judgement in story(unknown):
        assert judgement.verdict in {ChecksVerdict.OPEN, ChecksVerdict.UNKNOWN}


@examples(50)
@given(st.floats(0, 5000), st.floats(0, 5000), st.sampled_from([70, 90]))
def test_time_alone_never_takes_a_verdict_back(first: float, second: float, value: int) -> None:
    early, late = sorted((ARRIVED + first, ARRIVED + second))
    order = [ChecksVerdict.OPEN, ChecksVerdict.UNKNOWN, ChecksVerdict.PASSED, ChecksVerdict.FAILED]
    _, move = judged((MEASURED, reading(value)))
    verdicts = [
        judge(move, VERIFICATION, lambda _: reading(value), now=now).verdict
        for now in (early, late)
    ]
    assert order.index(verdicts[0]) <= order.index(verdicts[1])
