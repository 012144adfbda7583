"""The load of the clusters, which the demo changes, and the metrics that a cluster would export under that
load.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

NODES: Final = 3
NOISE_PERCENT: Final = 0.8
CPU: Final = "instance:node_cpu_utilisation:rate5m"
"""A recording rule of the node mixin of kube-prometheus; 0 to 1."""
CORES: Final = "cluster:capacity_cpu_cores:sum"
"""A recording rule that many distributions ship: vCPUs by instance type."""
TYPE_LABEL: Final = "label_node_kubernetes_io_instance_type"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One sample of one series."""

    name: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A linear change of the load in percent. Times are Unix seconds."""

    start: float
    seconds: float
    before: float
    after: float

    def at(self, when: float) -> float:
        """The percentage at a time at or after the start."""
        part = 1.0 if self.seconds <= 0 else min((when - self.start) / self.seconds, 1.0)
        return self.before + part * (self.after - self.before)


@dataclass(kw_only=True)
class ClusterLoad:
    """CPU use of one cluster as a function of time. A given time always has the same value."""

    cluster: str
    percent: float
    """Before the first change."""
    instance_type: str
    cores: int
    turns: list[Turn] = field(default_factory=list)

    def turn(self, to: float, *, seconds: float, now: float) -> None:
        """Starts a change of the load to ``to`` percent within ``seconds``."""
        self.turns.append(
            Turn(start=now, seconds=seconds, before=self.mean(now), after=min(max(to, 0.0), 100.0))
        )

    @property
    def target(self) -> float:
        """The target of the load, in percent."""
        return self.turns[-1].after if self.turns else self.percent

    def mean(self, when: float) -> float:
        """The percentage without noise."""
        for turn in reversed(self.turns):
            if when >= turn.start:
                return turn.at(when)
        return self.percent

    def at(self, when: float) -> float:
        """The percentage with a little noise, 0 to 100."""
        phase = _phase(self.cluster)
        noise = NOISE_PERCENT * (math.sin(when / 1.9 + phase) + math.sin(when / 0.7 + 2 * phase)) / 2
        return min(max(self.mean(when) + noise, 0.0), 100.0)

    def samples(self, when: float) -> Iterator[Sample]:
        """What the cluster's exporters and recording rules would return at a time."""
        total = self.at(when)
        for node in range(NODES):
            share = total + (node - (NODES - 1) / 2) * min(total, 100.0 - total, 4.0)
            yield Sample(name=CPU, labels={"instance": f"node-{node + 1}"}, value=share / 100.0)
        yield Sample(name=CORES, labels={TYPE_LABEL: self.instance_type}, value=float(self.cores))


def _phase(cluster: str) -> float:
    return hashlib.sha256(cluster.encode()).digest()[0] / 256 * 2 * math.pi
