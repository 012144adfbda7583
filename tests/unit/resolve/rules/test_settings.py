"""Images of other versions than ours, and mistakes in the settings: these are reported alone."""

import pytest

from gitops_dsf import __version__
from tests.support.repositories import (
    BASE,
    IMAGES,
    app,
    codes,
    findings,
    findings_of,
    scorer,
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


@pytest.mark.parametrize(("registry", "expected"), [(None, ["DSF191"]), ("r.example.com", [])])
def test_images_need_not_be_set_where_a_registry_has_them(
    registry: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_dsf.resolve.rules.settings.REGISTRY", registry)
    assert codes(settings=BASE["gitops-dsf.yaml"].replace(IMAGES, "")) == expected


OTHER_SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: fleet}
spec:
  git: {url: "https://git.example.com/fleet.git"}
  argocd: {namespace: openshift-gitops}
  delivery: {mode: MODE}
  allowedHosts: [metrics.example.com]
  allowedTokenHosts: [api.example.com]
  allowUnmatchedSelectors: true
  agent: {image: r.example.com/agent}
  hubScorer: {secrets: [token]}
  reconciler: {image: r.example.com/reconciler}
"""


REST = {
    "scorers": scorer(
        "interval: 60}", "interval: 60}, auth: {tokenSecretRef: {name: token, key: t}}"
    )
    .replace("http://api.svc:8000", "https://api.example.com")
    .replace(
        "  scoring:",
        "  source: {host: 'http://prom.svc', params: {query: up, range: 60, step: 60}}\n  scoring:",
    ),
    "apps": app("metadata: {name: ", "metadata: {namespace: openshift-gitops, name: "),
}


SPOKES = {
    **REST,
    "scorers": REST["scorers"].replace("configSyncMode: None", "configSyncMode: Full"),
    "locks": """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: cpu}
spec:
  configURL: https://api.example.com/config
  config: {source: {host: "https://metrics.example.com"}}
""",
}


@pytest.mark.parametrize(
    ("mode", "rest", "without_effect"),
    [
        ("ManifestWork", SPOKES, []),
        (
            "UpstreamController",
            {"scorers": REST["scorers"].partition("  scoreRange")[0]},
            ["spec.agent", "spec.hubScorer"],
        ),
    ],
)
def test_a_mistake_in_the_settings_is_told_there_only(
    mode: str, rest: dict[str, str], without_effect: list[str]
) -> None:
    """Whatever it hides, such as which hosts may get tokens: nothing else is blamed for that."""
    settings = OTHER_SETTINGS.replace("MODE", mode)
    warnings = findings(settings=settings, **rest)
    assert [item.message.partition(" has no effect")[0] for item in warnings] == without_effect
    lines = settings.splitlines()
    broken = [
        "\n".join([*lines[:index], f"{lines[index].partition(':')[0]}: 5", *lines[index + 1 :]])
        for index in range(4, len(lines))
    ]
    for text in (*broken, "kind: [", settings.replace("FleetRepository", "FleetRepositry")):
        found = findings(settings=text, **rest)
        assert found, text
        assert {item.position.file for item in found} == {"gitops-dsf.yaml"}, text
