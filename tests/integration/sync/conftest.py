"""A fleet repository with Full scorers, and the servers of their pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from tests.support import yamlfast
from tests.support.fleets import IMAGES
from tests.support.pageserver import ConfigPageServer

SETTINGS = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "FleetRepository",
    "metadata": {"name": "fleet"},
    "spec": {"git": {"url": "https://git.example.com/fleet.git"}, **IMAGES},
}
CLUSTER = {
    "apiVersion": "cluster.open-cluster-management.io/v1",
    "kind": "ManagedCluster",
    "metadata": {"name": "c1"},
    "spec": {},
}
SOURCE = {"host": "http://prometheus.monitoring.svc:9090"}


@dataclass
class Repository:
    root: Path

    def write(self, file: str, *documents: Any) -> None:
        path = self.root / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(yamlfast.dump(*documents), encoding="utf-8")

    def scorer(self, name: str, url: str, **spec: Any) -> None:
        body = {
            "description": name,
            "configURL": url,
            "configSyncMode": "Full",
            "source": SOURCE,
            **spec,
        }
        api = "dynamic-scoring.open-cluster-management.io/v1alpha1"
        self.write(
            f"scorers/{name}.yaml",
            {"apiVersion": api, "kind": "DynamicScorer", "metadata": {"name": name}, "spec": body},
        )

    def lock(self, name: str) -> str:
        return (self.root / "locks" / f"{name}.yaml").read_text(encoding="utf-8")

    def said(self, name: str) -> Any:
        return yamlfast.load(self.lock(name))["spec"]["config"]

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def sync(self, *arguments: str) -> int:
        return main(["sync", str(self.root), "--timeout", "20", *arguments])


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    repository = Repository(tmp_path / "fleet")
    repository.root.mkdir()
    repository.write("gitops-dsf.yaml", SETTINGS)
    repository.write("clusters/c1.yaml", CLUSTER)
    return repository


@pytest.fixture
def server() -> Iterator[ConfigPageServer]:
    with ConfigPageServer() as running:
        yield running
