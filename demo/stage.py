"""What runs during a demo: scoring APIs, agents with their clusters' networks, and the hub."""

import re
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import yaml

from demo.fleet import PRODUCT, FleetRepository
from demo.history import Event, History, Move, Observation, Recording
from demo.network import HOST, ClusterLoad, network
from demo.programs import Programs, Stop
from dsf_wire.constants import CONFIGMAP_NAME
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
from tests.support.agent.running import ConfigMapVolume

_RAW: Final = re.compile(
    r'^dynamic_score\{[^}]*ds_score_name="([^"]*)"[^}]*\} (\S+)$', re.MULTILINE
)


class Hub:
    """A hub.

    ``agents``: their `host:port` by cluster, as they start. It needs an ``apply`` first.
    """

    _fleet: CheckedFleet

    def __init__(self, *, scores: Path, state: Path) -> None:
        self._scores = scores
        self._state = state
        self._decisions: tuple[PlacementDecision, ...] = ()
        self._client = httpx.Client(trust_env=False, timeout=2)
        self.agents: dict[str, str] = {}

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
        found = self._published()
        runs = self._fleet.runs_on
        return [
            f"{resource} on {cluster}"
            for resource, scorer in self._fleet.scorer_by_resource.items()
            for cluster in sorted(runs[scorer.name])
            if not (found and (score := found.published(resource, cluster)) and score.values)
        ]

    def decide(self) -> Verdict:
        """One pass of the placement controller. Its decisions are the input of the next pass."""
        now = datetime.now(UTC)
        published = self._published() or Snapshot(origin=str(self._scores))
        state = hub_state(self._fleet, published, decisions=self._decisions)
        verdict = simulate(state, next(iter(applied(self._fleet).placements)), now)
        name = verdict.placement.partition("/")[2]
        self._decisions = tuple(
            decision_of(
                namespace=item.namespace, name=item.name, placement=name, clusters=item.clusters
            )
            for item in verdict.decisions
        )
        return verdict

    def publish(self) -> Mapping[str, Mapping[str, float]]:
        """Writes the snapshot as the state branch has it.

        Returns raw scores by cluster and score name.
        """
        published = self._published()
        if published is None:
            return {}
        snapshot = replace(published, decisions=self._decisions, observed_at=datetime.now(UTC))
        shutil.rmtree(self._state, ignore_errors=True)
        for path, content in files(snapshot, hub="demo"):
            (self._state / path).parent.mkdir(parents=True, exist_ok=True)
            (self._state / path).write_bytes(content)
        return {cluster: self._raw(authority) for cluster, authority in self.agents.items()}

    def _published(self) -> Snapshot | None:
        """None until an agent has published something."""
        try:
            return from_path(self._scores) if any(self._scores.glob("*/*.yaml")) else None
        except SnapshotError:
            # A file was deleted between listing and reading. The next read finds the current state.
            return None

    def _raw(self, authority: str) -> dict[str, float]:
        """Raw scores by score name from an agent's metrics; empty if it does not answer."""
        try:
            text = self._client.get(f"http://{authority}/metrics").text
        except httpx.HTTPError:
            return {}
        return {name: float(value) for name, value in _RAW.findall(text)}


