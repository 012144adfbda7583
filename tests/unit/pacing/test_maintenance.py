"""What open windows mean.

Which clusters are cordoned and drained, what is frozen, and how far drains are.
"""

from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.maintenance import Maintenance, read_maintenance
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.names import MAINTENANCE_TAINT
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.windows import Period
from gitops_dsf.pacing.admit import Situation, admit
from gitops_dsf.pacing.ledger import LedgerMove, Phase
from gitops_dsf.pacing.maintenance import (
    CORDON,
    LEAVE,
    Drain,
    Drained,
    MaintenanceState,
    OpenWindows,
    WindowState,
    effect_of,
    state_of,
    tainted,
    tainted_by,
    without_drained,
)
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from gitops_dsf.pacing.waves import staying, waves
from tests.unit.pacing.fleet import PACE, SECONDS, herd, situation

MAX_DRAINS = 500
MAX_NAMED = 100

OPEN = {"start": "1970-01-01T00:01:40Z", "end": "1970-01-01T00:33:20Z"}
PERIOD = Period(100.0, 2000.0)
NOW = 1000.0
CLUSTERS = {
    name: msgspec.convert({"metadata": {"name": name, "labels": {"env": env}}}, type=ManagedCluster)
    for name, env in (("c1", "prod"), ("c2", "prod"), ("c3", "test"))
}


def windows(*items: dict[str, Any]) -> tuple[Maintenance, ...]:
    written = [{"name": f"m{number}", **OPEN, **item} for number, item in enumerate(items)]
    return read_maintenance({"maintenance": msgspec.json.encode(written).decode()}) or ()


def effect(*items: dict[str, Any], now: float = NOW) -> OpenWindows:
    return effect_of(windows(*items), clusters=CLUSTERS, placements=("ns/a", "ns/b"), now=now)


PROD = {"clusterSelector": {"matchLabels": {"env": "prod"}}}


def test_a_cordon_and_a_drain() -> None:
    found = effect({"action": "Cordon", **PROD}, {"action": "Drain", "clusters": ["c3", "c9"]})
    assert found.cordoned == {"c1", "c2", "c3", "c9"}
    assert found.drained == dict.fromkeys(("c3", "c9"), Drained(maintenance="m1", period=PERIOD))
    assert found.frozen == {}


@pytest.mark.parametrize(
    ("now", "is_open"), [(99.0, False), (100.0, True), (1999.0, True), (2000.0, False)]
)
def test_nothing_happens_outside_of_the_window(now: float, is_open: bool) -> None:
    found = effect({"action": "Drain", **PROD}, now=now)
    assert (found == OpenWindows()) == (not is_open)


def test_the_drain_with_the_later_end_says_until_when() -> None:
    longer = {"end": "1970-01-01T01:00:00Z"}
    drain = {"action": "Drain", "clusters": ["c1"]}
    for items in ((drain, drain | longer), (drain | longer, drain)):
        assert effect(*items).drained["c1"].period.end == 3600.0


def test_a_freeze_says_why() -> None:
    words = "maintenance m0 freezes it until 1970-01-01T00:33:20Z"
    assert effect({"action": "Freeze", **PROD}).frozen == {"c1": words, "c2": words}
    assert effect({"action": "Freeze", "applications": ["a", "x"]}).frozen == {"ns/a": words}
    assert effect({"action": "Freeze", "clusterSelector": {}}).frozen.keys() == CLUSTERS.keys()


def test_a_selector_that_kubernetes_refuses_is_of_no_cluster() -> None:
    wrong = {"matchExpressions": [{"key": "env", "operator": "Like", "values": ["p"]}]}
    assert effect({"action": "Drain", "clusterSelector": wrong}) == OpenWindows()


def test_a_taint_is_added_once() -> None:
    once = tainted(CLUSTERS, {"c1", "c9"}, effect=CORDON)
    assert [(each.key, each.effect) for each in once["c1"].taints] == [(MAINTENANCE_TAINT, CORDON)]
    assert tainted(once, {"c1"}, effect=CORDON) == once
    assert [each.effect for each in tainted(once, {"c1"}, effect=LEAVE)["c1"].taints] == [LEAVE]
    assert once["c2"] is CLUSTERS["c2"]
    assert once.keys() == CLUSTERS.keys()


