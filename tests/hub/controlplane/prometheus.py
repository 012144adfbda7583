"""A real Prometheus on 127.0.0.1 with a past written by promtool and a present that a test changes while it
runs.

The past goes in as blocks, so a range query works from the first second; the present comes from a
LoadExporter that is scraped every second. Scraped series lose the labels `job` and `instance`, so that past
and present are one series.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.series import Series, open_metrics

SCRAPE_SECONDS = 1


class PrometheusError(Exception):
    """promtool refused the past, or a query failed; the message is Prometheus' own."""


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """A running Prometheus. `url` is its origin, without a trailing slash."""

    name: str
    url: str
    startup_seconds: float

    def query_range(
        self, query: str, *, start: float, end: float, step: float = 15.0
    ) -> list[dict[str, Any]]:
        """The matrix of a range query: `[{"metric": {...}, "values": [[ts, "v"], ...]}, ...]`."""
        return self._data(
            "query_range", {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": str(step)}
        )

    def query(self, query: str) -> list[dict[str, Any]]:
        """The vector of an instant query, now."""
        return self._data("query", {"query": query})

    def version(self) -> str:
        answer = httpx.get(f"{self.url}/api/v1/status/buildinfo", timeout=60)
        return str(answer.json()["data"]["version"])

    def _data(self, path: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=60).json()
        if answer["status"] != "success":
            raise PrometheusError(f"{parameters['query']}: {answer['errorType']}: {answer['error']}")
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result


def start_prometheus(
    *,
    binaries: Binaries,
    processes: Processes,
    folder: Path,
    history: Iterable[Series] = (),
    exporter: LoadExporter | None = None,
    name: str = "prometheus",
    port: int | None = None,
    flags: Sequence[str] = (),
    configuration: Mapping[str, Any] | None = None,
) -> Prometheus:
    """Write the past, start the server under `name` and wait until it answers. `folder` must be its own.

    `configuration` has further sections of the configuration file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "data"
    _write_history(binaries.path("promtool"), folder, data, history)
    file = folder / "prometheus.yml"
    # JSON is YAML; nothing here needs more.
    file.write_text(json.dumps(_merged(_configuration(exporter), configuration or {})), encoding="utf-8")
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    command: list[str | Path] = [
        binaries.path("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
        *flags,
    ]
    process = processes.start(name, command, folder=folder)

    def probe() -> str | None:
        try:
            answer = httpx.get(f"{url}/-/ready", timeout=2)
        except httpx.HTTPError as error:
            return f"{url}/-/ready: {error!r}"
        return (
            None
            if answer.status_code == 200
            else f"{url}/-/ready: {answer.status_code} {answer.text.strip()}"
        )

    return Prometheus(name=name, url=url, startup_seconds=processes.ready(process, probe))


def _write_history(promtool: Path, folder: Path, data: Path, history: Iterable[Series]) -> None:
    series = tuple(history)
    if not series:
        return
    text = folder / "history.txt"
    text.write_text(open_metrics(series), encoding="utf-8")
    answer = subprocess.run(
        [str(promtool), "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(text), str(data)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        raise PrometheusError(
            f"promtool could not write the past: {answer.stderr.strip() or answer.stdout.strip()}"
        )


def _merged(base: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both, with the sections and lists that both have joined."""
    joined: dict[str, Any] = {
        key: [*base[key], *value] if isinstance(value, list) else {**base[key], **value}
        for key, value in more.items()
        if key in base
    }
    return {**base, **more, **joined}


def _configuration(exporter: LoadExporter | None) -> dict[str, Any]:
    scrapes = (
        []
        if exporter is None
        else [
            {
                "job_name": "load",
                "static_configs": [{"targets": [exporter.target]}],
                "metric_relabel_configs": [{"action": "labeldrop", "regex": "job|instance"}],
            }
        ]
    )
    return {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "scrape_timeout": f"{SCRAPE_SECONDS}s"},
        "scrape_configs": scrapes,
    }
