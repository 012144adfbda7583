"""The files of one agent: what it mounts, its kubeconfigs, and where it publishes without a hub."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tests.support import yamlfast
from tests.support.agent.configmap import ConfigMapVolume
from tests.support.agent.http import HttpFake
from tests.support.agent.hub import kubeconfig
from tests.support.agent.running import RunningAgent, running


class Place:
    """One folder. Without ``hub`` the agent writes its scores to ``out``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.volume = ConfigMapVolume(folder / "config")

    def put(self, *entries: dict[str, Any]) -> None:
        self.volume.put(*entries)

    def flags(
        self, *more: str | Path, hub: HttpFake | None = None, spoke: HttpFake | None = None
    ) -> list[str | Path]:
        found: list[str | Path] = ["--config-dir", self.volume.directory, *more]
        if spoke is not None:
            found += ["--spoke-kubeconfig", kubeconfig(self.folder / "spoke", server=spoke.url)]
        if hub is None:
            return [*found, "--publish", f"dir:{self.out}"]
        return [*found, "--hub-kubeconfig", kubeconfig(self.folder / "kubeconfig", server=hub.url)]

    def agent(
        self, *more: str | Path, hub: HttpFake | None = None, spoke: HttpFake | None = None, **how: Any
    ) -> AbstractAsyncContextManager[RunningAgent]:
        """Runs an agent in the test's loop; ``how`` is for ``running``."""
        return running(*self.flags(*more, hub=hub, spoke=spoke), **how)

    def written(self) -> bool:
        return any(self.out.glob("*.yaml"))

    def items(self, name: str = "cpu") -> dict[str, int]:
        """The published items of a scorer; empty before the first write."""
        file = self.out / f"{name}-score.yaml"
        if not file.exists():
            return {}
        scores = yamlfast.load(file.read_text(encoding="utf-8"))["status"]["scores"]
        return {one["name"]: one["value"] for one in scores}
