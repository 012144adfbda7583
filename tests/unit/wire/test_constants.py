"""Numbers that generator, agent, scoring APIs and OCM must agree on."""

from dsf_wire import constants


def test_limits_and_defaults() -> None:
    """A change of one of them is a change of the wire format, or of every fleet's behaviour."""
    assert (constants.SCORE_MIN, constants.SCORE_MAX) == (-100, 100), "the CRD of AddOnPlacementScore"
    assert (constants.DEFAULT_OUTPUT_MIN, constants.DEFAULT_OUTPUT_MAX) == (1, 100)
    assert (constants.DEFAULT_DEADBAND, constants.DEFAULT_MIN_INTERVAL_SECONDS) == (2, 60)
    assert (constants.MAX_SCORE_ITEMS, constants.MAX_ITEM_NAME) == (20_000, 4096)
    assert constants.MAX_POINTS == 11_000, "the limit of Prometheus"
    assert constants.HUB_SCORER_WRITES_PER_SECOND == 50