class TestAdmission:
    """Two applications on c1, which is the best cluster by far."""

    SCORES = {"c1": 90, "c2": 40, "c3": 30}
    PLACED = {"a": ["c1"], "b": ["c1"], "c": ["c2"]}

    def admitted(
        self, *, frozen: dict[str, str] | None = None
    ) -> tuple[list[tuple[str, str]], list[MoveReason]]:
        hub, paced = herd(self.SCORES, self.PLACED)
        left, _ = herd(
            self.SCORES, self.PLACED, taints={"c1": [{"key": MAINTENANCE_TAINT, "effect": LEAVE}]}
        )
        found = admit(
            situation(
                (hub, paced),
                pace=PACE,
                drained=left,
                leaving=frozenset({"c1"}),
                frozen=frozen or {},
            )
        )
        return [(each.placement, each.target) for each in found.moves], [
            each.reason for each in found.waiting
        ]

    def test_a_drain_moves_within_the_pace_and_nobody_arrives(self) -> None:
        assert self.admitted() == ([("ns/a", "c2")], [MoveReason.ARRIVALS])

    def test_a_freeze_holds_a_drain(self) -> None:
        assert self.admitted(frozen={"c1": "why"}) == ([], [MoveReason.FROZEN] * 2)
        assert self.admitted(frozen={"ns/a": "why"}) == ([("ns/b", "c2")], [MoveReason.FROZEN])


class TestDepartures:
    """Three applications on c1, and one on c2, which is better placed on c3."""

    SCORES = {"c1": 90, "c2": 10, "c3": 40, "c4": 36}
    PLACED = {"a": ["c1"], "b": ["c1"], "c": ["c1"], "d": ["c2"]}

    def drained(self, *, at: float | None = None, **more: Any) -> Situation:
        hub, paced = herd(self.SCORES, self.PLACED, demand=6)
        effect = OpenWindows(
            cordoned=frozenset({"c1"}), drained={"c1": Drained(maintenance="m", period=PERIOD)}
        )
        hub = tainted_by(hub, effect)
        return situation(
            (hub, paced),
            drained=without_drained(hub, effect),
            leaving=frozenset({"c1"}),
            pace_time=at,
            **more,
        )

    def shown(self, found: Situation) -> list[tuple[float, list[tuple[str, str]]]]:
        start = found.seconds
        return [
            (
                wave.at - start,
                [(each.placement.removeprefix("ns/"), each.target) for each in wave.moves],
            )
            for wave in waves(found, measured=False)
        ]

    def test_a_wave_begins_as_soon_as_the_pace_allows(self) -> None:
        """Not only when the one before it is measured, and without the moves of others."""
        found = self.drained(pace=PACE.model_copy(update={"concurrent": 1}))
        assert self.shown(found) == [(0, [("a", "c3")]), (0, [("b", "c4")]), (600, [("c", "c3")])]
        paced = [each.moves[0].placement for each in waves(found)]
        assert "ns/d" in paced

    def test_a_window_of_later_does_not_wait_for_moves_of_now(self) -> None:
        """Arrivals on both of the other clusters are not measured yet."""
        arrival = LedgerMove(
            placement="ns/d", source="c2", target="c4", since=SECONDS - 5, phase=Phase.HANDOVER
        )
        second = LedgerMove(
            placement="ns/d", source="c4", target="c3", since=SECONDS - 5, phase=Phase.HANDOVER
        )
        assert self.shown(self.drained(moves=[arrival, second]))[0][0] == 600
        later = self.drained(moves=[arrival, second], at=SECONDS + 86_400)
        assert self.shown(later)[0][0] == 0

    def test_nobody_leaves_a_cluster_that_is_not_drained(self) -> None:
        hub, paced = herd(self.SCORES, self.PLACED)
        assert not staying(situation((hub, paced)))
        assert not list(waves(situation((hub, paced)), measured=False))


