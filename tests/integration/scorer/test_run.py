"""`gitops-dsf scorer run`: a real server, real tokens, clear words when it cannot start."""

import http.client
import json
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsf_scorer.testing import series

APP = """
from dsf_scorer import Series, scorer

@scorer(name="last", query="up", step_seconds=60, interval_seconds=60)
def app(series: Series) -> float | None:
    return series.last
"""

SLOW = """
import time
from pathlib import Path

from dsf_scorer import Series, scorer

@scorer(name="slow", query="up", step_seconds=60, interval_seconds=60)
def app(series: Series) -> float | None:
    Path("begun").touch()
    while not Path("answered").exists():
        time.sleep(0.01)
    return series.last
"""
"""Takes for the first series as long as a test wants."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scorer.py").write_text(APP)
    return tmp_path


def ask(url: str, *, body: bytes | None = None) -> tuple[int, Any]:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_request_above_the_limit_gets_its_413(
    project: Path, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORER_MAX_BODY_BYTES", "1000")
    served = serve("scorer:app", project)
    host = served.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest("POST", "/scoring")
    connection.putheader("Content-Length", "100000000")
    connection.endheaders(b"{")
    answer = connection.getresponse()
    assert answer.status == 413
    assert "SCORER_MAX_BODY_BYTES" in json.load(answer)["error"]
    connection.close()


def test_health_is_answered_while_a_large_request_is_scored(
    project: Path, serve: Callable[..., Any]
) -> None:
    (project / "slow.py").write_text(SLOW)
    served = serve("slow:app", project)
    row = json.dumps(series([0.5] * 60, node="a"))
    body = b'{"data":[' + b",".join([row.encode()] * 10_000) + b"]}"
    results: list[int] = []
    worker = threading.Thread(
        target=lambda: results.append(len(ask(f"{served.url}/scoring", body=body)[1]["results"]))
    )
    worker.start()
    while not (project / "begun").exists():
        time.sleep(0.01)
    try:
        for _ in range(10):
            assert ask(f"{served.url}/healthz")[0] == 200
    finally:
        (project / "answered").touch()
        worker.join()
    assert results == [10_000]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_to(
    project: Path, serve: Callable[..., Any], number: signal.Signals
) -> None:
    served = serve("scorer:app", project)
    served.process.send_signal(number)
    assert served.process.wait(timeout=60) in {-number, 0, 130}


def start(programs: Path, directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [programs / "gitops-dsf", "scorer", "run", *arguments]
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["missing:app"], 1, 'Could not import module "missing"'),
        (["broken:app"], 2, "broken:app cannot be served: SyntaxError"),
        (["needy:app"], 2, "No module named 'no_such_package'"),
        (["undefined:app"], 2, "interval_seconds is 0"),
        (["scorer:app", "--port", "70000"], 2, "0-65535"),
    ],
)
def test_it_says_why_it_cannot_start(
    project: Path, warm_programs: Path, arguments: list[str], code: int, text: str
) -> None:
    (project / "broken.py").write_text("def (")
    (project / "needy.py").write_text("import no_such_package")
    (project / "undefined.py").write_text(APP.replace("interval_seconds=60", "interval_seconds=0"))
    done = start(warm_programs, project, *arguments)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr
