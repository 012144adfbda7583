"""The pull request of the demo: its own edit, on its own fleet, by the agent's own functions.

README says that the preview tells which applications would move and why. So the preview is asked
before the agents run the new scale, and then they run it.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from demo.edits import rank_by_scoring_apis, write_scale_right, write_scale_wrong
from demo.fleet import FleetClone
from demo.programs import Stop
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from tests.integration.preview.gitfleet import save
from tests.support.agent.published import PublishedResult, PublishedScores
from tests.support.commandline import gitops_dsf

SEEN = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
NOW = SEEN.timestamp()
RAW = {
    "eu-west-1": {"cpu-headroom-forecast": 80.0, "vcpu-cost": 6.2},
    "eu-north-1": {"cpu-headroom-forecast": 60.0, "vcpu-cost": 3.6},
    "us-east-1": {"cpu-headroom-forecast": 59.0, "vcpu-cost": 4.4},
    "ap-south-1": {"cpu-headroom-forecast": 38.0, "vcpu-cost": 5.0},
}
"""Free CPU in percent, and the price of a vCPU hour in cents."""


@pytest.fixture
def fleet(tmp_path: Path) -> FleetClone:
    """The fleet of the demo when the pull request begins."""
    repository = FleetClone(tmp_path / "fleet", stop=Stop())
    repository.create()
    repository.fill()
    repository.add_scoring_apis()
    rank_by_scoring_apis(repository)
    repository.commit("Rank by forecast and prices")
    return repository


def checked(repository: FleetClone) -> CheckedFleet:
    found = check(repository.root).fleet
    assert found is not None
    return found


def run_agents(hub: Mapping[str, PublishedScores], repository: FleetClone, *, now: float) -> None:
    """One cycle of each scorer on each cluster."""
    scorers = checked(repository).scorer_by_name
    for cluster, raw_scores in RAW.items():
        for name, raw in raw_scores.items():
            hub[cluster].cycle(summarise(scorers[name]), [PublishedResult(raw)], now=now)


def state_of(
    hub: Mapping[str, PublishedScores],
    folder: Path,
    *,
    chosen: str,
    seen: datetime = SEEN,
) -> Path:
    """What the preview reads of the hub."""
    scores = {
        name: {
            cluster: score_of(published.by_name[name].values) for cluster, published in hub.items()
        }
        for name in ("cpu-headroom-forecast", "vcpu-cost")
    }
    decision = decision_of(
        namespace="argocd", name="guestbook-decision-1", placement="guestbook", clusters=(chosen,)
    )
    snapshot = Snapshot(origin="test", observed_at=seen, scores=scores, decisions=(decision,))
    return save(snapshot, folder)


def test_the_preview_tells_the_move_that_follows(fleet: FleetClone, tmp_path: Path) -> None:
    hub = {cluster: PublishedScores(cluster) for cluster in RAW}
    run_agents(hub, fleet, now=NOW)
    before = state_of(hub, tmp_path / "before", chosen="eu-west-1")
    fleet.git("checkout", "--quiet", "-b", "prices-count")
    write_scale_wrong(fleet)
    write_scale_right(fleet)
    fleet.commit("Let prices count")
    diff = ("diff", fleet.root, "--base", "main", "--scores", before)
    page = gitops_dsf(*diff).stdout
    assert "\n**1 application moves**\n" in page
    assert "\n- `argocd/guestbook` **eu-west-1 → eu-north-1**: vcpu-cost: scoreRange" in page
    told = json.loads(gitops_dsf(*diff, "-o", "json").stdout)["comparison"]
    [move] = told["moves"]
    assert (move["application"], move["from"], move["to"]) == (
        "argocd/guestbook",
        ["eu-west-1"],
        ["eu-north-1"],
    )
    assert move["reason"] == (
        "vcpu-cost: scoreRange changed; eu-north-1 72 to 74.5 points, eu-west-1 64.5 to 67 points"
    )
    run_agents(hub, fleet, now=NOW + 60)
    bounds = {one["cluster"]: one for one in move["scores"]}
    for cluster in ("eu-north-1", "eu-west-1"):
        [cost] = [term for term in bounds[cluster]["terms"] if "vcpu-cost" in term["name"]]
        published = hub[cluster].counted("vcpu-cost", "vcpu-cost", now=NOW + 60)
        assert cost["afterLow"] <= published <= cost["afterHigh"]
    after = state_of(hub, tmp_path / "after", chosen="eu-west-1")
    simulated = gitops_dsf("simulate", fleet.root, "--scores", after, "-o", "json").stdout
    [verdict] = json.loads(simulated)["placements"]
    assert verdict["ranked"] == ["eu-north-1"]
