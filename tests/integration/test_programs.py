"""Verbs as processes of their own; the other tests run their code in the test's process
(tests.support.commandline). Those that need no extra run in the environment that the pipeline of a
new fleet installs.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.errors import UsageError
from tests.support import hubobjects
from tests.support.apiserver import serving
from tests.support.commandline import gitops_dsf, output_of, program

pytestmark = pytest.mark.real_time  # every verb is a process

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
COMMANDS = [
    ("validate --strict", "no mistakes found"),
    ("test", "1 test passed"),
    ("simulate --scores ../scores.yaml", "1 AddOnPlacementScore"),
    ("explain raw-guestbook eu-west-1 --scores ../scores.yaml", "eu-west-1"),
    ("diff --base HEAD --state-branch gitops-dsf-state", "1 AddOnPlacementScore"),
    ("import --from ../hub.yaml --dry-run", "1 would be added"),
]


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


@pytest.mark.parametrize(("command", "said"), COMMANDS)
def test_a_verb_without_extras(
    fleet: Path, pipeline_programs: Path, command: str, said: str
) -> None:
    done = run(pipeline_programs, *command.split(), folder=fleet)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("status --context hub", "live"),
        ("diff --base HEAD --context hub", "live"),
        ("sync", "live"),
        ("scorer try cpu-headroom --prometheus http://127.0.0.1:9", "try"),
    ],
)
def test_a_verb_that_asks_somebody_names_its_extra(
    fleet: Path, pipeline_programs: Path, command: str, extra: str
) -> None:
    done = run(pipeline_programs, *command.split(), folder=fleet)
    assert done.returncode == 1, done.stderr
    assert f"needs the extra {extra} (docs/start/install.md)" in done.stderr


def test_the_reconciler_needs_no_numpy(tmp_path: Path) -> None:
    """Its image has none, and it reads a metric store."""
    text = "import sys, gitops_dsf.reconciler.run; print('numpy' in sys.modules)"
    assert output_of(sys.executable, "-c", text, cwd=tmp_path).strip() == "False"


def run(programs: Path, *words: str, folder: Path) -> CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return program(programs / "gitops-dsf", *words, cwd=folder, environ=environment)


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


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("backtest --prometheus http://127.0.0.1:1", 1, "127.0.0.1:1"),
        ("reconcile --kubeconfig missing", 1, "kubeconfig missing"),
        ("status --context hub --kubeconfig ../kubeconfig", 0, "clusters"),
    ],
)
def test_a_verb_with_extras(fleet: Path, command: str, code: int, said: str) -> None:
    with serving(hubobjects.hub_with(hubobjects.fleet(now=datetime.now(UTC)))) as hub:
        hub.kubeconfig(fleet.parent / "kubeconfig")
        done = program(sys.executable, "-m", "gitops_dsf", *command.split(), cwd=fleet)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