QUERY_SCORER: Final = "cpu-free"
"""Score name of the scorer without a scoring API, with which the demo begins."""
SCORERS: Final = {
    "cpu-headroom-forecast": ("headroom_forecast", "cpu-headroom-forecast.scoring.svc:8000"),
    "vcpu-cost": ("cost", "vcpu-cost.scoring.svc:8000"),
}
"""Score name to folder and module below examples/scorers, and `host:port` as the clusters write it.
"""
EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples" / "scorers"
STEADY: Final = "Steady"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Time for viewers, in seconds. Waiting for programs is not part of it."""

    watch: float
    """After each change."""
    rise: float
    """The rise of a load peak."""
    ease: float
    """The fall of a load peak."""
    tick: float = 0.5
    """Between two observations."""


FULL: Final = Pace(watch=7.0, rise=6.0, ease=9.0)
FAST: Final = Pace(watch=1.0, rise=1.5, ease=4.0)


class Stage:
    """Owns the running programs within its ExitStack.

    One thread uses it; servers have their own.
    """

    def __init__(
        self,
        *,
        folder: Path,
        pace: Pace,
        stop: Stop,
        loads: dict[str, ClusterLoad],
        stack: ExitStack,
    ) -> None:
        self.folder = folder
        self.pace = pace
        self.stop = stop
        self.history = History()
        self.loads = loads
        self.fleet = FleetRepository(folder / "fleet", stop=stop)
        self.recording = Recording()
        self.hub = Hub(scores=folder / "scores", state=folder / "hub")
        self.programs = Programs(logs=folder / "logs", register=folder / "processes", stop=stop)
        stack.callback(self.programs.stop)
        self._stack = stack
        self._volumes = {
            cluster: ConfigMapVolume(folder / "volumes" / cluster) for cluster in loads
        }
        self._delivered: dict[str, dict[str, bytes]] = {}
        self._services: dict[str, str] = {}

    def start_scorers(self) -> dict[str, str]:
        """Starts each sample scorer as a process. Returns their `host:port` by score name."""
        for name, (folder, _) in SCORERS.items():
            options: list[str | Path] = ["--app-dir", EXAMPLES / folder, "--port", "0"]
            command = [*PRODUCT, "scorer", "run", f"{folder}:app", *options]
            self.programs.start(f"scorer-{name}", command)
        found = {}
        for name, (_, service) in SCORERS.items():
            port = self.programs.port(f"scorer-{name}", r"running on http://127\.0\.0\.1:(\d+)")
            found[name] = self._services[service] = f"{HOST}:{port}"
        return found

    def start_agents(self) -> dict[str, str]:
        """Starts an agent per cluster. Returns the `host:port` of their metrics by cluster."""
        for cluster, load in self.loads.items():
            # Scoring APIs that start later are found, too.
            proxy = self._stack.enter_context(network(load, self._services))
            flags = [
                f"--cluster-name={cluster}",
                f"--config-dir={self._volumes[cluster].directory}",
                f"--publish=dir:{self.folder / 'scores' / cluster}",
                f"--metrics-address={HOST}:0",
                "--splay=0",
            ]
            command = [sys.executable, "-P", "-m", "dsf_agent", "run", *flags]
            self.programs.start(
                f"agent-{cluster}", command, environment={"HTTP_PROXY": f"http://{proxy}"}
            )
        for cluster in self.loads:
            port = self.programs.port(f"agent-{cluster}", r"serving /metrics on port (\d+)")
            self.hub.agents[cluster] = f"{HOST}:{port}"
        return self.hub.agents

    def deliver(self) -> list[str]:
        """Applies the rendered tree as Argo CD would, and projects ConfigMaps as kubelets would.

        Returns the clusters whose configuration changed.
        """
        self.hub.apply(self.fleet.root)
        wanted = {cluster: configmap_of(work) for cluster, work in self.fleet.works().items()}
        changed = [cluster for cluster in wanted if wanted[cluster] != self._delivered.get(cluster)]
        for cluster in changed:
            self._volumes[cluster].swap(wanted[cluster])
        self._delivered = wanted
        return changed

    def happened(self, text: str) -> None:
        """Records a commit or a change of the load."""
        self.history.events.append(Event(time=time.time(), text=text))

    def observe(self) -> Move | None:
        """Records the scores and the decision of now.

        Raises GitopsDsfError if a program has ended.
        """
        self.programs.check()
        verdict = self.hub.decide()
        raw = self.hub.publish()
        now = time.time()
        self.recording.add(now, raw)
        load = {name: load.at(now) for name, load in self.loads.items()}
        return self.history.add(observation_of(verdict, now=now, load=load))


def configmap_of(manifestwork: Path) -> dict[str, bytes]:
    """The data of the ConfigMap in a ManifestWork.

    The work agent and the kubelet would mount it.
    """
    work = yaml.load(manifestwork.read_text("utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader, in C where there is one
    manifests = work["spec"]["workload"]["manifests"]
    (found,) = (one["data"] for one in manifests if one["metadata"]["name"] == CONFIGMAP_NAME)
    return {name: text.encode() for name, text in found.items()}


def observation_of(verdict: Verdict, *, now: float, load: dict[str, float]) -> Observation:
    """A verdict as points that people can compare.

    These are the weighted means of scores, without stickiness.
    """
    scored = [
        (name, weight, scores)
        for name, weight, scores in verdict.prioritizer_scores
        if name != STEADY
    ]
    steady = sum(weight for name, weight, _ in verdict.prioritizer_scores if name == STEADY)
    total = mean_weight(verdict.prioritizers)
    ranked = verdict.scores or {}
    return Observation(
        time=now,
        scores={name.split("/")[1]: dict(scores) for name, _, scores in scored},
        points={
            cluster: sum(weight * scores.get(cluster, 0) for _, weight, scores in scored) / total
            for cluster in ranked
        },
        stickiness=steady * STEADY_POINTS / total,
        chosen=tuple(sorted(verdict.chosen)),
        load=load,
    )
