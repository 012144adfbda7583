"""The link from generated Applications to the board of the fleet."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.rendering import application, objects, rendered, scorer

STATE = {"enabled": True, "state": {"enabled": True}, "gitSecret": {"name": "push"}}


def annotations(root: Path, *, url: str, reconciler: dict[str, Any], **app: Any) -> Any:
    result = rendered(
        root,
        scorer("cpu"),
        application("web", **app),
        git={"url": url, "targetRevision": "main"},
        reconciler=reconciler,
    )
    documents = objects(result).values()
    (application_set,) = [item for item in documents if item["kind"] == "ApplicationSet"]
    return application_set["spec"]["template"]["metadata"].get("annotations")


@pytest.mark.parametrize(
    ("url", "more", "page"),
    [
        (
            "https://github.com/acme/fleet.git",
            {},
            "https://github.com/acme/fleet/blob/gitops-dsf-state/README.md",
        ),
        (
            "git@gitlab.com:acme/platform/fleet.git",
            {},
            "https://gitlab.com/acme/platform/fleet/-/blob/gitops-dsf-state/README.md",
        ),
        (
            "https://git.example.com:8443/acme/fleet",
            {"proposals": {"forge": "Gitea"}},
            "https://git.example.com:8443/acme/fleet/src/branch/gitops-dsf-state/README.md",
        ),
    ],
)
def test_applications_link_to_the_board(
    tmp_path: Path, url: str, more: dict[str, Any], page: str
) -> None:
    found = annotations(tmp_path, url=url, reconciler=STATE | more)
    assert found == {"link.argocd.argoproj.io/fleet": f"Fleet|{page}"}


@pytest.mark.parametrize(
    ("url", "reconciler"),
    [
        ("https://github.com/acme/fleet.git", {"enabled": True}),
        ("https://git.example.com/acme/fleet.git", STATE),
    ],
    ids=["no state branch", "a forge that is not known"],
)
def test_without_a_board_nothing_changes(
    tmp_path: Path, url: str, reconciler: dict[str, Any]
) -> None:
    assert annotations(tmp_path, url=url, reconciler=reconciler) is None


def test_a_pulled_application_has_only_what_ocm_reads(tmp_path: Path) -> None:
    found = annotations(
        tmp_path,
        url="https://github.com/acme/fleet.git",
        reconciler=STATE,
        application={
            "source": {"repoURL": "https://git.example.com/a.git", "path": "a"},
            "destinationNamespace": "a",
            "delivery": "Pull",
        },
    )
    assert set(found) == {
        "apps.open-cluster-management.io/ocm-managed-cluster",
        "argocd.argoproj.io/skip-reconcile",
    }
