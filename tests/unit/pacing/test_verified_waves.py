"""Waves of moves that are verified: each is under way until its checks can have passed."""

import pytest
from msgspec.structs import replace

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.waves import waves
from gitops_dsf.simulator import HubState
from tests.unit.pacing.fleet import PACE, SECONDS, herd, situation

SLO = VerifiedBy(
    scorer="slo",
    resource="slo",
    dimension="slo",
    at_least=80,
    for_seconds=600,
    delay=120,
    range=300,
    lifetime=900,
)
PING = VerifiedBy(
    scorer="ping", resource="ping", dimension="ping", no_worse_than=5, for_seconds=60, delay=60
)


def verified(
    found: tuple[HubState, dict[str, Paced]], *names: str, seconds: float = 1800
) -> tuple[HubState, dict[str, Paced]]:
    """The herd where these applications verify their moves."""
    state, paced = found
    verification = Verification(
        checks=(PING, SLO), seconds=seconds, hold_seconds=21600, revision="r"
    )
    for name in names:
        placement = paced[f"ns/{name}"]
        ranking = replace(placement.ranking, verification=verification)
        paced[f"ns/{name}"] = Paced.of(placement.placement, ranking)
    return state, paced


@pytest.mark.parametrize(
    ("names", "seconds", "second"),
    [
        ((), 1800, 600),
        (("a", "b"), 1800, 1020 + 600),
        (("a",), 1800, 1020 + 600),
        (("a", "b"), 900, 900 + 600),
    ],
    ids=["nothing is verified", "both", "one of them", "until it must be decided"],
)
def test_a_wave_begins_when_the_one_before_can_have_passed(
    names: tuple[str, ...], seconds: float, second: float
) -> None:
    """The slower check counts: 120 + 300 + 600 s. Then the cluster settles for 600 s."""
    pace = PACE.model_copy(update={"concurrent": 1, "cooldown_seconds": 0})
    found = verified(
        herd({"c1": 10, "c2": 80}, {"a": ("c1",), "b": ("c1",)}), *names, seconds=seconds
    )
    begins = [wave.at - SECONDS for wave in waves(situation(found, pace=pace))]
    assert begins == [0, second]
