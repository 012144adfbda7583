"""The case of a herd: twenty applications on c1, and a better cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitops_dsf.hub.snapshot import Snapshot
from tests.integration.preview.gitfleet import (
    FLEET,
    GitFleet,
    application,
    cluster,
    scorer,
    settings,
    snapshot,
)

SCORES: Mapping[str, int] = {"c1": 40, "c2": 62, "c3": 58, "c4": 55}
NAMES = tuple(f"app-{number:02}" for number in range(20))
PACE = {"concurrent": 2, "arrivalsPerCluster": 1}


def herd_app(name: str, *, demand: int = 5, stickiness: int = 100, **spec: Any) -> dict[str, Any]:
    """An application that ranks by what is free."""
    found = application(name, **{"stickiness": stickiness, **spec})
    found["spec"]["scores"] = [{"scorer": "cpu", **({"demand": demand} if demand else {})}]
    return found


def herd_fleet(folder: Path, *, pace: Mapping[str, Any] | None = PACE, **app: Any) -> GitFleet:
    """The repository, committed."""
    fleet = GitFleet(folder)
    fleet.write("gitops-dsf.yaml", settings(**({} if pace is None else {"pace": dict(pace)})))
    fleet.write("clusters/fleet.yaml", *(cluster(name, "eu") for name in SCORES), FLEET)
    fleet.write("scorers/cpu.yaml", scorer("cpu"))
    fleet.write("apps/guestbook.yaml", *(herd_app(name, **app) for name in NAMES))
    fleet.commit("herd")
    return fleet


def herd_hub(values: Mapping[str, int] = SCORES, *, on: str = "c1") -> Snapshot:
    """The hub: all applications on one cluster."""
    return snapshot(raw=None, values=values, decided={name: [on] for name in NAMES})
