"""Rules about applications, hosts and durations: what Argo CD refuses, and what has no effect."""

import pytest

from tests.unit.resolve.test_rules import BASE, codes, findings, scorer

APPLICATION = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: NAME}
spec:
  application: {source: {repoURL: "https://git.example.com/web.git", path: .}, destinationNamespace: web}
  scores: [{scorer: cpu}]
"""
CLUSTERS = (
    BASE["clusters/c.yaml"]
    + "---\n"
    + BASE["clusters/c.yaml"].replace("prod-1, ", "edge-1, ").replace("env: prod", "env: edge")
)


def app(name: str = "web", **changes: str) -> str:
    text = APPLICATION.replace("NAME", name)
    for field, new in changes.items():
        text = text.replace({"url": "https://git.example.com/web.git", "path": "path: ."}[field], new)
    return text


def application(field: str, name: str = "web") -> str:
    """With one more field of `spec.application`."""
    return app(name).replace("destinationNamespace", f"{field}, destinationNamespace")


def hints(**changes: str) -> list[tuple[str, str]]:
    return [(item.code, item.hint) for item in findings(**changes)]


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("deploy", None),
        ("./deploy/../base", None),
        ("..a", None),
        ("/deploy", "deploy"),
        ("/", "."),
        ("../deploy", "deploy"),
        ("deploy/../../base", "base"),
        ("..", "."),
    ],
)
def test_paths_stay_inside_of_the_repository(path: str, written: str | None) -> None:
    hint = f"write path: {written}, relative to the root of the repository"
    expected = [] if written is None else [("DSF335", hint)]
    assert hints(apps=app(path=f"path: '{path}'")) == expected


SPELL_OUT = "write https://host/owner/repository.git, or git@host:owner/repository.git"


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("ssh://git@git.example.com/web.git", None),
        ("git@git.example.com:web.git", None),
        ("oci://registry.example.com/web", None),
        ("htps://git.example.com/web.git", "did you mean https://git.example.com/web.git?"),
        ("https//git.example.com/web.git", SPELL_OUT),
        ("git.example.com/web.git", SPELL_OUT),
        ("x://y", SPELL_OUT),
        ("git://git.example.com/web.git", None),
        ("oci://", SPELL_OUT),
    ],
)
def test_repositories_have_a_url_that_argocd_fetches(url: str, hint: str | None) -> None:
    assert hints(apps=app(url=url)) == ([] if hint is None else [("DSF336", hint)])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("registry.example.com/charts", []),
        ("https://charts.example.com", []),
        ("http://charts.example.com", []),
        ("htps://charts.example.com", ["DSF336"]),
    ],
)
def test_the_registry_of_a_chart_may_have_no_path_and_no_scheme(url: str, expected: list[str]) -> None:
    assert codes(apps=app(url=url, path="chart: web, targetRevision: 1.0.0")) == expected


def test_clusters_of_a_set_that_does_not_exist_are_named_together() -> None:
    label = "labels: {cluster.open-cluster-management.io/clusterset: defualt, "
    [found] = findings(clusters=CLUSTERS.replace("labels: {", label))
    assert (found.code, found.hint) == ("DSF340", "did you mean default?")
    assert found.message.startswith("edge-1 and 1 more would be in the ManagedClusterSet defualt")


def test_one_cluster_of_a_set_that_is_like_no_other() -> None:
    label = "labels: {cluster.open-cluster-management.io/clusterset: northern, "
    [found] = findings(clusters=CLUSTERS.replace("labels: {", label, 1))
    assert (found.code, found.hint) == ("DSF340", "write the set into clusters/")
    assert found.message.startswith("prod-1 would be in the ManagedClusterSet northern")


def test_a_rollout_to_no_cluster() -> None:
    entry = "{clusterSelector: {matchLabels: {env: prd}}, image: registry.example.com/agent:2}"
    settings = BASE["gitops-dsf.yaml"].replace("agent: {", f"agent: {{rollout: [{entry}], ")
    [found] = findings(settings=settings)
    assert found.code == "DSF203"
    assert found.message == "no cluster of the inventory has these labels: the entry has no effect"


NOWHERE = "clusterSelector: {matchLabels: {env: prd}}"
LATER = "if clusters join later, write allowUnmatchedSelectors: true below spec in gitops-dsf.yaml"


@pytest.mark.parametrize("allowed", [False, True])
def test_what_no_cluster_matches_is_an_error_unless_clusters_may_join_later(allowed: bool) -> None:
    settings = BASE["gitops-dsf.yaml"].replace(
        "spec: {", "spec: {allowUnmatchedSelectors: true, " if allowed else "spec: {"
    )
    found = [
        *findings(settings=settings, scorers=scorer("  scoring:", f"  {NOWHERE}\n  scoring:")),
        *findings(settings=settings, apps=app() + f"  placement: {{{NOWHERE}}}\n"),
    ]
    severity = "warning" if allowed else "error"
    assert [(item.code, str(item.severity)) for item in found] == [("DSF203", severity), ("DSF310", severity)]
    assert [LATER in item.hint for item in found] == [not allowed] * 2


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.1", True),
        ("0.0.0.0", True),
        ("[::1]", True),
        ("localhost.example.com", False),
        ("10.0.0.7", False),
    ],
)
def test_hosts_that_are_the_pod_itself(host: str, expected: bool) -> None:
    text = scorer("scoring: {", f"scoring: {{host: 'http://{host}:8000', ")
    assert codes(scorers=text) == (["DSF166"] if expected else [])
