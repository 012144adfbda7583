"""The recorded facts about Argo CD are those of the version that the hub suite pins, and what the code says
about functions holds for them. `tests/hub/test_argocd_api.py` compares all of them with the sources.
"""

import re
from pathlib import Path

import pytest

from gitops_dsf.argocd import api
from gitops_dsf.argocd.fields import part
from gitops_dsf.argocd.gotemplate.plain import PLAIN

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("argocd", "github.com/argoproj/argo-cd/v3"),
        ("sprig", "github.com/Masterminds/sprig/v3"),
        ("ocm", "open-cluster-management.io/api"),
    ],
)
def test_the_versions_are_the_pinned_ones(name: str, module: str) -> None:
    text = (ROOT / "tests" / "hub" / "go.mod").read_text("utf-8")
    pinned = re.search(rf"^\s+{re.escape(module)} (v\S+)", text, re.MULTILINE)
    assert pinned is not None
    assert api()[name] == pinned[1], "run python -m tools.argocd_api"


def test_argocd_has_every_plain_function() -> None:
    assert set(api()["functions"]) >= set(PLAIN)
    assert set(api()["functions"]).isdisjoint({"env", "expandenv", "getHostByName"})


def test_the_fields_that_rules_read_are_there() -> None:
    assert set(part("template", "spec", "source")["properties"]) > {
        "helm",
        "kustomize",
        "directory",
        "plugin",
    }
    assert "automated" in part("template", "spec", "syncPolicy")["properties"]
