"""Texts of others in the log of a pipeline: names of files, objects of a hub, pages, histories.

The runners of GitHub and Gitea read commands from the output, `::add-mask::x` at the beginning of a
line and `##[add-mask]x` anywhere in it (actions/runner, src/Runner.Common/ActionCommand.cs). No
such text may begin a line of its own, control a terminal, or turn the direction of writing.
"""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest

from dsf_runtime.logs import JsonFormatter, TextFormatter
from tests.integration.preview.gitfleet import CLUSTERS, GitFleet, application
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

HOSTILE = "x\n::add-mask::rendered\r\n##[add-mask]rendered\x1b[2J\u202e"
_COMMAND = re.compile(r"^\s*::add-mask::|##\[add-mask\]", re.MULTILINE)
_CONTROL = re.compile("[^\n\\x20-\\x7e\\xa0-\u200f\u2010-\u2027\u2030-\U0010ffff]|\u200e|\u200f")


def _check(*outputs: str) -> None:
    for output in outputs:
        assert not _COMMAND.search(output), output
        assert not _CONTROL.search(output), repr(output)


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    return GitFleet.rendered(tmp_path / "fleet")


def _named(fleet: GitFleet, folder: str, text: str = "") -> None:
    """A file whose name has the text of others, as far as a name can."""
    path = fleet.path / folder / f"{HOSTILE}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "words",
    [
        ["render"],
        ["render", "--check"],
        ["diff", "--base", "main"],
        ["diff", "--base", "main", "-o", "markdown"],
        ["diff", "--base", "main", "-o", "json"],
        ["diff", "--base", "main", "-o", "yaml"],
        ["ci", "check", "--base", "main"],
    ],
)
def test_names_of_files_in_rendered(fleet: GitFleet, words: list[str]) -> None:
    for folder in ("rendered/platform", "rendered", f"rendered/{HOSTILE[:12]}"):
        _named(fleet, folder)
    done = gitops_dsf(*words, cwd=fleet.path)
    assert "add-mask" in done.stdout + done.stderr, "the file is named"
    _check(done.stdout, done.stderr)


def test_files_that_stand_where_rendered_ones_belong(fleet: GitFleet) -> None:
    inventory = fleet.path / "rendered/INVENTORY"
    inventory.write_text("# nothing\n")
    target = fleet.path / "rendered/platform"
    for file in target.iterdir():
        file.write_text("# another program's\n")
    folder = fleet.path / f"out{HOSTILE}"
    (fleet.path / "rendered").rename(folder)
    done = gitops_dsf("render", "--out", folder, cwd=fleet.path)
    assert "stand where rendered files belong" in done.stderr
    _check(done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ["validate"],
        ["validate", "-o", "json"],
        ["validate", "-o", "yaml"],
        ["validate", "-o", "sarif"],
        ["validate", "--fix"],
        ["render"],
        ["test"],
        ["test", "-o", "junit"],
        ["simulate"],
        ["sync", "--check"],
        ["doctor", "--scores", "nowhere"],
        ["ci", "check"],
    ],
)
def test_names_and_contents_of_sources(fleet: GitFleet, words: list[str]) -> None:
    broken = application("shop") | {
        "kind": HOSTILE,
        "metadata": {"name": HOSTILE, HOSTILE: HOSTILE},
    }
    for folder in ("apps", "scorers", "clusters", "tests"):
        _named(fleet, folder, yamlfast.dump(broken))
    _named(fleet, "config", "a: [\n")
    done = gitops_dsf(*words, cwd=fleet.path)
    _check(done.stdout, done.stderr)


