"""The stage of a demo: scoring APIs, agents with their clusters' networks, and the hub.

`make demo` needs no Kubernetes. Git, scoring APIs, agents and the network between them are real;
Argo CD, the work agent, the kubelet and OCM's placement controller are replaced by files with the
content that they would write.
"""

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from demo.fleet import PRODUCT, FleetClone
from demo.history import Event, History, RecordedMove, Recording
from demo.hub import Hub, observation_of
from demo.network import HOST, ClusterLoad, network
from demo.programs import Programs, Stop
from dsf_wire.constants import CONFIGMAP_NAME
from gitops_dsf.errors import GitopsDsfError
from tests.support.agent.running import ConfigMapVolume

QUERY_SCORER: Final = "cpu-free"
"""Score name of the scorer without a scoring API, with which the demo begins."""
SCORERS: Final = {
    "cpu-headroom-forecast": ("headroom_forecast", "cpu-headroom-forecast.scoring.svc:8000"),
    "vcpu-cost": ("cost", "vcpu-cost.scoring.svc:8000"),
}
"""Scorers by score name: the folder below examples/scorers, which is also the module, and
`host:port` as the clusters write it.
"""
EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples" / "scorers"

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, kw_only=True)
class ViewingTime:
    """Time for viewers, in seconds. Waiting for programs is not part of it."""

    watch: float
    """The time to watch after each change."""
    rise: float
    """The rise of a load peak."""
    ease: float
    """The fall of a load peak."""
    tick: float = 0.5
    """The time between two observations."""


FULL: Final = ViewingTime(watch=7.0, rise=6.0, ease=9.0)
FAST: Final = ViewingTime(watch=1.0, rise=1.5, ease=4.0)


class DemoStage:
    """Owns the running programs within its ExitStack.

    One thread uses it; servers have their own.
    """

    def __init__(
        self,
        *,
        folder: Path,
        pace: ViewingTime,
        stop: Stop,
        loads: dict[str, ClusterLoad],
        stack: ExitStack,
    ) -> None:
        self.folder = folder
        self.pace = pace
        self.stop = stop
        self.history = History()
        self.loads = loads
        self.fleet = FleetClone(folder / "fleet", stop=stop)
        self.recording = Recording()
        self.hub = Hub(scores=folder / "scores", state=folder / "hub")
        self.programs = Programs(logs=folder / "logs", register=folder / "processes", stop=stop)
        stack.callback(self.programs.stop)
        self._stack = stack
        self._volumes: dict[str, ConfigMapVolume] = {}
        for cluster in loads:
            self._volumes[cluster] = ConfigMapVolume(folder / "volumes" / cluster)
        self._delivered: dict[str, dict[str, bytes]] = {}
        self._services: dict[str, str] = {}

    def start_scorers(self) -> dict[str, str]:
        """Starts each sample scorer as a process. Returns their `host:port` by score name."""
        for name, (folder, _) in SCORERS.items():
            # Port 0: the system chooses one that is free, and the log says which.
            options: list[str | Path] = ["--app-dir", EXAMPLES / folder, "--port", "0"]
            command = [*PRODUCT, "scorer", "run", f"{folder}:app", *options]
            self.programs.start(f"scorer-{name}", command)
        authorities: dict[str, str] = {}
        # In a second loop, so that all of them start side by side.
        for name, (_, service) in SCORERS.items():
            port = self.programs.port(f"scorer-{name}", r"running on http://127\.0\.0\.1:(\d+)")
            authorities[name] = f"{HOST}:{port}"
            self._services[service] = authorities[name]
        return authorities

    def start_agents(self) -> dict[str, str]:
        """Starts an agent per cluster. Returns the `host:port` of their metrics by cluster."""
        for cluster, load in self.loads.items():
            # The dictionary is passed by reference: scoring APIs that start later are found, too.
            proxy = self._stack.enter_context(network(load, self._services))
            flags = [
                f"--cluster-name={cluster}",
                f"--config-dir={self._volumes[cluster].directory}",
                f"--publish=dir:{self.folder / 'scores' / cluster}",
                f"--metrics-address={HOST}:0",
                # By default the first cycles are spread over 10 seconds.
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
        wanted: dict[str, dict[str, bytes]] = {}
        changed: list[str] = []
        for cluster, work in self.fleet.works().items():
            wanted[cluster] = configmap_of(work)
            # As a kubelet: a ConfigMap with the same data does not change what is mounted.
            if wanted[cluster] != self._delivered.get(cluster):
                self._volumes[cluster].swap(wanted[cluster])
                changed.append(cluster)
        self._delivered = wanted
        return changed

    def happened(self, text: str) -> None:
        """Records a commit or a change of the load."""
        self.history.events.append(Event(time=time.time(), text=text))

    def observe(self) -> RecordedMove | None:
        """Records the scores and the decision of now.

        Raises GitopsDsfError if a program has ended.
        """
        self.programs.check()
        # First the decision, because the snapshot that is published has it.
        verdict = self.hub.decide()
        raw = self.hub.publish()
        now = time.time()
        self.recording.add(now, raw)
        load = {name: load.at(now) for name, load in self.loads.items()}
        return self.history.add(observation_of(verdict, now=now, load=load))


def configmap_of(manifestwork: Path) -> dict[str, bytes]:
    """The data of the ConfigMap in a ManifestWork, as the kubelet would mount it."""
    # A safe loader, in C where there is one.
    work = yaml.load(manifestwork.read_text("utf-8"), Loader=_LOADER)  # noqa: S506
    for manifest in work["spec"]["workload"]["manifests"]:
        if manifest["metadata"]["name"] == CONFIGMAP_NAME:
            return {name: text.encode() for name, text in manifest["data"].items()}
    raise GitopsDsfError(f"{manifestwork} has no ConfigMap {CONFIGMAP_NAME}")
