"""What an admission depends on, and until when it holds."""

import math
from dataclasses import replace as with_fields

from msgspec.structs import replace

from gitops_dsf.pacing.ledger import Hold, Ledger
from gitops_dsf.pacing.maintenance import CORDON, tainted
from gitops_dsf.reconciler.pacing.situation import Inputs, could_decide, holds_until
from tests.unit.pacing.fleet import SECONDS, herd

HOLD = Hold(placement="ns/a", target="c2", since=SECONDS - 10, until=SECONDS + 90)


def inputs() -> Inputs:
    """An application, and c1 beside the cluster where it is."""
    state, paced = herd({"c1": 10, "c2": 50, "c3": 0}, {"a": ("c2",)})
    clusters = {cluster.metadata.name: cluster for cluster in state.clusters}
    return Inputs(
        clusters=clusters,
        sets=tuple(state.sets.values()),
        bindings=state.bindings["ns"],
        paced=paced,
        decided={"ns/a": frozenset({"c2"})},
        versions=(),
        scores={},
    )


def test_an_admission_is_computed_again_when_a_hold_ends() -> None:
    assert holds_until(inputs(), ledger=Ledger(), now=SECONDS) == math.inf
    assert holds_until(inputs(), ledger=Ledger(holds=(HOLD,)), now=SECONDS) == SECONDS + 90
    over = replace(HOLD, until=SECONDS)
    assert holds_until(inputs(), ledger=Ledger(holds=(over,)), now=SECONDS) == math.inf


def test_ocm_could_decide_again_for_a_cluster_that_passes_the_filters() -> None:
    """Also for one with a worse score, because it is drawn there."""
    assert could_decide(inputs(), "ns/a", "c1", now=SECONDS)
    assert could_decide(inputs(), "ns/a", "c3", now=SECONDS)
    assert not could_decide(inputs(), "ns/a", "gone", now=SECONDS)
    assert not could_decide(inputs(), "ns/other", "c1", now=SECONDS)


def test_ocm_could_not_decide_again_for_a_cluster_that_is_cordoned() -> None:
    """A taint that spares what is decided already keeps it out: it left the cluster."""
    plain = inputs()
    cordoned = with_fields(plain, clusters=tainted(plain.clusters, {"c1"}, effect=CORDON))
    assert not could_decide(cordoned, "ns/a", "c1", now=SECONDS)
    assert could_decide(cordoned, "ns/a", "c3", now=SECONDS)
