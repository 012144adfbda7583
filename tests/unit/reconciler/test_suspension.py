"""When a scorer is suspended and when it is lifted, in examples and as laws."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.scorers.probes import HealthStatus
from gitops_dsf.reconciler.suspension import CircuitBreaker, ScoreCounts, ScorerState, count_scores
from tests.support import typed
from tests.support.typed import agent

TRIAL_EVERY = 3_600.0
TRIAL_SECONDS = 600.0

ACTIVE, INACTIVE, UNKNOWN = HealthStatus.ACTIVE, HealthStatus.INACTIVE, HealthStatus.UNKNOWN
HOLD = 90.0
STALE = ScoreCounts(expected=4, fresh=1, stale=3)
NONE: frozenset[str] = frozenset()


def state(
    scorer: str = "cpu",
    health: HealthStatus | None = INACTIVE,
    counts: ScoreCounts = STALE,
    *,
    score: str = "",
    **spec: Any,
) -> ScorerState:
    item = typed.scorer(scorer, score=score or f"{scorer}_score", **spec)
    return ScorerState(scorer=item, health=health, counts=counts)


def others(number: int) -> list[ScorerState]:
    return [state(f"well-{index}", ACTIVE) for index in range(number)]


def breaker() -> CircuitBreaker:
    return CircuitBreaker(quorum_percent=50, hold=HOLD)


def test_a_score_without_a_scoring_api_is_lifted_and_never_suspended() -> None:
    """Its scorer had an API when it was suspended, and no probe will ever answer for it now."""
    it, without = (
        breaker(),
        state(health=None, scoring={"type": "Query", "params": {"name": "cpu_score"}}),
    )
    assert it.decide([without], frozenset({"cpu_score"}), 0.0) == {
        "cpu_score": "it has no scoring API"
    }
    assert it.decide([without], NONE, 100 * HOLD) == {}


def test_what_is_not_ours_to_suspend_is_lifted() -> None:
    current = frozenset({"cpu_score", "by-hand"})
    for item, why in (
        (state(suspend=True), "git suspends it: spec.suspend is true"),
        (state(health=UNKNOWN), "no probe of the hub ever reached its API"),
    ):
        assert breaker().decide([item], current, 0.0) == {
            "by-hand": "no scorer has this score name",
            "cpu_score": why,
        }


def test_a_new_leader_waits_for_its_own_probes() -> None:
    it, current = breaker(), frozenset({"cpu_score"})
    assert it.decide([state(health=None), state("mem", None)], current, 0.0) == {}


def test_a_trial_finds_out_whether_agents_reach_what_the_hub_does_not() -> None:
    it, current = breaker(), frozenset({"cpu_score"})
    it.decide([state()], current, 0.0)
    assert it.decide([state()], current, TRIAL_EVERY - 1) == {}
    assert it.decide([state()], current, TRIAL_EVERY) == {
        "cpu_score": "for a trial: agents may reach its API although the hub does not"
    }
    over = TRIAL_EVERY + TRIAL_SECONDS
    assert it.decide([state()], NONE, over - 1) == {}
    assert it.decide([state(counts=ScoreCounts(expected=4, fresh=4))], NONE, over) == {}, (
        "the agents reach it"
    )
    assert set(it.decide([state()], NONE, over)) == current, "they do not"
    assert it.decide([state()], current, over + TRIAL_EVERY - 1) == {}


def test_scorers_that_share_a_name_are_suspended_together_or_not_at_all() -> None:
    pair = [
        state("a", score="same"),
        state("b", score="same", counts=ScoreCounts(expected=2, fresh=2)),
        *others(4),
    ]
    it = breaker()
    it.decide(pair, NONE, 0.0)
    assert it.decide(pair, NONE, HOLD) == {}
    pair[1] = replace(pair[1], counts=STALE)
    assert set(it.decide(pair, NONE, HOLD)) == {"same"}


SCORERS = st.lists(
    st.builds(
        state,
        scorer=st.sampled_from("abcdef"),
        score=st.sampled_from(("a", "b", "c", "d", "e", "f")),
        suspend=st.booleans() | st.just(False),
        health=st.sampled_from((None, ACTIVE, INACTIVE, INACTIVE, INACTIVE, UNKNOWN)),
        counts=st.builds(
            ScoreCounts,
            expected=st.integers(0, 5),
            fresh=st.integers(0, 2),
            stale=st.integers(0, 5),
        ),
    ),
    max_size=6,
    unique_by=lambda item: item.scorer.name,
)
STEPS = st.lists(
    st.tuples(
        SCORERS,
        st.frozensets(st.sampled_from("abcxy"), max_size=2) | st.none(),
        st.floats(0, 2_000),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_laws(steps: list[tuple[list[ScorerState], frozenset[str] | None, float]]) -> None:
    it, now = breaker(), 0.0
    current = NONE
    since: dict[str, float] = {}
    for scorers, by_hand, seconds in steps:
        now += seconds
        current = by_hand if by_hand is not None else current
        since = {
            each.scorer.name: since.get(each.scorer.name, now)
            for each in scorers
            if each.health is INACTIVE
        }
        update = it.decide(scorers, current, now)
        assert it.decide(scorers, current, now) == update, "asking again changes nothing"
        names = current.symmetric_difference(update)
        new = names - current
        for each in scorers:
            if each.scorer.score_name in new:
                assert each.health is INACTIVE
                assert not each.scorer.spec.suspend
                assert each.counts.is_quorum(50)
                assert now - since[each.scorer.name] >= HOLD
            if each.scorer.score_name in names:
                assert each.health in {INACTIVE, None}
        assert names <= {each.scorer.score_name for each in scorers}
        assert it.decide(scorers, names, now) == {}, "the decision is stable"
        current = names


def test_only_available_agents_that_published_are_counted() -> None:
    expected = frozenset(
        {"fresh", "stale", "endless", "never", "offline", "unknown", "silent", "absent"}
    )
    addons = dict.fromkeys(("fresh", "stale", "endless", "never"), agent(available="True")) | {
        "offline": agent(available="False"),
        "unknown": agent(available="Unknown"),
        "silent": agent(available=""),
    }
    old = frozenset({"stale", "offline", "unknown", "silent", "absent", "elsewhere"})
    scores = Assessment(expired=old, endless=frozenset({"endless"}))
    published = old | {"fresh", "endless"}
    assert count_scores(expected, addons=addons, published=published, scores=scores) == ScoreCounts(
        expected=8, fresh=1, stale=1
    )


@pytest.mark.parametrize(
    ("expected", "fresh", "stale", "percent", "enough"),
    [
        (1, 0, 1, 100, True),
        (1, 1, 0, 1, False),
        (1, 0, 0, 1, False),
        (2, 0, 1, 50, False),
        (2, 0, 2, 50, True),
        (10, 0, 1, 1, False),
        (10, 5, 5, 50, True),
        (10, 6, 5, 50, False),
        (10, 8, 2, 20, True),
        (10, 8, 2, 21, False),
        (3, 1, 2, 67, False),
        (3, 1, 2, 66, True),
        (0, 0, 0, 1, False),
    ],
)
def test_a_quorum(expected: int, fresh: int, stale: int, percent: int, enough: bool) -> None:
    assert ScoreCounts(expected=expected, fresh=fresh, stale=stale).is_quorum(percent) is enough
