"""Previews of each kind of change, as Markdown that is the same on every machine."""

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from demo.edits import rank_by_scoring_apis, write_scale_right, write_scale_wrong
from demo.fleet import PRODUCT, FleetClone
from demo.history import Command
from demo.programs import Stop
from tests.integration.demo.test_preview import RAW, run_agents, state_of
from tests.integration.preview.gitfleet import (
    FLEET,
    NAMES,
    PACE,
    SET,
    GitFleet,
    application,
    cluster,
    herd_app,
    herd_fleet,
    herd_hub,
    save,
    scorer,
    settings,
    snapshot,
)
from tests.integration.preview.test_job_orders import begun, jobs
from tests.integration.preview.test_maintenance import DECIDED, NIGHT, STEADY, maintenance
from tests.integration.preview.test_surroundings import LOW
from tests.support.agent.published import PublishedScores
from tests.support.commandline import gitops_dsf

ORIGIN: Final = "branch gitops-dsf-state at 1a2b3c4d"
"""Stands for the folder of a snapshot."""
_NORMAL: Final[tuple[tuple[str, str], ...]] = (
    (r"\([0-9a-f]{10}\)", "(0a1b2c3d4e)"),
    (r"seen \S+ \S+ ago", "seen 5 min ago"),
)

Case = Callable[[Path], str]
Edit = Callable[[GitFleet], None]


def comment(fleet: Path, hub: Path | None) -> str:
    """The comment on the working tree, without what differs from run to run."""
    scores = () if hub is None else ("--scores", hub)
    ran = gitops_dsf("diff", fleet, "--base", "main", *scores, "-o", "markdown")
    assert ran.stdout, ran.stderr
    text = ran.stdout
    if hub is not None:
        text = text.replace(str(hub).replace("_", "\\_"), ORIGIN)
    for pattern, normal in _NORMAL:
        text = re.sub(pattern, normal, text)
    return text


class _Clone(FleetClone):
    """The demo's clone, whose `gitops-dsf` runs in this process."""

    def _run(self, command: list[str], *, shown: str, at: Path, expect: int = 0) -> Command:
        program, words = command[: len(PRODUCT)], command[len(PRODUCT) :]
        if tuple(program) != PRODUCT:
            return super()._run(command, shown=shown, at=at, expect=expect)
        done = gitops_dsf(*words, cwd=at)
        assert done.returncode == expect, done.stderr
        return Command(text=shown, output=done.stdout + done.stderr)


def demo_comment(folder: Path) -> str:
    """The comment on the pull request of the demo: its own edit, on its own fleet."""
    fleet = _Clone(folder / "fleet", stop=Stop())
    fleet.create()
    fleet.fill()
    fleet.add_scoring_apis()
    rank_by_scoring_apis(fleet)
    fleet.commit("Rank by forecast and prices")
    now = time.time()
    published = {name: PublishedScores(name) for name in RAW}
    run_agents(published, fleet, now=now)
    seen = datetime.fromtimestamp(now, UTC)
    hub = state_of(published, folder / "hub", chosen="eu-west-1", seen=seen)
    fleet.git("checkout", "--quiet", "-b", "prices-count")
    write_scale_wrong(fleet)
    write_scale_right(fleet)
    return comment(fleet.root, hub)


def _small(edit: Edit) -> Case:
    """A fleet of three clusters and one application, which is on eu-1."""

    def run(folder: Path) -> str:
        fleet = GitFleet(folder / "fleet")
        hub = save(snapshot(), folder / "hub")
        edit(fleet)
        return comment(fleet.path, hub)

    return run


def _herd(edit: Edit, *, pace: Mapping[str, object] | None = PACE, **app: object) -> Case:
    """Twenty applications on c1."""

    def run(folder: Path) -> str:
        fleet = herd_fleet(folder / "fleet", pace=pace, **app)
        hub = save(herd_hub(), folder / "hub")
        edit(fleet)
        return comment(fleet.path, hub)

    return run


def _no_hub(folder: Path) -> str:
    fleet = GitFleet(folder / "fleet")
    fleet.prefer_low_scores()
    return comment(fleet.path, None)


def _range(fleet: GitFleet) -> None:
    turned = {"min": 0, "max": 100, "outputMin": 100, "outputMax": 1}
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=turned))


def _query(fleet: GitFleet) -> None:
    query = 'avg(rate(node_cpu_seconds_total{mode="idle", job="node"}[10m]))'
    fleet.write("scorers/cpu.yaml", scorer("cpu", query=query))


def _scorer_added(fleet: GitFleet) -> None:
    outside = "https://scores.example.com"
    net = scorer("net", query="sum(net)", configURL=f"{outside}/config")
    auth = {"tokenSecretRef": {"name": "net-token", "key": "token"}}
    net["spec"]["scoring"] |= {"host": outside, "auth": auth}
    fleet.write("scorers/net.yaml", net)
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("cpu", "net")))


def _scorer_removed(fleet: GitFleet) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("cpu", "net")))
    fleet.commit("net")
    fleet.remove("scorers/net.yaml")
    fleet.write("apps/guestbook.yaml", application("guestbook"))


def _scorer_suspended(fleet: GitFleet) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", suspend=True))


def _application_added(fleet: GitFleet) -> None:
    fleet.write("apps/shop.yaml", application("shop", region="us", stickiness=20))


