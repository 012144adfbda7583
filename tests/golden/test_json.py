"""The JSON of every verb that prints JSON, byte for byte.

Moments, ages and paths of this run are left out.

`make golden` writes what the verbs print now; review the diff. Programs of others read these keys.
"""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.journal.lines import appended
from tests.integration.backtest.test_backtest_verb import SCORES, SPAN, _fleet
from tests.integration.journal.test_journal_verbs import RECORDS
from tests.integration.journal.test_journal_verbs import SPAN as JOURNAL_SPAN
from tests.integration.preview.gitfleet import (
    HERD,
    NAMES,
    PACE,
    GitFleet,
    application,
    herd_fleet,
    save,
    scorer,
    snapshot,
)
from tests.integration.preview.test_maintenance import maintenance
from tests.integration.sync.conftest import CLUSTER, SETTINGS, Repository
from tests.integration.sync.test_sync import page
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import fleet, hub_with
from tests.support.metricstore import FakeMetricStore
from tests.support.pageserver import ConfigPageServer, says
from tests.support.served import serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
EXPECTED = Path(__file__).parent / "json"
LONG, SHOWN = 40, 4
"""Of a list with more entries than the first number only some are recorded."""
NORMAL: tuple[tuple[str, str], ...] = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "<time>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b[0-9a-f]{40}\b", "<commit>"),
    (r"\([0-9a-f]{10}\)", "(<commit>)"),
    (r'("[A-Za-z]*(?:age|Age|ageSeconds|Seconds)": )-?\d+(\.\d+)?', r"\1<seconds>"),
    (r"\b\d+(\.\d+)? (s|min|seconds|minutes)\b", "<duration>"),
)


def _hub(verb: str) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    def run(folder: Path) -> "subprocess.CompletedProcess[str]":
        with serving(hub_with(fleet(now=datetime.now(UTC)))) as hub:
            kubeconfig = hub.kubeconfig(folder / "kubeconfig")
            return gitops_dsf(
                *verb.split(), "-o", "json", "--context", "hub", "--kubeconfig", kubeconfig
            )

    return run


def _example(*command: str | Path) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    def run(folder: Path) -> "subprocess.CompletedProcess[str]":
        copy = GitFleet(folder / "fleet")
        scores = save(snapshot(), folder / "state")
        return gitops_dsf(*command, "--scores", scores, "-o", "json", cwd=copy.path)

    return run


def _diff(folder: Path) -> "subprocess.CompletedProcess[str]":
    """One scorer changed, one added, one application added, one with another number of clusters."""
    made = GitFleet(folder / "fleet")
    scores = save(snapshot(), folder / "state")
    made.write(
        "scorers/cpu.yaml",
        scorer("cpu", scoreRange={"min": 0, "max": 100, "outputMin": 100, "outputMax": 1}),
    )
    made.write("scorers/new.yaml", scorer("memory", query="avg(memory)"))
    made.write("apps/guestbook.yaml", application("guestbook", count=2))
    made.write("apps/shop.yaml", application("shop", region="eu"))
    return gitops_dsf("diff", "--base", "HEAD", "--scores", scores, "-o", "json", cwd=made.path)


def _drained(verb: str) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    """Paced applications on a cluster that is drained now, on one that will be, and windows that
    differ.
    """

    def run(folder: Path) -> "subprocess.CompletedProcess[str]":
        made = herd_fleet(folder / "fleet", pace={**PACE, "settleSeconds": 600}, demand=2)
        decided = {name: ["c2" if number < 3 else "c1"] for number, name in enumerate(NAMES)}
        scores = save(snapshot(values=HERD, decided=decided), folder / "state")
        night = {"start": "2099-11-24T20:00:00+01:00", "end": "2099-11-24T20:15:00+01:00"}
        made.write(
            "config/maintenance.yaml",
            maintenance("night", "Drain", clusters=["c2"], **night),
            maintenance(
                "now", "Drain", clusters=["c2"], start="2020-01-01T00:00:00Z", end=night["end"]
            ),
            maintenance("quiet", "Freeze", applications=["app-07"], **night),
        )
        return gitops_dsf(*verb.split(), "--scores", scores, "-o", "json", cwd=made.path)

    return run


def _sync(folder: Path) -> "subprocess.CompletedProcess[str]":
    with ConfigPageServer() as server:
        server.pages["/config"] = says(**page())
        repository = Repository(folder / "fleet")
        repository.root.mkdir()
        repository.write("gitops-dsf.yaml", SETTINGS)
        repository.write("clusters/c1.yaml", CLUSTER)
        repository.scorer("cpu", f"{server.url}/config")
        return gitops_dsf("sync", "-o", "json", cwd=folder / "fleet")


def _findings(folder: Path) -> "subprocess.CompletedProcess[str]":
    made = GitFleet(folder / "fleet")
    made.write("scorers/cpu.yaml", scorer("cpu", query="avg(up", scoreRang={"min": 0}))
    made.write("apps/guestbook.yaml", application("guestbook", scorers=("cpuu",)))
    return gitops_dsf("validate", "-o", "json", cwd=made.path)


def _log(folder: Path) -> "subprocess.CompletedProcess[str]":
    journal = folder / "journal"
    journal.mkdir()
    for name, content in appended({}, RECORDS).items():
        (journal / name).write_bytes(content)
    return gitops_dsf("log", "--journal", journal, *JOURNAL_SPAN, "-o", "json")


def _backtest(*more: str) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    def run(folder: Path) -> "subprocess.CompletedProcess[str]":
        made = _fleet(folder / "fleet", stickiness=10)
        with FakeMetricStore(scores=SCORES) as store:
            return gitops_dsf(
                "backtest", made, "--prometheus", store.url, *SPAN, *more, "-o", "json"
            )

    return run


CASES: Mapping[str, Callable[[Path], "subprocess.CompletedProcess[str]"]] = {
    "validate": lambda _: gitops_dsf("validate", "-o", "json", cwd=EXAMPLE),
    "validate-findings": _findings,
    "test": lambda _: gitops_dsf("test", "-o", "json", cwd=EXAMPLE),
    "simulate": _example("simulate"),
    "explain": _example("explain", "guestbook", "eu-2"),
    "diff": _diff,
    "diff-maintenance": _drained("diff --base HEAD"),
    "simulate-paced": _drained("simulate --paced"),
    "sync": _sync,
    "status": _hub("status"),
    "doctor": _hub("doctor"),
    "log": _log,
    "backtest": _backtest(),
    "backtest-advise": _backtest("--advise"),
}


def _short(value: Any) -> Any:
    """The value with the first entries of long lists, and their number."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > LONG:
            return [*(_short(item) for item in value[:SHOWN]), f"<{len(value)} in all>"]
        return [_short(item) for item in value]
    return value


def _lines(text: str, folder: Path) -> str:
    printed = json.dumps(_short(json.loads(text)), indent=1, ensure_ascii=False)
    printed = printed.replace(str(folder), "<folder>")
    for pattern, normal in NORMAL:
        printed = re.sub(pattern, normal, printed)
    return printed + "\n"


@pytest.mark.parametrize("name", CASES)
def test_the_json_of_a_verb(name: str, tmp_path: Path, update_golden: bool) -> None:
    ran = CASES[name](tmp_path)
    assert ran.stdout, ran.stderr
    printed, path = _lines(ran.stdout, tmp_path), EXPECTED / f"{name}.json"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8"), (
        "the JSON changed: review it, then run `make golden`"
    )
