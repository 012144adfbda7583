"""What only a program of its own shows: which parts of gitops-dsf an environment lacks.

The other tests run verbs in the test's process (tests.support.commandline). The verbs that need no
extra run in the environment that the pipeline of a new fleet installs.
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.errors import UsageError
from tests.support import hubobjects
from tests.support.commandline import gitops_dsf, output_of, program
from tests.support.served import serving_on_wire

pytestmark = pytest.mark.real_time  # a verb is a process

SCORES = """\
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: cpu-headroom, namespace: eu-west-1}
status:
  scores: [{name: cpu-headroom, value: 40}]
  validUntil: 2030-01-01T00:00:00Z
"""
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: paris}
spec: {hubAcceptsClient: true}
"""
COMMANDS = {
    "validate --strict": "no mistakes found",
    "test": "1 test passed",
    "simulate --scores ../scores.yaml": "1 AddOnPlacementScore",
    "explain raw-guestbook eu-west-1 --scores ../scores.yaml": "eu-west-1",
    "diff --base HEAD --state-branch gitops-dsf-state": "1 AddOnPlacementScore",
    "import --from ../hub.yaml --dry-run": "1 would be added",
}
OF_EXTRAS = {
    "status --context hub": "live",
    "diff --base HEAD --context hub": "live",
    "sync": "live",
    "scorer try cpu-headroom --prometheus http://127.0.0.1:9": "try",
}
ONE_AFTER_ANOTHER: Final = """
import contextlib, io, json, sys
from gitops_dsf.cli.main import main

for command in json.load(sys.stdin):
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        code = main(command.split())
    written.seek(0)
    ended = {"command": command, "code": code, "said": written.read()}
    print(json.dumps({**ended, "numpy": "numpy" in sys.modules}))
"""
"""A program that runs several verbs, because half of the time of one is the start of Python."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a command."""

    command: str
    code: int
    said: str
    numpy: bool
    """Whether the program had imported numpy by then."""


def endings(python: Path, commands: Sequence[str], *, folder: Path) -> dict[str, Ended]:
    """What comes of commands, in an environment that this Python is of."""
    # -P: the fleet of a test is no place for modules.
    words = (python, "-P", "-c", ONE_AFTER_ANOTHER)
    lines = output_of(*words, cwd=folder, environ=os.environ, stdin=json.dumps(commands))
    decoded = [msgspec.json.decode(line, type=Ended) for line in lines.splitlines()]
    return {ended.command: ended for ended in decoded}


@pytest.fixture(scope="module")
def fleet(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed fleet, and a state branch that holds scores."""
    root = tmp_path_factory.mktemp("without") / "fleet"
    url = "https://git.internal/fleet.git"
    scaffold(
        target=root,
        name="fleet",
        extras=("examples",),
        git_url=url,
        registry="registry.example.com",
        wheels=wheels,
    )
    (root.parent / "scores.yaml").write_text(SCORES)
    (root.parent / "hub.yaml").write_text(CLUSTER)

    def git(*words: str, given: str = "") -> str:
        return output_of("git", *words, cwd=root, stdin=given).strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Begin")
    blob = git("hash-object", "-w", "--stdin", given=SCORES)
    tree = git("mktree", given=f"100644 blob {blob}\tscores.yaml\n")
    git("branch", "gitops-dsf-state", git("commit-tree", "-m", "State", tree))
    return root


@pytest.fixture(scope="module")
def without_extras(fleet: Path, pipeline_programs: Path) -> dict[str, Ended]:
    commands = [*COMMANDS, *OF_EXTRAS]
    return endings(pipeline_programs / "python", commands, folder=fleet)


@pytest.mark.parametrize(("command", "said"), COMMANDS.items())
def test_a_verb_without_extras(without_extras: dict[str, Ended], command: str, said: str) -> None:
    ended = without_extras[command]
    assert ended.code == 0, ended.said
    assert said in ended.said


@pytest.mark.parametrize(("command", "extra"), OF_EXTRAS.items())
def test_a_verb_that_asks_somebody_names_its_extra(
    without_extras: dict[str, Ended], command: str, extra: str
) -> None:
    ended = without_extras[command]
    assert ended.code == 1, ended.said
    assert f"needs the extra {extra} (docs/start/install.md)" in ended.said


def test_the_program_of_the_pipeline_ends_with_the_code_of_its_verb(
    fleet: Path, pipeline_programs: Path
) -> None:
    done = program(pipeline_programs / "gitops-dsf", "sync", cwd=fleet)
    assert done.returncode == 1
    assert "needs the extra live" in done.stderr


def test_init_takes_the_wheels(wheels: Path, tmp_path: Path) -> None:
    made = gitops_dsf("init", "fleet", "--wheels", wheels, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "no package index has it" not in made.stdout
    text = (tmp_path / "fleet/requirements.txt").read_text("utf-8")
    named = [line for line in text.splitlines() if not line.startswith("#")]
    assert all((tmp_path / "fleet" / name).is_file() for name in named), named
    assert len(named) == 4
    copied = {path.name for path in (tmp_path / "fleet/wheels").iterdir()}
    names = ("gitops_dsf", "gitops_dsf_runtime", "gitops_dsf_scorer", "gitops_dsf_wire")
    assert copied == {f"{name}-{__version__}-py3-none-any.whl" for name in names}


def test_a_folder_without_the_wheels_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"has no gitops_dsf-{__version__}-py3-none-any.whl: run `make wheel`"
    ):
        scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",), wheels=tmp_path)
    assert not (tmp_path / "fleet").exists()


def test_verbs_with_extras(fleet: Path) -> None:
    """The image of the reconciler has no numpy, and it reads a metric store."""
    expected = {
        "reconcile --kubeconfig missing": (1, "kubeconfig missing"),
        "status --context hub --kubeconfig ../kubeconfig": (0, "clusters"),
        "backtest --prometheus http://127.0.0.1:1": (1, "127.0.0.1:1"),
    }
    with serving_on_wire(hubobjects.hub_with(hubobjects.fleet(now=datetime.now(UTC)))) as hub:
        hub.kubeconfig(fleet.parent / "kubeconfig")
        ended = endings(Path(sys.executable), list(expected), folder=fleet)
    for command, (code, said) in expected.items():
        assert ended[command].code == code, ended[command].said
        assert said in ended[command].said
        assert "Traceback" not in ended[command].said
    assert [one.numpy for one in ended.values()] == [False, False, True]
