"""Plays the hub: reads what agents publish, decides as OCM's placement controller would, and keeps the
PlacementDecisions.

It also writes a snapshot in the format of the branch gitops-dsf-state, as data for `simulate`, `explain` and
`diff`: scores, raw scores (from the agents' metrics) and decisions.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.placements import decision_of
from gitops_dsf.hub.scores import Score
from gitops_dsf.hub.snapshot import Snapshot, SnapshotError
from gitops_dsf.hub.snapshotfile import files
from gitops_dsf.hubreader.files import from_path
from gitops_dsf.pipeline import check
from gitops_dsf.simulator import Verdict, simulate
from gitops_dsf.views.preview.fleet import FleetVersion, hub_state, version_of

_RAW: Final = re.compile(r'^dynamic_score\{[^}]*ds_score_name="([^"]*)"[^}]*\} (\S+)$', re.MULTILINE)


class Hub:
    """A hub. ``agents`` has the agents' `host:port` by cluster, added when they start. Nothing is asked of it
    before the first ``apply``.
    """

    _fleet: FleetVersion

    def __init__(self, *, scores: Path, state: Path) -> None:
        self._scores = scores
        self._state = state
        self._decisions: tuple[PlacementDecision, ...] = ()
        self._client = httpx.Client(trust_env=False, timeout=2)
        self.agents: dict[str, str] = {}

    def apply(self, repository: Path) -> None:
        """Applies the rendered repository, as Argo CD would. Raises GitopsDsfError if it has errors."""
        fleet = version_of(check(repository))
        if fleet is None:
            raise GitopsDsfError(f"{repository} has errors; gitops-dsf validate says which")
        self._fleet = fleet

    def pending(self) -> list[str]:
        """`score on cluster` for every score that is not published yet, or without a value."""
        found = self._published()
        runs = self._fleet.resolved.runs_on
        return [
            f"{resource} on {cluster}"
            for resource, scorer in self._fleet.by_resource.items()
            for cluster in sorted(runs[scorer.name])
            if not (found and (score := found.published(resource, cluster)) and score.values)
        ]

    def decide(self) -> Verdict:
        """One pass of the placement controller. Its decisions are the input of the next pass."""
        now = datetime.now(UTC)
        published = self._published() or Snapshot(origin=str(self._scores))
        state = hub_state(self._fleet, published, decisions=self._decisions)
        verdict = simulate(state, next(iter(self._fleet.placements)), now)
        name = verdict.placement.partition("/")[2]
        self._decisions = tuple(
            decision_of(namespace=item.namespace, name=item.name, placement=name, clusters=item.clusters)
            for item in verdict.decisions
        )
        return verdict

    def publish(self) -> Mapping[str, Mapping[str, float]]:
        """Writes the snapshot as the state branch has it. Returns raw scores by cluster and score name."""
        published = self._published()
        if published is None:
            return {}
        raw = {cluster: self._raw(authority) for cluster, authority in self.agents.items()}
        scores = {
            resource: {
                cluster: self._with_raw(found, resource, raw.get(cluster, {}))
                for cluster, found in table.items()
            }
            for resource, table in published.scores.items()
        }
        snapshot = replace(published, scores=scores, decisions=self._decisions, observed_at=datetime.now(UTC))
        shutil.rmtree(self._state, ignore_errors=True)
        for path, content in files(snapshot, hub="demo"):
            (self._state / path).parent.mkdir(parents=True, exist_ok=True)
            (self._state / path).write_bytes(content)
        return raw

    def _published(self) -> Snapshot | None:
        """None until an agent has published something."""
        try:
            return from_path(self._scores) if any(self._scores.glob("*/*.yaml")) else None
        except SnapshotError:
            # A file was deleted between listing and reading. The next read finds the current state.
            return None

    def _with_raw(self, found: Score, resource: str, raw: Mapping[str, float]) -> Score:
        """Adds raw scores, where a scorer has one dimension: that of its score name."""
        scorer = self._fleet.by_resource.get(resource)
        if scorer is None or scorer.score_name not in raw or len(found.values) != 1:
            return found
        return Score(found.valid_until, found.names, found.values, (raw[scorer.score_name],))

    def _raw(self, authority: str) -> dict[str, float]:
        """Raw scores by score name from an agent's metrics; empty if it does not answer."""
        try:
            text = self._client.get(f"http://{authority}/metrics").text
        except httpx.HTTPError:
            return {}
        return {name: float(value) for name, value in _RAW.findall(text)}
