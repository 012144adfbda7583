"""Images of other versions than ours."""

import pytest

from gitops_dsf import __version__
from tests.support.repositories import (
    BASE,
    findings_of,
)

SETTINGS = BASE["gitops-dsf.yaml"]


class TestVersionsOfImages:
    @pytest.mark.parametrize(
        ("image", "counts"),
        [
            ("registry.example.com/gitops-dsf-agent:0.0.1", 1),
            ("registry.example.com:5000/team/gitops-dsf-agent:v0.0.1", 1),
            ("registry.example.com/gitops-dsf-agent:OURS", 0),
            ("registry.example.com/gitops-dsf-agent:vOURS", 0),
            ("registry.example.com/gitops-dsf-agent:main", 0),
            ("registry.example.com/gitops-dsf-agent", 0),
            (f"registry.example.com/gitops-dsf-agent@sha256:{'a' * 64}", 0),
            (f"registry.example.com/gitops-dsf-agent:0.0.1@sha256:{'a' * 64}", 1),
            # An image of their own, with its own versions.
            ("registry.example.com/our-agent:7.1.0", 0),
        ],
    )
    def test_of_the_agent(self, image: str, counts: int) -> None:

        image = image.replace("OURS", __version__)
        settings = SETTINGS.replace("{image: r.example.com/agent}", f"{{image: '{image}'}}")
        assert image in settings
        found = findings_of("DSF194", settings=settings)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message.startswith(
                "spec.agent.image is version 0.0.1, and this gitops-dsf is "
            )

    def test_of_the_reconciler_and_not_of_a_rollout(self) -> None:
        """A rollout has another version on purpose."""
        settings = SETTINGS.replace(
            "r.example.com/reconciler", "r.example.com/gitops-dsf-reconciler:0.0.1"
        )
        assert len(findings_of("DSF194", settings=settings)) == 1
        image = "image: 'r.example.com/gitops-dsf-agent:0.0.1'"
        rollout = f"rollout: [{{clusterSelector: {{matchLabels: {{env: prod}}}}, {image}}}]"
        settings = SETTINGS.replace(
            "{image: r.example.com/agent}", f"{{image: r.example.com/agent, {rollout}}}"
        )
        assert findings_of("DSF194", settings=settings) == []
