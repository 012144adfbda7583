"""Runs a real Prometheus per cluster, if it is installed."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from demo.loopback import HOST
from demo.programs import Program, Programs


@dataclass(frozen=True, kw_only=True)
class PrometheusBinary:
    """A program that answered `--version`."""

    path: Path
    version: str


def find(environment: Mapping[str, str] = os.environ) -> PrometheusBinary | None:
    """Finds the program in PATH, else the one that `make test-hub` built; None if neither runs."""
    for path in _candidates(environment):
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        if version := re.search(r"version (\d+\.\d+\.\d+)", said.stdout + said.stderr):
            return PrometheusBinary(path=path, version=version.group(1))
    return None


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if found := shutil.which("prometheus", path=environment.get("PATH")):
        yield Path(found)
    home = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "/")) / ".cache"
    cache = Path(environment.get("GITOPS_DSF_CACHE") or Path(home) / "gitops-dsf")
    yield from sorted(cache.glob("hub/prometheus-*/bin/prometheus"), reverse=True)


def start(
    binary: PrometheusBinary, programs: Programs, *, cluster: str, scrapes: str, folder: Path
) -> Program:
    """Starts the Prometheus of one cluster, which scrapes `host:port` ``scrapes`` every second."""
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "prometheus.yml"
    # JSON is valid YAML. honor_labels: `instance` is the node, not the page that all nodes of a cluster share
    # here.
    configuration.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                "scrape_configs": [
                    {"job_name": "nodes", "honor_labels": True, "static_configs": [{"targets": [scrapes]}]}
                ],
            },
            indent=2,
        ),
        "utf-8",
    )
    flags = [
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={HOST}:0",
        "--log.level=info",
    ]
    return programs.start(f"prometheus-{cluster}", [binary.path, *flags])


def authority(programs: Programs, program: Program) -> str:
    """Waits until it is ready, and returns its `host:port`."""
    port = programs.port(program, rf"Listening on[^\n]*address=\"?{re.escape(HOST)}:(\d+)")
    programs.wait(lambda: _ready(port), what=f"{program.name} is ready", program=program)
    return f"{HOST}:{port}"


def _ready(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/-/ready")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
