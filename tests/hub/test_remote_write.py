"""Raw scores reach a central Prometheus by remote write, with the configuration that is rendered.

One real Prometheus runs in agent mode with the rendered flags and file, and a second one receives.
What is rendered names places of a cluster; only these are replaced here.
"""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.metricstore.currentscores import exported_now
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering
from tests.hub.controlplane.prometheus import LoadExporter, ask, start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.support.rendering import objects, rendered, scorer
from tests.support.threadserver import Handler, ThreadServer

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

URL = "https://prometheus.hub.example.com/api/v1/write"
TARGET = "gitops-dsf-agent.dynamic-scoring.svc:8080"
FOLDER = "/etc/gitops-dsf-remote-write"
SCORE = {"ds_cluster": "cluster1", "ds_score_name": "cpu_headroom", "ds_node": "n1"}


class Gateway(ThreadServer):
    """What stands in front of the receiver: it wants a token."""

    def __init__(self, receiver: str, token: str) -> None:
        self.refused = refused = list[str]()
        self.tenants = tenants = set[str]()

        class GatewayHandler(Handler):
            def serve(self) -> None:
                body = self.body()
                shown = self.headers.get("Authorization", "")
                if shown != f"Bearer {token}":
                    refused.append(shown)
                    self.send(401, b"no")
                    return
                tenants.add(self.headers.get("X-Scope-OrgID", ""))
                headers = {
                    name: value
                    for name, value in self.headers.items()
                    if name.lower().startswith(("content-type", "content-encoding", "x-prom"))
                }
                answer = httpx.post(
                    f"{receiver}/api/v1/write", content=body, headers=headers, trust_env=False
                )
                self.send(answer.status_code, answer.content)

        super().__init__(GatewayHandler)


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """What the add-on brings to a cluster."""

    configuration: str
    arguments: list[str]


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    settings = {
        "url": URL,
        "image": "quay.io/prometheus/prometheus:v3.16.0",
        "auth": {"tokenSecretRef": {"name": "hub-token", "key": "token"}},
        "headers": {"X-Scope-OrgID": "fleet"},
        "interval": "1s",
    }
    found = objects(
        rendered(
            tmp_path_factory.mktemp("fleet"),
            scorer("cpu"),
            agent={"remoteWrite": settings, "logFormat": "text"},
            allowedTokenHosts=["prometheus.hub.example.com"],
        )
    )
    template = found["platform/addontemplate.gitops-dsf-agent.yaml"]
    by_name: dict[tuple[str, str], Any] = {
        (item["kind"], item["metadata"]["name"]): item
        for item in template["spec"]["agentSpec"]["workload"]["manifests"]
    }
    file = by_name["ConfigMap", "gitops-dsf-remote-write"]["data"]["prometheus.yml"]
    pod = by_name["StatefulSet", "gitops-dsf-remote-write"]["spec"]["template"]["spec"]
    return Rendered(configuration=file, arguments=pod["containers"][0]["args"])


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(logs=tmp_path / "logs") as started:
        yield started


def written(writing: Rendered, folder: Path, *, target: str, url: str) -> Path:
    """The configuration file with this target and receiver, and the credentials in a folder."""
    text = writing.configuration.replace(TARGET, target).replace(URL, url)
    text = text.replace("{{CLUSTER_NAME}}", "cluster1").replace(
        f"{FOLDER}-credentials", str(folder)
    )
    file = folder / "prometheus.yml"
    file.write_text(text, encoding="utf-8")
    return file


def start_agent(processes: Processes, writing: Rendered, file: Path) -> None:
    """Prometheus with the rendered flags, in its own folder and at a free port."""
    data = file.parent / "wal"
    listen = f"127.0.0.1:{free_port()}"
    flags = [
        flag.replace(f"{FOLDER}/prometheus.yml", str(file))
        .replace("=/prometheus", f"={data}")
        .replace("=:9090", f"={listen}")
        for flag in writing.arguments
    ]
    command: list[str | Path] = [obtain("prometheus").path("prometheus"), *flags]
    processes.ready(
        processes.start("agentmode", command, folder=file.parent),
        answering(f"http://{listen}/-/ready"),
    )


def test_promtool_finds_no_fault_with_the_configuration(writing: Rendered, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    file = written(writing, tmp_path, target=TARGET, url=URL)
    promtool = obtain("prometheus").path("promtool")
    done = subprocess.run(
        [promtool, "check", "config", "--agent", file],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_raw_scores_arrive_and_nothing_else(
    writing: Rendered, processes: Processes, tmp_path: Path
) -> None:
    """Prometheus drops what is refused with 401. With the right token the next samples arrive."""
    receiver = start_prometheus(
        processes=processes,
        folder=tmp_path / "receiver",
        name="receiver",
        flags=["--web.enable-remote-write-receiver"],
    )
    folder = tmp_path / "agentmode"
    folder.mkdir()
    (folder / "token").write_text("old")
    with LoadExporter() as exporter, Gateway(receiver, "right") as gateway:
        exporter.set("dynamic_score", SCORE, 41.25)
        exporter.set("gitops_dsf_agent_failures_total", {"score_name": "cpu_headroom"}, 3.0)
        file = written(
            writing, folder, target=exporter.authority, url=f"{gateway.url}/api/v1/write"
        )
        start_agent(processes, writing, file)
        wait_for(lambda: "Bearer old" in gateway.refused, what="the old token is refused")
        assert ask(receiver, "dynamic_score") == []
        # As the kubelet does it: a new file in place of the old one.
        (folder / "new").write_text("right")
        shutil.move(folder / "new", folder / "token")
        exporter.set("dynamic_score", SCORE, 43.5)

        def value() -> str:
            found = ask(receiver, "dynamic_score")
            return str(found[0]["value"][1]) if found else ""

        wait_for(lambda: value() == "43.5", what="the score arrives", seen=value)
        (series,) = ask(receiver, "dynamic_score")
        assert series["metric"] == {
            "__name__": "dynamic_score",
            "cluster": "cluster1",
            "instance": exporter.authority,
            "job": "gitops-dsf-agent",
            **SCORE,
        }
        assert ask(receiver, 'count({__name__=~".+",__name__!="dynamic_score"})') == []
        assert gateway.tenants == {"fleet"}

        def bounds() -> list[tuple[float, float]]:
            return [(result.low, result.high) for result in asyncio.run(_read(receiver))]

        # It asks for a whole second, which may be before the first sample of the score.
        wait_for(lambda: bounds() == [(43.5, 43.5)], what="the reconciler reads it", seen=bounds)


async def _read(url: str) -> list[Any]:
    """What the reconciler reads of `spec.reconciler.metricStore`."""
    async with OpenStore(url) as store:
        by_score = await exported_now(
            store, ["cpu_headroom"], cluster_label="ds_cluster", at=int(time.time())
        )
    cluster = by_score.get("cpu_headroom", {}).get("cluster1")
    return [] if cluster is None else list(cluster.results)
