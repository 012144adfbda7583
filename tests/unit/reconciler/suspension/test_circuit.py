"""When a scorer is suspended and when it is lifted, in examples and as laws."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.scorers.health import HealthStatus
from gitops_dsf.reconciler.suspension.circuit import (
    TRIAL_EVERY,
    TRIAL_SECONDS,
    Case,
    Circuit,
    Ruling,
    too_many_down,
)
from gitops_dsf.reconciler.suspension.hearing import Hearing

ACTIVE, INACTIVE, UNKNOWN = HealthStatus.ACTIVE, HealthStatus.INACTIVE, HealthStatus.UNKNOWN
HOLD = 90.0
STALE = Hearing(expected=4, fresh=1, stale=3)
NOBODY: frozenset[str] = frozenset()


def case(
    scorer: str = "cpu", verdict: HealthStatus | None = INACTIVE, hearing: Hearing = STALE, **other: object
) -> Case:
    return replace(
        Case(
            scorer=scorer,
            score=f"{scorer}_score",
            api=f"http://{scorer}:8000",
            stopped=False,
            verdict=verdict,
            hearing=hearing,
        ),
        **other,
    )  # type: ignore[arg-type]


def others(number: int) -> list[Case]:
    return [case(f"well-{index}", ACTIVE) for index in range(number)]


def circuit() -> Circuit:
    return Circuit(quorum_percent=50, hold=HOLD)


def suspended(ruling: Ruling) -> list[str]:
    return [change.score for change in ruling.suspended]


def test_down_for_a_while_and_a_quorum() -> None:
    it = circuit()
    assert it.rule([case()], NOBODY, 0.0) == Ruling(names=NOBODY)
    assert it.rule([case()], NOBODY, HOLD - 1).names == NOBODY
    ruling = it.rule([case()], NOBODY, HOLD)
    assert ruling.names == {"cpu_score"}
    assert [(change.scorers, change.why) for change in ruling.suspended] == [
        (("cpu",), "down for the hub since 90 s, and 3 of 4 clusters with a living agent have no fresh score")
    ]


def test_neither_alone_is_enough() -> None:
    for verdict in (ACTIVE, UNKNOWN, None):
        it = circuit()
        for at in (0.0, HOLD, 10 * HOLD):
            assert it.rule([case(verdict=verdict)], NOBODY, at).names == NOBODY
    it = circuit()
    for at in (0.0, HOLD, 10 * HOLD):
        assert it.rule([case(hearing=Hearing(expected=4, fresh=3, stale=1))], NOBODY, at).names == NOBODY


def test_an_answer_in_between_starts_the_wait_anew() -> None:
    it = circuit()
    it.rule([case()], NOBODY, 0.0)
    it.rule([case(verdict=ACTIVE)], NOBODY, 60.0)
    it.rule([case()], NOBODY, 70.0)
    assert it.rule([case()], NOBODY, 100.0).names == NOBODY
    assert it.rule([case()], NOBODY, 160.0).names == {"cpu_score"}


def test_it_is_lifted_when_the_api_answers_whatever_the_scores_say() -> None:
    it = circuit()
    listed = frozenset({"cpu_score"})
    assert it.rule([case(hearing=Hearing())], listed, 0.0).names == listed
    ruling = it.rule([case(verdict=ACTIVE)], listed, 1.0)
    assert ruling.names == NOBODY
    assert [change.why for change in ruling.lifted] == ["its API answers the hub"]


def test_what_is_not_ours_to_suspend_is_lifted() -> None:
    listed = frozenset({"cpu_score", "by-hand"})
    for item, why in (
        (case(stopped=True), "git suspends it: spec.suspend is true"),
        (case(verdict=UNKNOWN), "no probe of the hub ever reached its API"),
    ):
        ruling = circuit().rule([item], listed, 0.0)
        assert [(change.score, change.why) for change in ruling.lifted] == [
            ("by-hand", "no scorer has this score name"),
            ("cpu_score", why),
        ]


def test_a_new_leader_waits_for_its_own_probes() -> None:
    it, listed = circuit(), frozenset({"cpu_score"})
    assert it.rule([case(verdict=None), case("mem", None)], listed, 0.0) == Ruling(names=listed)


def test_a_trial_finds_out_whether_agents_reach_what_the_hub_does_not() -> None:
    it, listed = circuit(), frozenset({"cpu_score"})
    it.rule([case()], listed, 0.0)
    assert it.rule([case()], listed, TRIAL_EVERY - 1).names == listed
    ruling = it.rule([case()], listed, TRIAL_EVERY)
    assert ruling.names == NOBODY
    assert [change.why for change in ruling.lifted] == [
        "for a trial: agents may reach its API although the hub does not"
    ]
    over = TRIAL_EVERY + TRIAL_SECONDS
    assert it.rule([case()], NOBODY, over - 1).names == NOBODY
    assert it.rule([case(hearing=Hearing(expected=4, fresh=4))], NOBODY, over).names == NOBODY, (
        "the agents reach it"
    )
    assert it.rule([case()], NOBODY, over).names == listed, "they do not"
    assert it.rule([case()], listed, over + TRIAL_EVERY - 1).names == listed


def test_most_scorers_down_at_once_is_the_hubs_own_affair() -> None:
    it = circuit()
    down = [case("cpu"), case("mem"), case("net", hearing=Hearing(expected=4, fresh=4)), *others(2)]
    it.rule(down, NOBODY, 0.0)
    ruling = it.rule(down, NOBODY, HOLD)
    assert ruling.names == NOBODY
    assert [change.score for change in ruling.held_back] == ["cpu_score", "mem_score"]
    kept = it.rule(down, frozenset({"mem_score"}), HOLD)
    assert kept.names == {"mem_score"}, "what was suspended before stays"
    assert it.rule([*down, case("more", ACTIVE)], NOBODY, HOLD).names == {"cpu_score", "mem_score"}


def test_the_only_scorer_may_be_suspended_and_one_of_two() -> None:
    assert not too_many_down([case()])
    assert not too_many_down([case(), *others(1)])
    assert not too_many_down([case(), case("far", UNKNOWN), case("new", None)])
    assert too_many_down([case(), case("mem")])
    assert not too_many_down([case(api="one"), case("mem", api="one"), case("net", ACTIVE, api="other")]), (
        "one API serves two"
    )
    assert not too_many_down([])


def test_a_scorer_without_a_score_name_cannot_be_named() -> None:
    it = circuit()
    it.rule([case(score="")], NOBODY, 0.0)
    assert it.rule([case(score="")], NOBODY, HOLD) == Ruling(names=NOBODY)


def test_scorers_that_share_a_name_are_suspended_together_or_not_at_all() -> None:
    pair = [
        case("a", score="same"),
        case("b", score="same", hearing=Hearing(expected=2, fresh=2)),
        *others(4),
    ]
    it = circuit()
    it.rule(pair, NOBODY, 0.0)
    assert it.rule(pair, NOBODY, HOLD).names == NOBODY
    pair[1] = replace(pair[1], hearing=STALE)
    ruling = it.rule(pair, NOBODY, HOLD)
    assert ruling.names == {"same"}
    assert ruling.suspended[0].scorers == ("a", "b")


CASES = st.lists(
    st.builds(
        Case,
        scorer=st.sampled_from("abcdef"),
        score=st.sampled_from(("", "a", "b", "c", "d", "e", "f")),
        api=st.sampled_from("pqrs"),
        stopped=st.booleans() | st.just(False),
        verdict=st.sampled_from((None, ACTIVE, INACTIVE, INACTIVE, INACTIVE, UNKNOWN)),
        hearing=st.builds(
            Hearing, expected=st.integers(0, 5), fresh=st.integers(0, 2), stale=st.integers(0, 5)
        ),
    ),
    max_size=6,
    unique_by=lambda item: item.scorer,
)
STEPS = st.lists(
    st.tuples(CASES, st.frozensets(st.sampled_from("abcxy"), max_size=2) | st.none(), st.floats(0, 2_000)),
    max_size=12,
)


@given(steps=STEPS)
def test_laws(steps: list[tuple[list[Case], frozenset[str] | None, float]]) -> None:
    it, now = circuit(), 0.0
    listed = NOBODY
    since: dict[str, float] = {}
    for cases, by_hand, seconds in steps:
        now += seconds
        listed = by_hand if by_hand is not None else listed
        since = {each.scorer: since.get(each.scorer, now) for each in cases if each.verdict is INACTIVE}
        ruling = it.rule(cases, listed, now)
        assert it.rule(cases, listed, now) == ruling, "asking again changes nothing"
        new = ruling.names - listed
        assert new == set(suspended(ruling))
        assert listed - ruling.names == {change.score for change in ruling.lifted}
        for each in cases:
            if each.score in new:
                assert each.verdict is INACTIVE
                assert not each.stopped
                assert each.hearing.agrees(50)
                assert now - since[each.scorer] >= HOLD
            if each.score in ruling.names:
                assert each.verdict in {INACTIVE, None}
        if too_many_down(cases):
            assert not new
        if new:
            assert len({each.api for each in cases if each.score in new}) <= max(
                1, len({each.api for each in cases}) // 2
            )
        assert ruling.names <= {each.score for each in cases}
        settled = it.rule(cases, ruling.names, now)
        assert settled.names == ruling.names, "what was ruled stands"
        listed = ruling.names
