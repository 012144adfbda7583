"""Which tests `make check` runs after a change."""

import subprocess
from pathlib import Path

import pytest

from tools.changed import changed, concerned

TESTS = {
    "tests/support/hub.py": "from gitops_dsf.reconciler.hub.api import HubApi\n",
    "tests/unit/plan/test_shards.py": "from gitops_dsf.plan import shards\n",
    "tests/unit/plan/test_build.py": "from gitops_dsf.plan.build import (\n    Plan,\n    build,\n)\n",
    "tests/integration/test_lease.py": "from tests.support.hub import Hub\n",
    "tests/integration/render/test_kill.py": "import subprocess\n",
    "tests/contract/test_docs.py": 'PAGE = ROOT / "docs" / "agent.md"\n',
    "tests/contract/test_decisions.py": 'INDEX = ROOT / "docs/decisions" / "README.md"\n',
    "tests/contract/test_examples.py": 'FIRST = (ROOT / "README.md").read_text()\n',
    "tests/unit/scorer/test_surface.py": "import dsf_scorer\n",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/unit/plan/test_shards.py", ["tests/unit/plan/test_shards.py"]),
        ("gitops_dsf/plan/shards.py", ["tests/unit/plan/test_shards.py"]),
        ("gitops_dsf/plan/build.py", ["tests/unit/plan/test_build.py"]),
        ("gitops_dsf/reconciler/hub/api.py", ["tests/integration/test_lease.py"]),
        ("tests/support/hub.py", ["tests/integration/test_lease.py"]),
        ("gitops_dsf/cli/render.py", ["tests/integration/render/test_kill.py"]),
        ("docs/agent.md", ["tests/contract/test_docs.py"]),
        ("docs/decisions/README.md", ["tests/contract/test_decisions.py"]),
        ("README.md", ["tests/contract/test_examples.py"]),
        ("repo-template/README.md", []),
        ("gitops_dsf/repository/model/scorer.py", []),
        ("gitops_dsf/nobody.py", []),
    ],
)
def test_what_a_change_concerns(path: str, expected: list[str]) -> None:
    files = ["README.md", "docs/agent.md", "docs/decisions/README.md", "repo-template/README.md"]
    assert concerned([path], TESTS, files=files) == expected


def test_what_changed_is_committed_or_not(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    for name in ("same", "committed", "edited", "deleted"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    git("switch", "--quiet", "--create", "topic")
    (tmp_path / "committed").write_text("2")
    git("commit", "--quiet", "--all", "--message", "Change")
    (tmp_path / "edited").write_text("2")
    (tmp_path / "new").write_text("1")
    (tmp_path / "deleted").unlink()
    assert changed(tmp_path) == {"committed", "edited", "new"}