def _application_removed(fleet: GitFleet) -> None:
    fleet.remove("apps/guestbook.yaml")
    fleet.write("apps/shop.yaml", application("shop"))


def _application_homeless(fleet: GitFleet) -> None:
    fleet.allow_unmatched_selectors()
    fleet.write("apps/guestbook.yaml", application("guestbook", region="mars"))


def _cluster_added(fleet: GitFleet) -> None:
    fleet.write("clusters/new.yaml", cluster("eu-3", "eu"))


def _cluster_removed(fleet: GitFleet) -> None:
    fleet.write("clusters/fleet.yaml", cluster("eu-2", "eu"), cluster("us-1", "us"), FLEET)


def _cluster_set(fleet: GitFleet) -> None:
    other = cluster("ap-1", "ap")
    other["metadata"]["labels"][SET] = "other"
    fleet.write("clusters/other.yaml", {**FLEET, "metadata": {"name": "other"}}, other)
    both = application("guestbook")
    both["spec"]["placement"]["clusterSets"] = ["fleet", "other"]
    fleet.write("apps/guestbook.yaml", both)


def _invalid(fleet: GitFleet) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="avg(up"))


def _pace_on(fleet: GitFleet) -> None:
    fleet.write("gitops-dsf.yaml", settings(pace=PACE))


def _refuges_on(fleet: GitFleet) -> None:
    fleet.write("gitops-dsf.yaml", settings(pace={**PACE, "refuges": True}))


def _pace_off(fleet: GitFleet) -> None:
    fleet.write("gitops-dsf.yaml", settings())


def _all_move(fleet: GitFleet) -> None:
    fleet.write("apps/guestbook.yaml", *(herd_app(name, demand=0, stickiness=0) for name in NAMES))


def _narrower_range(fleet: GitFleet) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 0, "max": 60}))


def _verifying(fleet: GitFleet, **moves: object) -> None:
    """All applications verify their moves by the scorer slo, the first ones by `moves`."""
    check = {"scorer": "slo", "atLeast": 80}
    apps = []
    for number, name in enumerate(NAMES):
        written: dict[str, object] = {"verify": [check], "verifySeconds": 3600}
        if number < 2:
            written |= moves
        apps.append(herd_app(name, demand=0, stickiness=10, moves=written))
    fleet.write("apps/guestbook.yaml", *apps)
    fleet.write("scorers/slo.yaml", scorer("slo"))


def _verification_on(fleet: GitFleet) -> None:
    _verifying(fleet)


def _verification_loosened(folder: Path) -> str:
    fleet = herd_fleet(folder / "fleet", demand=0, stickiness=10)
    _verifying(fleet)
    fleet.commit("verify")
    hub = save(herd_hub(), folder / "hub")
    _verifying(fleet, verify=[{"scorer": "slo", "atLeast": 60}], onUnknown="Complete")
    fleet.write("gitops-dsf.yaml", settings(pace={**PACE, "stopAfterReturns": 10}))
    return comment(fleet.path, hub)


def _maintenance(folder: Path) -> str:
    fleet = herd_fleet(folder / "fleet", pace={**PACE, "settleSeconds": 600}, demand=2)
    hub = save(snapshot(values=STEADY, decided=DECIDED), folder / "hub")
    fleet.write(
        "config/maintenance.yaml",
        maintenance("patch", "Drain", clusters=["c2"], **NIGHT),
        maintenance("quiet", "Freeze", applications=["app-00"], **NIGHT),
        maintenance("full", "Cordon", clusters=["c1"], **NIGHT),
    )
    return comment(fleet.path, hub)


def _jobs(folder: Path) -> str:
    """One order turns, and another one gets another config."""
    fleet = GitFleet(folder / "fleet")
    begun(fleet, jobs(), jobs("night"))
    hub = save(snapshot(), folder / "hub")
    fleet.write("apps/jobs.yaml", jobs(scores=LOW), jobs("night", config="batch"))
    return comment(fleet.path, hub)


CASES: Final[Mapping[str, Case]] = {
    "demo": demo_comment,
    "nothing": _small(lambda _: None),
    "no-hub": _no_hub,
    "invalid": _small(_invalid),
    "scorer-range": _small(_range),
    "scorer-query": _small(_query),
    "scorer-added": _small(_scorer_added),
    "scorer-removed": _small(_scorer_removed),
    "scorer-suspended": _small(_scorer_suspended),
    "application-added": _small(_application_added),
    "application-changed": _small(lambda fleet: fleet.prefer_low_scores()),
    "application-homeless": _small(_application_homeless),
    "application-removed": _small(_application_removed),
    "cluster-added": _small(_cluster_added),
    "cluster-removed": _small(_cluster_removed),
    "cluster-set": _small(_cluster_set),
    "many-moves": _herd(_all_move, pace=None, demand=0, stickiness=0, weight=-1),
    "pace-on": _herd(_pace_on, pace=None),
    "pace-off": _herd(_pace_off),
    "paced-range": _herd(_narrower_range, stickiness=10),
    "refuges-on": _herd(_refuges_on),
    "maintenance": _maintenance,
    "verification-on": _herd(_verification_on, demand=0, stickiness=10),
    "verification-loosened": _verification_loosened,
    "jobs": _jobs,
}
"""By name, how the comment is made in an empty folder."""
