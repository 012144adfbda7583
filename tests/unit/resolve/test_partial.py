"""One mistake in a document hides no other: what is malformed is looked at, too, and blamed for nothing that
follows from it.
"""

from pathlib import Path

import pytest

from gitops_dsf.pipeline import check
from tests.unit.resolve.test_rules import BASE, findings, masks, scorer
from tests.unit.resolve.test_rules_elsewhere import APP, app, judged

BAD_QUERY = "  source: {host: 'http://prom.svc', params: {query: 'sum(«', range: 60, step: 60}}\n  scoreRange"
PROMQL = scorer("  scoreRange", BAD_QUERY)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("scoreRange: {min: 0, max: 1}", "scoreRange: {min: 0, max: 1}\n  unknown: 1", "DSF013"),
        ("interval: 60", "interval: '60'", "DSF015"),
        ("interval: 60", "interval: 017", "DSF004"),
        ("interval: 60", "interval: -1", "DSF107"),
        ("  description: d\n", "", "DSF014"),
        ("  configURL: http://api.svc:8000/config\n", "", "DSF014"),
        ("{min: 0, max: 1}", "{min: 1, max: 0}", "DSF016"),
        ("metadata: {name: cpu}", "metadata: {name: Not_A_Name}", "DSF016"),
    ],
)
def test_the_query_is_checked_whatever_else_is_wrong(old: str, new: str, code: str) -> None:
    found, places = judged({"scorers": PROMQL.replace(old, new)})
    assert sorted(item.code for item in found) == sorted(["DSF109", code])
    assert places == {(item.position.line, item.position.column) for item in found if item.code == "DSF109"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {
                "apps": app("numberOfClusters: 1", "numberOfClusters: '1'").replace(
                    "scorer: cpu", "scorer: «other"
                )
            },
            ["DSF015", "DSF301"],
        ),
        ({"apps": app("numberOfClusters: 1", "clusterSets: [«other], unknown: 1")}, ["DSF013", "DSF309"]),
        (
            {
                "apps": app("https://git", "«https://u:p@git")
                .replace("path: deploy", "path: 5")
                .replace('"«', '«"')
            },
            ["DSF104", "DSF015"],
        ),
        (
            {"config": masks("{clusterName: «prod-2, scoreName: cpu_score, unknown: 1}")},
            ["DSF013", "DSF201"],
        ),
        (
            {
                "settings": BASE["gitops-dsf.yaml"]
                .replace('"https://git', '«"https://u:p@git')
                .replace("spec: {", "spec: {x: 1, ")
            },
            ["DSF013", "DSF104"],
        ),
    ],
)
def test_references_and_urls_of_other_kinds_are_checked(changes: dict[str, str], expected: list[str]) -> None:
    found, places = judged(changes)
    assert sorted(item.code for item in found) == sorted(expected)
    assert places <= {(item.position.line, item.position.column) for item in found}


def test_nothing_is_concluded_from_what_was_cut_out() -> None:
    text = scorer(
        "  scoreRange: {min: 0, max: 1}",
        "  scoreRange: {min: zero, max: 1}\n  suspend: 'true'\n  scoreTTLSeconds: soon",
    )
    assert [item.code for item in findings(scorers=text, apps=APP)] == ["DSF015"] * 3


def test_a_mistake_in_one_item_of_a_list_leaves_the_places_of_the_others() -> None:
    text = masks("{clusterName: prod-1, scoreName: 5}, {clusterName: «prod-2, scoreName: cpu_score}")
    found, places = judged({"config": text})
    assert [item.code for item in found] == ["DSF015", "DSF201"]
    assert places == {(found[1].position.line, found[1].position.column)}


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
