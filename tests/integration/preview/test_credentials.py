"""What `diff` says of credentials: which an added scorer sends where, and which host gets a Secret that was
in use.
"""

from typing import Any

import pytest

from tests.integration.preview.gitfleet import GitFleet, Run, scorer, settings
from tests.support.rendering import metric_source

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
    """Also of each variant of a source, and of OAuth2. A Secret that was in use is a concern elsewhere."""
    scoring = {
        "host": "http://api.scoring.svc",
        "params": {"name": "more", "interval": 60},
        "auth": {"serviceAccountToken": True},
    }
    oauth2 = {"tokenURL": "https://login.example.com/token", "clientSecretRef": {"name": "prometheus-token"}}
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
        {"host": "https://rest.monitoring.svc", "auth": {"tokenSecretRef": {"name": "t", "key": "k"}}},
    )
    used.write("config/sources.yaml", source)
    text = run.shown(used)
    client = "the client secret in Secret prometheus-token"
    token = "an access token of the client in Secret prometheus-token"
    for line in (
        "- sends the token in Secret prometheus-token to https://collector.example.net (source)",
        "- sends the token of the agent's pod to http://api.scoring.svc (scoring)",
        "collector.example.net gets the token in Secret prometheus-token for the first time (scorer more)",
        "- sends the token of the agent's pod to https://own.monitoring.svc (source)",
        "- sends the token in Secret t to https://rest.monitoring.svc (source)",
        f"- sends {client} to https://login.example.com (source)",
        f"- sends {token} to https://thanos.monitoring.svc (source)",
        "- sends the client certificate in Secret pair to https://thanos.monitoring.svc (source)",
        f"login.example.com gets {client} for the first time (scorer oauth)",
    ):
        assert line in text
    more, oauth, _ = run.compared(used)["scorers"]
    sent = {"section": "source", "kind": "token", "secret": "prometheus-token"}
    assert {**sent, "to": "https://collector.example.net"} in more["credentials"]
    kinds = {one["kind"] for one in oauth["credentials"]}
    assert kinds == {"client secret", "access token", "client certificate"}
    assert "sends the token in Secret prometheus" in run.shown(used, "-o", "markdown")


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
    assert "- sends the token in Secret api to http://api.scoring.svc (configURL)" in run.shown(used)
    used.commit("with the Secret for the reconciler")
    used.write(
        "scorers/cpu.yaml", scorer("cpu", scoring=scoring, configURL="https://pages.example.com/config")
    )
    assert "pages.example.com gets" not in run.shown(used)
    used.write("gitops-dsf.yaml", settings(reconciler=given, allowedTokenHosts=["pages.example.com"]))
    text = run.shown(used)
    assert "- sends the token in Secret api to https://pages.example.com (configURL)" in text
    assert "pages.example.com gets the token in Secret api for the first time (scorer cpu)" in text
