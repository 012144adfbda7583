"""Links are followed inside a commit, and end there."""

import pytest

from gitops_dsf.reconciler.git.clone import link_target

FILES = {"shared/all.yaml", "clusters/a.yaml"}
LINKS = {
    "clusters/b.yaml": "a.yaml",
    "clusters/c.yaml": "../shared/./all.yaml",
    "clusters/d.yaml": "c.yaml",
    "clusters/out.yaml": "../../etc/passwd",
    "clusters/root.yaml": "/etc/passwd",
    "clusters/self.yaml": "self.yaml",
    "clusters/folder.yaml": "../shared",
}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("clusters/a.yaml", "clusters/a.yaml"),
        ("clusters/b.yaml", "clusters/a.yaml"),
        ("clusters/c.yaml", "shared/all.yaml"),
        ("clusters/d.yaml", "shared/all.yaml"),
        ("clusters/out.yaml", None),
        ("clusters/root.yaml", None),
        ("clusters/self.yaml", None),
        ("clusters/folder.yaml", None),
        ("clusters/none.yaml", None),
    ],
)
def test_a_link_leads_to_a_file_of_the_commit_or_nowhere(path: str, target: str | None) -> None:
    assert link_target(path, links=LINKS, files=FILES) == target