def test_the_hub_has_the_taint_where_windows_are_open() -> None:
    """And no longer where none is."""
    other = {"key": "other", "effect": "NoSelect"}
    ours = {"key": MAINTENANCE_TAINT, "effect": CORDON}
    hub, _ = herd({"c1": 1, "c2": 1, "c3": 1}, {}, taints={"c1": [ours, other], "c2": [other]})
    found = tainted_by(hub, OpenWindows(cordoned=frozenset({"c2"})))
    keys = {item.metadata.name: [each.key for each in item.taints] for item in found.clusters}
    assert keys == {"c1": ["other"], "c2": ["other", MAINTENANCE_TAINT], "c3": []}
    assert tainted_by(found, OpenWindows(cordoned=frozenset({"c2"}))) is found
    assert without_drained(found, OpenWindows(cordoned=frozenset({"c2"}))) is None


def state(
    on_c1: int, *, before: MaintenanceState | None = None, now: float = NOW, unpaced: int = 0
) -> MaintenanceState:
    items = windows({"action": "Drain", "clusters": ["c1"]})
    said = effect_of(items, clusters=CLUSTERS, placements=(), now=now)
    names = [f"ns/{number}" for number in range(on_c1)]
    others = [f"ns/other-{number}" for number in range(unpaced)]
    decided = {name: {"c1"} for name in names + others} | {"ns/away": {"c2"}}
    return state_of(
        items,
        said,
        decided=decided,
        paced=[*names, "ns/away"],
        before=before or MaintenanceState(),
        now=now,
    )


def test_who_is_left_and_who_stays() -> None:
    (drain,) = state(2, unpaced=1).drains
    assert drain == Drain(
        "c1",
        "m0",
        NOW,
        2000.0,
        first=2,
        count=2,
        left=("ns/0", "ns/1"),
        stays=("ns/other-0",),
        stays_count=1,
    )


@pytest.mark.parametrize(
    ("left", "now", "late"),
    [
        (10, 1400.0, False),  # nobody has left, and half of the time is not over
        (10, 1501.0, True),
        (5, 1400.0, False),  # five in 400 s
        (8, 1200.0, False),  # two in 200 s: eight take 800 s
        (8, 1201.0, True),
        (0, 1999.0, False),
    ],
)
def test_a_drain_that_will_not_be_done_in_time(left: int, now: float, late: bool) -> None:
    (drain,) = state(left, before=state(10), now=now).drains
    assert (drain.first, drain.count, drain.late) == (10, left, late)
    assert drain.since == NOW


def test_a_drain_that_is_over_is_forgotten() -> None:
    assert state(3, before=state(3), now=2000.0) == MaintenanceState((WindowState("m0", "Drain"),))


@pytest.mark.parametrize(
    ("now", "stage"),
    [
        (99.0, WindowState("m0", "Drain", False, 100.0)),
        (100.0, WindowState("m0", "Drain", True, 2000.0)),
        (1999.0, WindowState("m0", "Drain", True, 2000.0)),
    ],
)
def test_windows_say_when_they_change(now: float, stage: WindowState) -> None:
    assert state(0, now=now).windows == (stage,)


def test_what_is_shown_is_bounded_and_read_again() -> None:
    found = state(MAX_NAMED + 5, unpaced=MAX_NAMED + 5)
    (drain,) = found.drains
    assert (drain.count, len(drain.left), len(drain.stays)) == (
        MAX_NAMED + 5,
        MAX_NAMED,
        MAX_NAMED,
    )
    assert read_moves(StoredMoves(maintenance=found).data).maintenance == found
    names = [f"c{number}" for number in range(MAX_DRAINS + 1)]
    items = windows({"action": "Drain", "clusters": names})
    said = effect_of(items, clusters={}, placements=(), now=NOW)
    many = state_of(items, said, decided={}, paced=(), before=MaintenanceState(), now=NOW)
    assert len(many.drains) == MAX_DRAINS
