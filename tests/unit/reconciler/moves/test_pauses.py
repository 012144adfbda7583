"""When the next removal may be tried."""

from gitops_dsf.reconciler.moves.completeness import BlockedReason
from gitops_dsf.reconciler.moves.pauses import PER_MINUTE, RETRIES, SILENCE_SECONDS, DeletionPauses

DOUBT = BlockedReason(reason="Conflict", message="it changed")
FIRST, LONGEST = RETRIES.first, RETRIES.ceiling


def test_so_many_deletions_a_minute() -> None:
    pauses = DeletionPauses()
    for number in range(PER_MINUTE):
        assert pauses.now("any", float(number)) is None
        pauses.deleted("any", float(number))
    found = pauses.now("other", float(PER_MINUTE))
    assert found is not None
    assert (found.until, found.blocked.reason) == (60.0, "RateLimited")
    assert pauses.now("other", 60.0) is None


def test_the_pause_of_one_grows_and_is_nobody_elses() -> None:
    pauses, now, seconds = DeletionPauses(), 0.0, []
    for _ in range(6):
        pause = pauses.failed("one", DOUBT, now)
        assert pauses.now("one", pause.until - 0.1) == pause
        assert pauses.now("other", now) is None
        seconds.append(pause.until - now)
        now = pause.until
        assert pauses.now("one", now) is None
    assert seconds == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST, LONGEST, LONGEST]
    assert pauses.failed("one", DOUBT, now + 10 * LONGEST).until == now + 10 * LONGEST + FIRST, "long ago"


def test_a_deletion_ends_the_pauses_of_its_own() -> None:
    pauses = DeletionPauses()
    pauses.failed("one", DOUBT, 0)
    pauses.deleted("one", 5)
    assert pauses.failed("one", DOUBT, 6).until == 6 + FIRST


def test_one_that_is_gone_is_forgotten() -> None:
    pauses = DeletionPauses()
    pauses.failed("one", DOUBT, 0)
    pauses.failed("two", DOUBT, 0)
    pauses.keep_only({"two"})
    assert pauses.now("one", 1) is None
    assert pauses.now("two", 1) is not None


def test_a_silent_hub_is_silent_for_all() -> None:
    pauses = DeletionPauses()
    pause = pauses.silent(DOUBT, 0)
    assert pauses.now("one", SILENCE_SECONDS - 0.1) == pauses.now("two", 0) == pause
    assert pauses.now("one", SILENCE_SECONDS) is None
