"""Versions as image tags and labels spell them."""

import pytest

from gitops_dsf.views.doctor.facts import images_of, version_of
from tests.support.healthyhub import workload


@pytest.mark.parametrize(
    ("image", "repository", "version"),
    [
        ("quay.io/argoproj/argocd:v3.3.9", "quay.io/argoproj/argocd", "3.3.9"),
        ("registry.example.com:5000/argocd:v3.3.9@sha256:00", "registry.example.com:5000/argocd", "3.3.9"),
        ("registry.example.com:5000/argocd", "registry.example.com:5000/argocd", "None"),
        ("argocd@sha256:00", "argocd", "None"),
        ("argocd:latest", "argocd", "None"),
        ("argocd:v3.3.9-rc1", "argocd", "3.3.9rc1"),
        ("argocd:v3.3.9-debian", "argocd", "3.3.9"),
    ],
)
def test_the_parts_of_an_image(image: str, repository: str, version: str) -> None:
    item = workload("x", "y", image)
    assert (list(images_of(item)), str(version_of(item))) == ([repository], version)


def test_an_image_by_digest_is_known_by_its_label() -> None:
    item = workload("x", "y", "argocd@sha256:00")
    item["metadata"]["labels"] = {"app.kubernetes.io/version": "v3.4.1"}
    assert str(version_of(item)) == "3.4.1"
