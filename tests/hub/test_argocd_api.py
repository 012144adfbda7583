"""The recorded fields and functions of Argo CD are those of the pinned sources."""

import os

import pytest

from tests.hub.controlplane.golang import find_go
from tools.argocd_api import TARGET, content

pytestmark = [pytest.mark.family("argocd")]


def test_the_recorded_facts_are_those_of_the_pinned_sources() -> None:
    go = find_go(environment=os.environ, report=print)
    assert TARGET.read_text(encoding="utf-8") == content(str(go.program)), "python -m tools.argocd_api"
