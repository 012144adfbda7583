"""The sentences of a preview."""

import pytest

from gitops_dsf.hub.maintenance import MaintenanceAction
from gitops_dsf.show.preview.edits import value_text
from gitops_dsf.show.preview.maintenance import maintenance_text, window_text
from gitops_dsf.show.preview.pace import paced_change_text
from gitops_dsf.views.preview.fields import ChangeKind
from gitops_dsf.views.preview.maintenance import MaintenanceChange
from gitops_dsf.views.preview.paced import DesiredPacedMove, PacedMove, PacedWave
from gitops_dsf.views.preview.pacedchange import PacedChange
from gitops_dsf.views.preview.windoweffects import DepartureWave
from gitops_dsf.views.preview.windows import WindowView


def test_values_on_one_line() -> None:
    assert value_text(None, 10) == "(absent)"
    assert value_text("", 10) == '""'
    assert value_text(100.0, 10) == "100"
    assert value_text(0.25, 10) == "0.25"
    assert value_text(["a", "é"], 20) == '["a", "é"]'
    assert value_text("abcdef", 4) == "abcd... (2 more characters)"


def wave(*names: str) -> PacedWave:
    return PacedWave(
        moves=tuple(
            DesiredPacedMove(placement=f"argocd/{name}", source="c1", target="c2", points=1.0)
            for name in names
        )
    )


@pytest.mark.parametrize(
    ("waves", "complete", "without_change", "unknown", "text"),
    [
        ((), True, 0, (), "no paced move would follow"),
        ((wave("a"),), True, 0, (), "1 move in 1 wave"),
        ((wave("a"),), True, 1, (), "1 move in 1 wave; it would happen anyway"),
        ((wave("a", "b"),), True, 2, (), "2 moves in 1 wave; they would happen anyway"),
        (
            (wave("a", "b"), wave("c")),
            False,
            2,
            (),
            "at least 3 moves in 2 waves; 2 of them would happen anyway",
        ),
        (
            (wave("a"),),
            True,
            0,
            ("cpu", "net"),
            "1 move in 1 wave; the new scores of cpu, net are unknown, so the present ones count",
        ),
    ],
)
def test_what_follows_by_the_pace(
    waves: tuple[PacedWave, ...],
    complete: bool,
    without_change: int,
    unknown: tuple[str, ...],
    text: str,
) -> None:
    change = PacedChange(
        waves=waves, complete=complete, without_change=without_change, unknown=unknown
    )
    assert paced_change_text(change) == text


LEAVING = DepartureWave(
    at="2099-01-01T22:00:00+00:00",
    moves=(PacedMove(placement="argocd/a", source="c1", target="c2"),),
)
LEAVING_NEXT = DepartureWave(
    at="2099-01-01T22:30:00+00:00",
    moves=(PacedMove(placement="argocd/a", source="c3", target="c4"),),
)
"""The same application, which runs on two clusters of the window."""


@pytest.mark.parametrize(
    ("waves", "complete", "late", "effect"),
    [
        ((), True, (), "no application leaves"),
        ((), False, (), "how many applications leave was not computed"),
        (
            (LEAVING,),
            True,
            (),
            "1 application would leave in 1 wave, the last not before 2099-01-01 22:00",
        ),
        ((LEAVING,), False, (), "at least 1 application would leave in 1 wave"),
        (
            (LEAVING,),
            False,
            ("argocd/b",),
            "at least 1 application would leave in 1 wave; 1 would still be there at the end",
        ),
        (
            (LEAVING, LEAVING_NEXT),
            True,
            (),
            "1 application would leave in 2 waves, the last not before 2099-01-01 22:30",
        ),
    ],
)
def test_what_a_drain_does(
    waves: tuple[DepartureWave, ...], complete: bool, late: tuple[str, ...], effect: str
) -> None:
    drain = MaintenanceChange(
        name="patch",
        action=MaintenanceAction.DRAIN,
        clusters=("c1",),
        applications=(),
        start="2099-01-01T20:00:00+00:00",
        end="2099-01-01T23:00:00+00:00",
        zone=None,
        change=ChangeKind.ADDED,
        state="later",
        waves=waves,
        complete=complete,
        late=late,
    )
    assert maintenance_text(drain) == (
        "added: Drain of c1 from 2099-01-01 20:00 to 2099-01-01 23:00 UTC; " + effect
    )


@pytest.mark.parametrize(
    ("start", "end", "zone", "text"),
    [
        (
            "2099-06-01T20:00:00+02:00",
            "2099-06-02T04:00:00+02:00",
            None,
            "from 2099-06-01 20:00 to 2099-06-02 04:00 +02:00",
        ),
        (
            "2099-10-24T22:00:00+02:00",
            "2099-10-25T04:00:00+01:00",
            "Europe/Berlin",
            "from 2099-10-24 22:00 +02:00 to 2099-10-25 04:00 Europe/Berlin",
        ),
    ],
)
def test_the_times_of_a_window(start: str, end: str, zone: str | None, text: str) -> None:
    window = WindowView(
        name="patch",
        action=MaintenanceAction.CORDON,
        clusters=("c1",),
        applications=(),
        start=start,
        end=end,
        zone=zone,
    )
    assert window_text(window) == f"Cordon of c1 {text}"
