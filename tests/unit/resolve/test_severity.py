"""How severe a finding is, and that a mistake in the settings is told there only."""

import pytest

from gitops_dsf.diagnostics import Severity
from tests.support.repositories import BASE, BY_QUERY, IMAGES, app, codes, findings, scorer


@pytest.mark.parametrize(
    ("query", "dimension", "severity"),
    [
        ("up", "${scoreName}", Severity.NOTICE),
        ("rate(up[5m])", "${scoreName}", Severity.NOTICE),
        ("sum by (node) (up)", "${scoreName}", Severity.WARNING),
        ("topk(1, sum by (node) (up))", "${scoreName}", Severity.WARNING),
        ("sum by (node, pod) (up)", "${node}", Severity.WARNING),
        ("sum without (node) (up)", "${pod}", Severity.NOTICE),
        ("avg(up); avg(down)", "${scoreName}", Severity.WARNING),
    ],
)
def test_several_series_for_one_item_are_certain_or_possible(
    query: str, dimension: str, severity: Severity
) -> None:
    text = BY_QUERY.replace("avg(up)", query) + f"  scoreDimensionFormat: '{dimension}'\n"
    assert [(item.code, item.severity) for item in findings(scorers=text)] == [("DSF136", severity)]


NOWHERE = "clusterSelector: {matchLabels: {env: prd}}"
LATER = "if clusters join later, write allowUnmatchedSelectors: true below spec in gitops-dsf.yaml"


@pytest.mark.parametrize("allowed", [False, True])
def test_what_no_cluster_matches_is_an_error_unless_clusters_may_join_later(allowed: bool) -> None:
    settings = BASE["gitops-dsf.yaml"].replace(
        "spec: {", "spec: {allowUnmatchedSelectors: true, " if allowed else "spec: {"
    )
    found = [
        *findings(settings=settings, scorers=scorer("  scoring:", f"  {NOWHERE}\n  scoring:")),
        *findings(settings=settings, apps=app("{numberOfClusters: 1}", f"{{{NOWHERE}}}")),
    ]
    severity = "warning" if allowed else "error"
    assert [(item.code, str(item.severity)) for item in found] == [
        ("DSF203", severity),
        ("DSF310", severity),
    ]
    assert [LATER in item.hint for item in found] == [not allowed] * 2


@pytest.mark.parametrize(("registry", "expected"), [(None, ["DSF191"]), ("r.example.com", [])])
def test_images_need_not_be_set_where_a_registry_has_them(
    registry: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_dsf.resolve.rules.settings.REGISTRY", registry)
    assert codes(settings=BASE["gitops-dsf.yaml"].replace(IMAGES, "")) == expected


SETTINGS = """\
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
    settings = SETTINGS.replace("MODE", mode)
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
