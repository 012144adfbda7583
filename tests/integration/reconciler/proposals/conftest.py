"""A hub with a fleet repository, without and with a forge."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gitops_dsf.reconciler.proposals import controller, worker
from gitops_dsf.reconciler.proposals.workload import Change, Task
from tests.integration.reconciler.proposals.proposalhub import (
    SETTINGS,
    TOKEN,
    ProposalHub,
    cluster,
    page,
    scorer,
    surroundings,
)
from tests.support.githubserver import GitHubServer
from tests.support.objecthub import ObjectHub

LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata:
  name: {name}
spec:
  config:
    scoring:
      params:
        interval: 60
        name: {name}_score
      path: /scoring
    source:
      params:
        query: up
        range: 600
        step: 60
      path: /api/v1/query_range
      type: Prometheus
  configURL: {url}/{name}/config
"""


@pytest.fixture(autouse=True)
def _worker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the worker in this process, unless the test is marked `worker`: a worker process takes
    half a second to import.
    """
    if request.node.get_closest_marker("worker") is None:
        monkeypatch.setattr(controller, "ask", _answered)


async def _answered(task: Task) -> Change:
    """Over the wire both ways, as `worker.ask`."""
    asked = msgspec.json.decode(msgspec.json.encode(task), type=Task)
    return msgspec.json.decode(msgspec.json.encode(await worker.work(asked)), type=Change)


@pytest.fixture
def scene(hub: ObjectHub, tmp_path: Path) -> Iterator[ProposalHub]:
    """A fleet of five clusters, scorers cpu and mem whose locks say what their pages say."""
    with surroundings(tmp_path) as (server, repository, pages, secret):
        files = {
            "gitops-dsf.yaml": SETTINGS,
            "rendered/platform/x.yaml": "x: 1\n",
            "README.md": "ours\n",
        }
        for name in ("cpu", "mem"):
            files[f"scorers/{name}.yaml"] = scorer(name, pages.url)
            files[f"locks/{name}.yaml"] = LOCK.format(name=name, url=pages.url)
            pages.pages[f"/{name}/config"] = page(f"{name}_score")
        for number in range(1, 6):
            files[f"clusters/c{number}.yaml"] = cluster(f"c{number}")
        repository.commit(dict(files))
        found = ProposalHub(
            hub=hub,
            server=server,
            repository=repository,
            pages=pages,
            secret=secret,
            work=tmp_path / "work",
        )
        for number in range(1, 6):
            found.joins(f"c{number}")
        yield found


@pytest.fixture
def forge(scene: ProposalHub) -> Iterator[GitHubServer]:
    """Makes the scene one with a forge."""
    with GitHubServer(repository=scene.repository, token=TOKEN) as server:
        scene.forge = server
        yield server
    assert server.violations == []
