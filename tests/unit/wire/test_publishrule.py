"""When the scores of a scorer are written, and the numbers that all programs agree on."""

import pytest

from dsf_wire import constants
from dsf_wire.publishrule import (
    PublishedItems,
    PublishSettings,
    WriteDecision,
    changed,
    decide,
    stable_fraction,
)
from dsf_wire.summary import PublishRule, ScorerSummary

RULE = PublishSettings(deadband=2, min_interval=60, ttl=900, jitter=0.0)


def _published(values: dict[str, int]) -> PublishedItems:
    return PublishedItems(values=values, written=1000.0, valid_until=1000.0 + RULE.ttl)


@pytest.mark.parametrize(
    ("wanted", "at"),
    [
        ({"a": 50}, 1450.0),
        ({"a": 51}, 1450.0),
        ({"a": 52}, 1060.0),
        ({"a": 48}, 1060.0),
        ({"a": 50, "b": 1}, 1060.0),
        ({}, 1060.0),
    ],
)
def test_when_scores_are_written(wanted: dict[str, int], at: float) -> None:
    """Below the deadband after half of the TTL; larger or other items after the minimum
    interval.
    """
    assert decide(wanted, _published({"a": 50}), rule=RULE) == WriteDecision(
        at=at, changed=at < 1450
    )


def test_the_first_write_is_due_at_once() -> None:
    assert decide({}, None, rule=RULE) == WriteDecision(at=0, changed=True)


def test_scores_that_expire_sooner_are_written_again_sooner() -> None:
    """Half of the TTL is left then, whenever they were written."""
    published = PublishedItems(values={"a": 50}, written=1000, valid_until=1600)
    assert decide({"a": 50}, published, rule=RULE) == WriteDecision(at=1150, changed=False)


def test_one_of_several_scores_that_changes_is_enough() -> None:
    assert changed({"a": 50, "b": 10}, {"a": 60, "b": 10}, deadband=2)
    assert not changed({"a": 51, "b": 10}, {"a": 50, "b": 11}, deadband=2)


def test_with_a_deadband_of_zero_every_change_counts() -> None:
    """Equal scores are still not written after every cycle."""
    assert changed({"a": 1}, {"a": 2}, deadband=0)
    assert not changed({"a": 1}, {"a": 1}, deadband=0)


def test_refreshes_of_a_fleet_are_spread_and_early() -> None:
    refreshes = [
        PublishSettings(
            deadband=2, min_interval=60, ttl=900, jitter=stable_fraction(f"c{n}", "s")
        ).refresh
        for n in range(200)
    ]
    assert min(refreshes) >= 405
    assert max(refreshes) <= 450
    assert max(refreshes) - min(refreshes) > 35


def test_defaults_of_the_rule() -> None:
    plain = ScorerSummary(name="n", score_name="s", scoring_interval=30)
    assert PublishSettings.of(plain, jitter=0) == PublishSettings(
        deadband=2, min_interval=60, ttl=900, jitter=0
    )
    told = ScorerSummary(
        name="n",
        score_name="s",
        scoring_interval=300,
        publish=PublishRule(deadband=0, min_interval_seconds=5),
    )
    assert PublishSettings.of(told, jitter=0) == PublishSettings(
        deadband=0, min_interval=5, ttl=3000, jitter=0
    )
    assert (
        PublishSettings.of(
            ScorerSummary(name="n", score_name="s", score_ttl_seconds=7200), jitter=0
        ).ttl
        == 7200
    )


def test_limits_and_defaults() -> None:
    """A change of one of them is a change of the wire format, or of every fleet's behaviour."""
    assert (constants.SCORE_MIN, constants.SCORE_MAX) == (-100, 100), (
        "the CRD of AddOnPlacementScore"
    )
    assert (constants.DEFAULT_OUTPUT_MIN, constants.DEFAULT_OUTPUT_MAX) == (1, 100)
    assert (constants.DEFAULT_DEADBAND, constants.DEFAULT_MIN_INTERVAL_SECONDS) == (2, 60)
    assert (constants.MAX_SCORE_ITEMS, constants.MAX_ITEM_NAME) == (20_000, 4096)
    assert constants.MAX_POINTS == 11_000, "the limit of Prometheus"
    assert constants.HUB_SCORER_WRITES_PER_SECOND == 50


def test_fractions_differ_between_clusters_and_not_between_starts() -> None:
    assert stable_fraction("c1", "cpu") == stable_fraction("c1", "cpu")
    buckets = [0] * 10
    for number in range(1000):
        buckets[int(stable_fraction(f"cluster{number}", "cpu") * 10)] += 1
    assert min(buckets) > 60
    assert stable_fraction("ab", "c") != stable_fraction("a", "bc")
