"""An object with a mistake is left out, and nothing else is blamed for what it hides."""

from pathlib import Path

import pytest

from gitops_dsf.pipeline import check
from tests.unit.resolve.test_rules import BASE, findings, masks, scorer
from tests.unit.resolve.test_rules_elsewhere import APP, app, judged


def test_nothing_is_concluded_from_what_was_cut_out() -> None:
    text = scorer(
        "  scoreRange: {min: 0, max: 1}",
        "  scoreRange: {min: zero, max: 1}\n  suspend: 'true'\n  scoreTTLSeconds: soon",
    )
    assert [item.code for item in findings(scorers=text, apps=APP)] == ["DSF015"] * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: DynamicScorer\n", ""),
        ("kind: DynamicScorer", "kind: 5"),
        ("kind: DynamicScorer", "kind: dynamicscorer"),
        ("metadata: {name: cpu}", "metadata: {}"),
        ("metadata: {name: cpu}", "metadata:"),
        ("metadata: {name: cpu}", "metadata: {name: CPU}"),
        ("metadata: {name: cpu}", "metadata: {name: 5}"),
    ],
)
def test_a_scorer_that_cannot_be_told_apart_is_one_mistake(old: str, new: str) -> None:
    found = findings(
        scorers=scorer(old, new), apps=APP, config=masks("{clusterName: prod-1, scoreName: cpu_score}")
    )
    assert len(found) == 1


def test_a_document_that_cannot_be_read_excuses_its_own_folder_only() -> None:
    broken = "kind: [\n"
    assert [
        item.code
        for item in findings(apps=broken, config=masks("{clusterName: prod-2, scoreName: cpu_score}"))
    ] == [
        "DSF001",
        "DSF201",
    ]
    assert [item.code for item in findings(scorers=broken, apps=APP)] == ["DSF001"]


@pytest.mark.parametrize("stickiness", [0, 20])
def test_an_application_that_nothing_ranks_is_an_error(stickiness: int) -> None:
    text = app("[{scorer: cpu}]", f"[{{scorer: cpu, weight: «0}}]\n  stickiness: {stickiness}")
    found, places = judged({"apps": text})
    assert [(item.code, item.message) for item in found] == [
        ("DSF016", "every weight is 0: nothing ranks the clusters")
    ]
    assert places == {(found[0].position.line, found[0].position.column)}


def test_an_empty_folder_is_one_mistake(tmp_path: Path) -> None:
    """That the settings are missing there, too, is not said."""
    assert [item.code for item in check(tmp_path).diagnostics] == ["DSF010"]
    (tmp_path / "scorers").mkdir()
    (tmp_path / "scorers" / "cpu.yaml").write_text(BASE["scorers/s.yaml"])
    assert "DSF023" in [item.code for item in check(tmp_path).diagnostics]


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
    "scorers": scorer("interval: 60}", "interval: 60}, auth: {tokenSecretRef: {name: token, key: t}}")
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
    ("mode", "rest"),
    [
        ("ManifestWork", SPOKES),
        ("UpstreamController", {"scorers": REST["scorers"].partition("  scoreRange")[0]}),
    ],
)
def test_a_mistake_in_the_settings_is_told_there_only(mode: str, rest: dict[str, str]) -> None:
    """Whatever it hides, such as which hosts may get tokens: nothing else is blamed for that."""
    settings = SETTINGS.replace("MODE", mode)
    assert findings(settings=settings, **rest) == []
    lines = settings.splitlines()
    broken = [
        "\n".join([*lines[:index], f"{lines[index].partition(':')[0]}: 5", *lines[index + 1 :]])
        for index in range(4, len(lines))
    ]
    for text in (*broken, "kind: [", settings.replace("FleetRepository", "FleetRepositry")):
        found = findings(settings=text, **rest)
        assert found, text
        assert {item.position.file for item in found} == {"gitops-dsf.yaml"}, text


def test_what_is_wrong_whatever_the_settings_say_is_told_beside_a_mistake_in_them() -> None:
    reserved = scorer(
        "interval: 60}", "interval: 60}, auth: {tokenSecretRef: {name: hub-kubeconfig, key: t}}"
    )
    settings = SETTINGS.replace("MODE", "5")
    assert [item.code for item in findings(settings=settings, scorers=reserved)] == ["DSF016", "DSF126"]
