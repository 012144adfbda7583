"""Versions as image tags and labels spell them."""

import pytest

from gitops_dsf.views.doctor.version import Version, repository_of, tag_of, versions_of
from tests.support.healthyhub import workload


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("quay.io/argoproj/argocd:v3.3.9", "quay.io/argoproj/argocd", "v3.3.9"),
        ("registry.example.com:5000/argocd:v3.3.9@sha256:00", "registry.example.com:5000/argocd", "v3.3.9"),
        ("registry.example.com:5000/argocd", "registry.example.com:5000/argocd", ""),
        ("argocd@sha256:00", "argocd", ""),
        ("argocd:latest", "argocd", "latest"),
    ],
)
def test_the_parts_of_an_image(image: str, repository: str, tag: str) -> None:
    assert (repository_of(image), tag_of(image)) == (repository, tag)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.3.9", Version(3, 3, 9)),
        ("1.2", Version(1, 2)),
        ("v3.3.9-rc1", Version(3, 3, 9, final=False)),
        ("v3.3.9+build", Version(3, 3, 9)),
        ("v3.3.9-debian", Version(3, 3, 9)),
        ("latest", None),
        ("", None),
        ("3", None),
    ],
)
def test_reading(text: str, version: Version | None) -> None:
    assert Version.read(text) == version


def test_order() -> None:
    assert Version(3, 3, 9, final=False) < Version(3, 3, 9) < Version(3, 3, 10) < Version(3, 10)


def test_an_image_by_digest_is_known_by_its_label() -> None:
    item = workload("x", "y", "argocd@sha256:00")
    item["metadata"]["labels"] = {"app.kubernetes.io/version": "v3.4.1"}
    assert list(versions_of(item)) == [Version(3, 4, 1)]
    assert list(versions_of(workload("x", "y", "argocd:latest"))) == []
