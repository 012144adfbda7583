"""The recorded fields and functions of Argo CD are those of the pinned sources."""

import pytest

from tests.hub.controlplane.golang import find_go
from tools.argocd_api import TARGET, content

pytestmark = [pytest.mark.family("argocd")]


def test_the_recorded_facts_are_those_of_the_pinned_sources() -> None:
    expected = content(str(find_go().program))
    assert TARGET.read_text(encoding="utf-8") == expected, "python -m tools.argocd_api"
