"""Warnings of `diff`: rendered/argocd, new rights, and credentials for new hosts."""

from typing import Any

import pytest
import yaml

from tests.integration.preview.gitfleet import GitFleet, Run, application, scorer, settings
from tests.integration.preview.test_surroundings import placement
from tests.support.rendering import metric_source


def said(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "rendered/argocd" in line]


def test_a_new_namespace_of_a_placement_needs_the_project_first(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    (line,) = said(run.shown(fleet))
    assert line == (
        "- AppProject gitops-dsf in rendered/argocd, which people apply: run gitops-dsf"
        " install after"
        " the merge; until then the hub refuses what the old ones do not allow"
    )
    fleet.commit("train")
    fleet.write("apps/more.yaml", placement("more", namespace="kueue-system"))
    assert said(run.shown(fleet)) == []


def test_an_application_that_goes_is_named(fleet: GitFleet, run: Run) -> None:
    fleet.write("gitops-dsf.yaml", settings(output={"shards": 2}))
    fleet.commit("two shards")
    fleet.write("gitops-dsf.yaml", settings())
    changed, gone = said(run.shown(fleet))
    assert changed.startswith(
        "- ValidatingAdmissionPolicy gitops-dsf-applications in rendered/argocd, "
    )
    assert gone == (
        "- rendered/argocd no longer has Application gitops-dsf-works-01,"
        " which Argo CD leaves on the hub: delete it there"
    )


@pytest.mark.parametrize(
    ("before", "after", "is_told"),
    [
        ("ManifestWork", "UpstreamController", True),
        ("UpstreamController", "UpstreamController", False),
        ("UpstreamController", "ManifestWork", False),
    ],
)
def test_scores_that_our_agents_leave_to_upstreams_are_named(
    fleet: GitFleet, run: Run, before: str, after: str, is_told: bool
) -> None:
    plain = scorer("cpu")
    del plain["spec"]["scoreRange"]
    fleet.write("scorers/cpu.yaml", plain)
    fleet.write("apps/guestbook.yaml", application("guestbook", onMissingScore="Exclude"))
    fleet.write("gitops-dsf.yaml", settings(delivery={"mode": before}))
    fleet.commit("before")
    fleet.write("gitops-dsf.yaml", settings(delivery={"mode": after}, allowUnmatchedSelectors=True))
    assert ("do not renew the validUntil that ours wrote" in run.shown(fleet)) is is_told


FREE = {"query": "cpu_available_ratio", "range": 600, "step": 60}


def test_agents_that_may_read_pods_for_the_first_time_are_named_once(
    fleet: GitFleet, run: Run
) -> None:
    """A second such scorer changes nothing."""
    source = {"type": "Kubernetes", "params": {"query": FREE["query"]}}
    fleet.write("scorers/free.yaml", scorer("free", source=source))
    words = "may read all nodes and pods for the first time (scorer free): "
    assert words in run.shown(fleet)
    fleet.commit("count pods")
    fleet.write("scorers/more.yaml", scorer("more", source=source))
    assert "may read all nodes" not in run.shown(fleet)


def test_only_clusters_with_such_a_variant_are_named(fleet: GitFleet, run: Run) -> None:
    source = metric_source(
        "platform",
        {"clusterSelector": {"matchLabels": {"region": "eu"}}, "type": "Kubernetes"},
        {"host": "https://prometheus.monitoring.svc"},
    )
    fleet.write("config/sources.yaml", source)
    fleet.write("scorers/free.yaml", scorer("free", source={"ref": "platform", "params": FREE}))
    text = run.shown(fleet)
    (line,) = (line.strip() for line in text.splitlines() if "may read all nodes and pods" in line)
    assert line == (
        "- the agents of 2 clusters may read all nodes and pods for the first time"
        " (scorer free): eu-1, eu-2"
    )


def test_agents_that_may_read_claims_for_the_first_time_are_named_once(
    fleet: GitFleet, run: Run
) -> None:
    """Nodes and pods they could read before."""
    source = {"type": "Kubernetes", "params": {"query": FREE["query"]}}
    fleet.write("scorers/free.yaml", scorer("free", source=source))
    assert "ResourceClaims" not in run.shown(fleet)
    fleet.commit("count pods")
    devices = {"type": "Kubernetes", "params": {"query": "nodes_ready; devices_available"}}
    fleet.write("scorers/gpus.yaml", scorer("gpus", source=devices))
    text = run.shown(fleet)
    words = "may read all ResourceSlices and ResourceClaims for the first time (scorer gpus): "
    assert words in text
    assert "nodes and pods" not in text
    fleet.commit("count devices")
    fleet.write("scorers/more.yaml", scorer("more", source=devices))
    assert "ResourceClaims" not in run.shown(fleet)


OTEL = {"query": "cpu_load_ratio", "range": 600, "step": 60}


def allow(fleet: GitFleet, *namespaces: str) -> None:
    """Sets the receiver up in gitops-dsf.yaml."""
    settings = yaml.safe_load((fleet.path / "gitops-dsf.yaml").read_text(encoding="utf-8"))
    receiver = {"image": "prometheus:3.13", "collectorNamespaces": list(namespaces)}
    settings["spec"]["agent"] = {"openTelemetry": receiver}
    fleet.write("gitops-dsf.yaml", settings)


def test_pods_that_may_push_for_the_first_time_are_named_once(fleet: GitFleet, run: Run) -> None:
    allow(fleet, "otel")
    fleet.write(
        "scorers/load.yaml", scorer("load", source={"type": "OpenTelemetry", "params": OTEL})
    )
    text = run.shown(fleet)
    assert "get a receiver for OpenTelemetry metrics, to which pods of otel may push: " in text
    assert "may push OpenTelemetry metrics for the first time" not in text
    fleet.commit("receive metrics")
    fleet.write(
        "scorers/more.yaml", scorer("more", source={"type": "OpenTelemetry", "params": OTEL})
    )
    assert "may push" not in run.shown(fleet)
    allow(fleet, "otel", "apps")
    text = run.shown(fleet)
    assert "pods of apps may push OpenTelemetry metrics for the first time" in text


def test_a_host_that_gets_raw_scores_for_the_first_time_is_named_once(
    fleet: GitFleet, run: Run
) -> None:
    def send(url: str) -> None:
        settings = yaml.safe_load((fleet.path / "gitops-dsf.yaml").read_text(encoding="utf-8"))
        settings["spec"]["agent"] = {"remoteWrite": {"url": url, "image": "prometheus:3.16"}}
        fleet.write("gitops-dsf.yaml", settings)

    words = "gets the raw scores of managed clusters for the first time"
    send("https://store.example.com/api/v1/write")
    assert f"store.example.com {words}" in run.shown(fleet)
    fleet.commit("send raw scores")
    send("https://store.example.com/other/write")
    assert words not in run.shown(fleet)
    send("https://elsewhere.example.com/api/v1/write")
    assert f"elsewhere.example.com {words}" in run.shown(fleet)


PARAMS = {"query": "avg(up)", "range": 600, "step": 60}
TOKEN = {"tokenSecretRef": {"name": "prometheus-token", "key": "token"}}


def asking(
    name: str, host: str, auth: dict[str, Any], *, scoring: dict[str, Any] | None = None
) -> dict[str, Any]:
    source = {"type": "Prometheus", "host": host, "params": PARAMS, "auth": auth}
    return scorer(name, source=source, **({"scoring": scoring} if scoring else {}))


@pytest.fixture
def used(fleet: GitFleet) -> GitFleet:
    fleet.write("scorers/cpu.yaml", asking("cpu", "https://prometheus.example.com", TOKEN))
    fleet.commit("with a token")
    return fleet


def test_added_scorers_show_what_they_send_where(used: GitFleet, run: Run) -> None:
    """Variants of a source and OAuth2 count, too; a Secret that was in use is a warning."""
    scoring = {
        "host": "http://api.scoring.svc",
        "params": {"name": "more", "interval": 60},
        "auth": {"serviceAccountToken": True},
    }
    oauth2 = {
        "tokenURL": "https://login.example.com/token",
        "clientSecretRef": {"name": "prometheus-token"},
    }
    auth = {"oauth2": oauth2, "clientCertificateSecretRef": {"name": "pair"}}
    used.write(
        "scorers/more.yaml",
        asking("more", "https://collector.example.net", TOKEN, scoring=scoring),
        asking("oauth", "https://thanos.monitoring.svc", auth),
        scorer("varied", source={"ref": "platform", "params": PARAMS}),
    )
    source = metric_source(
        "platform",
        {
            "clusterSelector": {"matchLabels": {"region": "eu"}},
            "host": "https://own.monitoring.svc",
            "auth": {"serviceAccountToken": True},
        },
        {
            "host": "https://rest.monitoring.svc",
            "auth": {"tokenSecretRef": {"name": "t", "key": "k"}},
        },
    )
    used.write("config/sources.yaml", source)
    formats = run.formats(used)
    text = formats.text
    client = "the client secret in Secret prometheus-token"
    token = "an access token of the client in Secret prometheus-token"
    for line in (
        "- sends the token in Secret prometheus-token to https://collector.example.net (source)",
        "- sends the token of the agent's pod to http://api.scoring.svc (scoring)",
        (
            "collector.example.net gets the token in Secret prometheus-token for the first"
            " time (scorer more)"
        ),
        "- sends the token of the agent's pod to https://own.monitoring.svc (source)",
        "- sends the token in Secret t to https://rest.monitoring.svc (source)",
        f"- sends {client} to https://login.example.com (source)",
        f"- sends {token} to https://thanos.monitoring.svc (source)",
        "- sends the client certificate in Secret pair to https://thanos.monitoring.svc (source)",
        f"login.example.com gets {client} for the first time (scorer oauth)",
    ):
        assert line in text
    more, oauth, _ = formats.comparison["scorers"]
    sent = {"section": "source", "kind": "token", "secret": "prometheus-token"}
    assert {**sent, "to": "https://collector.example.net"} in more["credentials"]
    kinds = {one["kind"] for one in oauth["credentials"]}
    assert kinds == {"client secret", "access token", "client certificate"}
    assert "sends the token in Secret prometheus" in formats.comment


def test_what_the_reconciler_sends_to_pages_is_shown(used: GitFleet, run: Run) -> None:
    """When it gets the Secret, though no scorer changed, and when the page is elsewhere."""
    scoring = {
        "host": "http://api.scoring.svc:8000",
        "params": {"name": "cpu", "interval": 60},
        "auth": {"tokenSecretRef": {"name": "api", "key": "token"}},
    }
    used.write("scorers/cpu.yaml", scorer("cpu", scoring=scoring))
    used.commit("with a token for the API")
    given = {"configCredentials": ["api"]}
    used.write("gitops-dsf.yaml", settings(reconciler=given))
    assert "- sends the token in Secret api to http://api.scoring.svc (configURL)" in run.shown(
        used
    )
    used.commit("with the Secret for the reconciler")
    used.write(
        "scorers/cpu.yaml",
        scorer("cpu", scoring=scoring, configURL="https://pages.example.com/config"),
    )
    assert "pages.example.com gets" not in run.shown(used)
    used.write(
        "gitops-dsf.yaml", settings(reconciler=given, allowedTokenHosts=["pages.example.com"])
    )
    text = run.shown(used)
    assert "- sends the token in Secret api to https://pages.example.com (configURL)" in text
    assert "pages.example.com gets the token in Secret api for the first time (scorer cpu)" in text