def _hub(folder: Path) -> Path:
    """A hub whose objects have hostile names and values wherever a JSON of kubectl can have
    them.
    """
    api, dsf = "cluster.open-cluster-management.io", "v1alpha1"

    def meta(name: str, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "labels": {"region": HOSTILE},
            "annotations": {HOSTILE: HOSTILE},
            **more,
        }

    score = {
        "scores": [{"name": HOSTILE, "value": 5}, {"name": "cpu", "value": 7}],
        "validUntil": HOSTILE,
    }
    fine = score | {"validUntil": "2099-01-01T00:00:00Z"}
    taints = [{"key": HOSTILE, "value": HOSTILE, "effect": "NoSelect"}]
    claims = {
        "clusterClaims": [{"name": HOSTILE, "value": HOSTILE}],
        "version": {"kubernetes": HOSTILE},
    }
    condition = {"type": HOSTILE, "status": "False", "reason": HOSTILE, "message": HOSTILE}
    items: list[dict[str, Any]] = [
        {
            "apiVersion": f"{api}/v1",
            "kind": "ManagedCluster",
            "metadata": meta(name),
            "spec": {"taints": taints},
            "status": claims | {"conditions": [condition]},
        }
        for name in (*CLUSTERS, HOSTILE)
    ]
    items += [
        {
            "apiVersion": f"{api}/{dsf}",
            "kind": "AddOnPlacementScore",
            "metadata": meta(name, namespace=where),
            "status": status,
        }
        for name, where, status in (
            ("cpu", "eu-1", score),
            ("cpu", "eu-2", fine),
            ("cpu", HOSTILE, fine),
            (HOSTILE, "us-1", fine),
        )
    ]
    items += [
        {
            "apiVersion": f"{api}/v1beta1",
            "kind": "PlacementDecision",
            "metadata": meta("d", namespace="argocd")
            | {"labels": {f"{api}/placement": "guestbook"}},
            "status": {"decisions": [{"clusterName": HOSTILE, "reason": HOSTILE}]},
        },
        {"apiVersion": f"{api}/v1beta2", "kind": "ManagedClusterSet", "metadata": meta(HOSTILE)},
        {"apiVersion": f"{api}/v1beta2", "kind": HOSTILE, "metadata": meta("other")},
    ]
    path = folder / "hub.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.mark.parametrize("style", ["text", "json", "yaml", "markdown"])
@pytest.mark.parametrize(
    "words",
    [
        ["diff", "--base", "main"],
        ["simulate"],
        ["simulate", "--all"],
        ["explain", "guestbook"],
        ["explain", "guestbook", "eu-1"],
    ],
)
def test_objects_of_a_hub(fleet: GitFleet, tmp_path: Path, words: list[str], style: str) -> None:
    fleet.prefer_low_scores()
    form = () if style == "text" else ("-o", style)
    done = gitops_dsf(*words, "--scores", _hub(tmp_path), *form, cwd=fleet.path)
    _check(done.stdout, done.stderr)


@pytest.mark.parametrize("words", [["import", "--dry-run", "--file"], ["import", "--file"]])
def test_what_is_imported(fleet: GitFleet, tmp_path: Path, words: list[str]) -> None:
    done = gitops_dsf(*words, _hub(tmp_path), cwd=fleet.path)
    _check(done.stdout, done.stderr)


def test_a_history_of_others(fleet: GitFleet, tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    labels = {"ds_cluster": HOSTILE, "ds_score_name": "cpu", "ds_node": HOSTILE}
    values = [[1_780_272_000 + 60 * at, "5"] for at in range(100)]
    unknown = {"metric": labels, "values": values}
    known = {"metric": labels | {"ds_cluster": "eu-1"}, "values": values}
    for rows, code in (([unknown], 1), ([unknown, known], 0)):
        body = {
            "status": "success",
            "data": {"resultType": "matrix", "result": rows},
            "warnings": [HOSTILE],
        }
        history.write_text(json.dumps(body))
        for style in ("text", "json", "markdown", "html"):
            done = gitops_dsf("backtest", "--history", history, "-o", style, cwd=fleet.path)
            assert done.returncode == code, done.stderr
            _check(done.stdout, done.stderr)


@pytest.mark.parametrize(
    "formatter", [TextFormatter(fields=("scorer",)), JsonFormatter(fields=("scorer",))]
)
def test_logs_of_agent_and_reconciler(formatter: logging.Formatter) -> None:
    error = RuntimeError(HOSTILE)
    raised = (RuntimeError, error, None)
    record = logging.LogRecord("n", logging.ERROR, "p", 1, "failed: %s", (HOSTILE,), raised)
    record.scorer = HOSTILE
    line = formatter.format(record)
    assert "add-mask" in line
    _check(line)
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["message"] == f"failed: {HOSTILE}"
        assert os.linesep not in line


def test_an_honest_text_stays_as_it_is(fleet: GitFleet) -> None:
    """Names of any language, IPv6 addresses and issue numbers are not commands."""
    for name in ("Zürich.yaml", "東京.yaml", "a ## [b].yaml"):
        (fleet.path / "rendered/platform" / name).write_text("")
    done = gitops_dsf("render", "--check", cwd=fleet.path)
    for name in ("Zürich.yaml", "東京.yaml", "a ## [b].yaml"):
        assert f"foreign: rendered/platform/{name}\n" in done.stdout
