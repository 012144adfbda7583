"""`-o name`: one name per line, for other commands."""

from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.cli.names import NAMES, names
from gitops_dsf.schema.outputs import output_schemas
from tests.support.commandline import gitops_dsf
from tests.support.initflags import NAMED


def test_every_verb_that_prints_json_prints_names() -> None:
    assert set(NAMES) == set(output_schemas()) - {"scorer-check"}


@pytest.mark.parametrize(
    ("verb", "output", "found"),
    [
        ("backtest", {"head": {"placements": {"argocd/web": {}}}}, ["argocd/web"]),
        ("backtest", {"placements": [{"placement": "argocd/web"}]}, ["argocd/web"]),
        ("diff", {"comparison": None}, []),
        ("diff", {"comparison": {"moves": None}}, []),
        ("diff", {"comparison": {"moves": [{"application": "web"}]}}, ["web"]),
        ("doctor", {"findings": [{"check": "a", "state": "ok"}, {"check": "b", "state": "unknown"}]}, ["b"]),
        ("explain", {"placement": "argocd/web"}, ["argocd/web"]),
        ("log", {"records": [{"placement": "a/b"}, {"placement": "a/b"}]}, ["a/b"]),
        (
            "status",
            {
                "scorers": [{"name": "cpu"}],
                "placements": [{"placement": "argocd/web"}],
                "applications": [{"name": "web"}],
            },
            ["scorer/cpu", "placement/argocd/web", "application/web"],
        ),
        ("sync", [{"scorer": "a", "verdict": "unchanged"}, {"scorer": "b", "verdict": "refused"}], ["b"]),
        ("test", {"tests": [{"name": "a", "passed": True}, {"name": "b", "passed": False}]}, ["b"]),
        ("validate", [{"file": "b.yaml"}, {"file": "a.yaml"}, {"file": "b.yaml"}], ["b.yaml", "a.yaml"]),
    ],
)
def test_the_names_of_a_verb(verb: str, output: Any, found: list[str]) -> None:
    assert names(verb, output) == found


def test_a_verb_prints_names(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet"), *NAMED]) == 0
    done = gitops_dsf("simulate", "-o", "name", cwd=tmp_path / "fleet")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "argocd/guestbook")
    (tmp_path / "fleet/apps/bad.yaml").write_text("kind: [\n")
    done = gitops_dsf("validate", "--output", "name", cwd=tmp_path / "fleet")
    assert (done.returncode, done.stdout) == (1, "apps/bad.yaml\n")
