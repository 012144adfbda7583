"""A file that somebody adds to rendered/: `diff` shows it before everything else, for the working tree and
for a revision.
"""

from typing import Any

import pytest

from gitops_dsf.cli.main import main
from tests.integration.preview.gitfleet import GitFleet, Run, scorer

ADMIN = "rendered/platform/admin.yaml"


@pytest.fixture
def attacked(fleet: GitFleet) -> GitFleet:
    """The base is rendered; the change adds a ClusterRoleBinding, and names it in INVENTORY, too."""
    assert main(["render", str(fleet.path)]) == 0
    fleet.commit("rendered")
    fleet.git("checkout", "--quiet", "-b", "change")
    binding: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "admin"},
    }
    fleet.write(ADMIN, binding)
    with (fleet.path / "rendered/INVENTORY").open("a") as inventory:
        inventory.write("platform/admin.yaml\n")
    return fleet


@pytest.mark.parametrize("head", [[], ["--head", "change"]])
def test_a_foreign_file_comes_first(attacked: GitFleet, run: Run, head: list[str]) -> None:
    attacked.commit("add an administrator")
    text = run.shown(attacked, *head)
    assert text.splitlines()[4:7] == [
        (
            "**Foreign files**: 1 file that no source renders to; Argo CD would apply what is in rendered/,"
            " so remove them before merging"
        ),
        "",
        f"- `{ADMIN}`",
    ]
    found = run.json("diff", attacked.path, "--base", "main", *head, "--exit-code", code=1)
    assert found["foreignFiles"] == ["platform/admin.yaml"]
    markdown = run.shown(attacked, *head, "-o", "markdown")
    assert markdown.index(ADMIN) < markdown.index("| scorers")


def test_a_tree_that_is_not_rendered_yet_is_not_foreign(fleet: GitFleet, run: Run) -> None:
    assert main(["render", str(fleet.path)]) == 0
    fleet.commit("rendered")
    fleet.write("scorers/cpu.yaml", scorer("load"))
    (fleet.path / "apps/guestbook.yaml").unlink()
    assert "Foreign" not in run.shown(fleet)
