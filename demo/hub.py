"""The hub of the demo: the scores of agents, the decisions of OCM, and the state branch.

Agents write AddOnPlacementScores as files, the simulator stands for OCM's placement controller, and
no API server runs. Raw scores come from the agents' metrics, as a Prometheus would scrape them.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from demo.history import Observation
from demo.network import client_of_this_machine
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.hub.snapshots.file_format import files
from gitops_dsf.hub.snapshots.snapshot import Snapshot, SnapshotError
from gitops_dsf.hubreader.files import from_path
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.stickiness import STEADY_POINTS
from gitops_dsf.simulator import Verdict, simulate
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state

_RAW: Final = re.compile(
    r'^dynamic_score\{[^}]*ds_score_name="([^"]*)"[^}]*\} (\S+)$', re.MULTILINE
)
_STEADY: Final = "Steady"


class Hub:
    """A hub. It needs an `apply` before anything else."""

    _fleet: CheckedFleet

    def __init__(self, *, scores: Path, state: Path) -> None:
        self._scores = scores
        self._state = state
        self._decisions: tuple[PlacementDecision, ...] = ()
        self._client = client_of_this_machine(timeout=2)
        self.agents: dict[str, str] = {}
        """`host:port` of the agents' metrics by cluster. Agents are added as they start."""

    def apply(self, repository: Path) -> None:
        """Applies the rendered repository, as Argo CD would.

        Raises GitopsDsfError if it has errors.
        """
        fleet = check(repository).fleet
        if fleet is None:
            raise GitopsDsfError(f"{repository} has errors; gitops-dsf validate says which")
        self._fleet = fleet

    def pending(self) -> list[str]:
        """`score on cluster` for every score that is not published yet, or without a value."""
        return list(self._pending(self._published()))

    def _pending(self, snapshot: Snapshot | None) -> Iterator[str]:
        for resource, scorer in self._fleet.scorer_by_resource.items():
            for cluster in sorted(self._fleet.runs_on[scorer.name]):
                score = None
                if snapshot is not None:
                    score = snapshot.published(resource, cluster)
                if score is None or not score.values:
                    yield f"{resource} on {cluster}"

    def decide(self) -> Verdict:
        """One pass of the placement controller. Its decisions are the input of the next pass."""
        now = datetime.now(UTC)
        published = self._published() or Snapshot(origin=str(self._scores))
        # Steady counts the clusters of the last decision, and so the stickiness takes effect.
        state = hub_state(self._fleet, published, decisions=self._decisions)
        # The demo has one application, and so one Placement.
        placement = next(iter(applied(self._fleet).placements))
        verdict = simulate(state, placement, now)
        name = verdict.placement.partition("/")[2]
        decisions: list[PlacementDecision] = []
        for page in verdict.decisions:
            decision = decision_of(
                namespace=page.namespace, name=page.name, placement=name, clusters=page.clusters
            )
            decisions.append(decision)
        self._decisions = tuple(decisions)
        return verdict

    def publish(self) -> Mapping[str, Mapping[str, float]]:
        """Writes the snapshot as the state branch has it.

        Returns raw scores by cluster and score name.
        """
        published = self._published()
        if published is None:
            return {}
        snapshot = replace(published, decisions=self._decisions, observed_at=datetime.now(UTC))
        # All files are written again: a file of an earlier snapshot would be read as a part of this
        # one.
        shutil.rmtree(self._state, ignore_errors=True)
        for path, content in files(snapshot, hub="demo"):
            (self._state / path).parent.mkdir(parents=True, exist_ok=True)
            (self._state / path).write_bytes(content)
        raw_scores: dict[str, dict[str, float]] = {}
        for cluster, authority in self.agents.items():
            raw_scores[cluster] = self._raw(authority)
        return raw_scores

    def _published(self) -> Snapshot | None:
        """None until an agent has published something."""
        if not any(self._scores.glob("*/*.yaml")):
            return None
        try:
            return from_path(self._scores)
        except SnapshotError:
            # A file was deleted between listing and reading. The next read finds the current state.
            return None

    def _raw(self, authority: str) -> dict[str, float]:
        """Raw scores by score name from an agent's metrics; empty if it does not answer."""
        try:
            text = self._client.get(f"http://{authority}/metrics").text
        except httpx.HTTPError:
            # As with a scrape that fails, the demo goes on. The recording fills the gap.
            return {}
        return {name: float(value) for name, value in _RAW.findall(text)}


def observation_of(verdict: Verdict, *, now: float, load: dict[str, float]) -> Observation:
    """A verdict as points that people can compare.

    These are the weighted means of scores, without stickiness.
    """
    total = mean_weight(verdict.prioritizers)
    steady = 0
    scores_by_resource: dict[str, dict[str, int]] = {}
    sums = dict.fromkeys(verdict.scores or {}, 0)
    for name, weight, scores in verdict.prioritizer_scores:
        if name == _STEADY:
            # It keeps a decision, and says nothing of how good a cluster is.
            steady += weight
            continue
        # `AddOn/<resource>/<score>`, as OCM names the prioritizer of a score.
        scores_by_resource[name.split("/")[1]] = dict(scores)
        for cluster in sums:
            # OCM counts a score that is missing as 0.
            sums[cluster] += weight * scores.get(cluster, 0)
    return Observation(
        time=now,
        scores=scores_by_resource,
        points={cluster: points / total for cluster, points in sums.items()},
        stickiness=steady * STEADY_POINTS / total,
        chosen=tuple(sorted(verdict.chosen)),
        load=load,
    )
