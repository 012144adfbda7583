"""A real Prometheus on 127.0.0.1, with a past and a present.

Its past is written by promtool, and a test changes its present while it runs.

The past goes in as blocks, so a range query works from the first second; the present comes from a
LoadExporter that is scraped every second. Scraped series lose the labels `job` and `instance`, so
that past and present are one series.
"""

import json
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes, answering
from tests.support.threadserver import Handler, ThreadServer

SCRAPE_SECONDS = 1


def series(name: str, labels: Mapping[str, str]) -> str:
    """How the text formats write a series."""
    pairs = ",".join(f"{label}={json.dumps(value)}" for label, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}"


def past(
    name: str, labels: Mapping[str, str], values: Sequence[float], *, end: float, step: float
) -> Iterable[str]:
    """Lines of OpenMetrics: `values` spaced by `step` seconds, the last one at `end` (seconds since
    the epoch).
    """
    first, head = end - step * (len(values) - 1), series(name, labels)
    return (f"{head} {value!r} {first + step * index:.3f}\n" for index, value in enumerate(values))


class LoadExporter(ThreadServer):
    """A metrics endpoint with gauges; a context manager. Values appear with the next scrape."""

    def __init__(self) -> None:
        self._values = values = dict[str, float]()
        self.scrapes = scrapes = list[float]()
        """Unix times."""

        class ExporterHandler(Handler):
            def serve(self) -> None:
                scrapes.append(time.time())
                text = "".join(f"{name} {value!r}\n" for name, value in dict(values).items())
                self.send(200, text.encode(), media="text/plain; version=0.0.4; charset=utf-8")

        super().__init__(ExporterHandler)

    def set(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Set one series; it keeps the value until it is set again."""
        self._values[series(name, labels)] = value

    def unset(self, name: str, labels: Mapping[str, str]) -> None:
        """Ends one series."""
        self._values.pop(series(name, labels), None)


def ask(url: str, query: str, *, at: float | None = None) -> list[dict[str, Any]]:
    """The vector of an instant query, now or at this Unix time."""
    parameters = {"query": query} | ({} if at is None else {"time": f"{at:.3f}"})
    answer = httpx.get(f"{url}/api/v1/query", params=parameters, timeout=60, trust_env=False).json()
    assert answer["status"] == "success", answer
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def start_prometheus(
    *,
    processes: Processes,
    folder: Path,
    history: Iterable[str] = (),
    exporter: LoadExporter | None = None,
    name: str = "prometheus",
    flags: Sequence[str] = (),
    configuration: Mapping[str, Any] | None = None,
) -> str:
    """Write the past, start the server under `name` and wait until it answers; its URL.

    `folder` must be its own.

    `configuration` has further sections of the configuration file, and settings of the section
    global.
    """
    folder.mkdir(parents=True, exist_ok=True)
    binaries, data = obtain("prometheus"), folder / "data"
    if history:
        text = folder / "history.txt"
        text.write_text("".join([*history, "# EOF\n"]), encoding="utf-8")
        command: list[str | Path] = [
            binaries.path("promtool"),
            "tsdb",
            "create-blocks-from",
            "openmetrics",
        ]
        subprocess.run(
            [*command, "--quiet", text, data], check=True, capture_output=True, timeout=120
        )
    sections = dict(configuration or {})
    interval = {"scrape_interval": f"{SCRAPE_SECONDS}s", "scrape_timeout": f"{SCRAPE_SECONDS}s"}
    sections["global"] = {**interval, **sections.get("global", {})}
    if exporter is not None:
        job = {
            "job_name": "load",
            "static_configs": [{"targets": [exporter.authority]}],
            "metric_relabel_configs": [{"action": "labeldrop", "regex": "job|instance"}],
        }
        sections["scrape_configs"] = [job]
    file = folder / "prometheus.yml"
    # JSON is YAML; nothing here needs more.
    file.write_text(json.dumps(sections), encoding="utf-8")
    url = f"http://127.0.0.1:{free_port()}"
    command = [
        binaries.path("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--log.level=warn",
        *flags,
    ]
    processes.ready(processes.start(name, command, folder=folder), answering(f"{url}/-/ready"))
    return url
