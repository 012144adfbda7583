"""What `diff` says of credentials: which an added scorer sends where, and which host gets a Secret that was
in use.
"""

from typing import Any

import pytest

from tests.integration.preview.gitfleet import GitFleet, Run, scorer, settings
from tests.support.rendering import metric_source

TOKEN = {"tokenSecretRef": {"name": "prometheus-token", "key": "token"}}


def asking(
    name: str, host: str, auth: dict[str, Any], *, scoring: dict[str, Any] | None = None
) -> dict[str, Any]:
    source = {
        "type": "Prometheus",
        "host": host,
        "params": {"query": "avg(up)", "range": 600, "step": 60},
        "auth": auth,
    }
    return scorer(name, source=source, **({"scoring": scoring} if scoring else {}))


@pytest.fixture
def used(fleet: GitFleet) -> GitFleet:
    fleet.write("scorers/cpu.yaml", asking("cpu", "https://prometheus.example.com", TOKEN))
    fleet.commit("with a token")
    return fleet


def test_an_added_scorer_shows_its_credentials(used: GitFleet, run: Run) -> None:
    scoring = {
        "host": "http://api.scoring.svc",
        "params": {"name": "more", "interval": 60},
        "auth": {"serviceAccountToken": True},
    }
    used.write("scorers/more.yaml", asking("more", "https://collector.example.net", TOKEN, scoring=scoring))
    text = run.shown(used)
    assert "- sends the token in Secret prometheus-token to https://collector.example.net (source)" in text
    assert "- sends the token of the agent's pod to http://api.scoring.svc (scoring)" in text
    assert (
        "collector.example.net gets the token in Secret prometheus-token for the first time (scorer more)"
        in text
    )
    (change,) = run.compared(used)["scorers"]
    assert {
        "section": "source",
        "kind": "token",
        "secret": "prometheus-token",
        "to": "https://collector.example.net",
    } in change["credentials"]
    assert "sends the token in Secret prometheus" in run.shown(used, "-o", "markdown")


def test_the_credentials_of_each_variant_of_a_source_are_shown(used: GitFleet, run: Run) -> None:
    variants = [
        {
            "clusterSelector": {"matchLabels": {"region": "eu"}},
            "host": "https://thanos.monitoring.svc",
            "auth": {"serviceAccountToken": True},
        },
        {"host": "https://prometheus.monitoring.svc", "auth": {"tokenSecretRef": {"name": "t", "key": "k"}}},
    ]
    source = metric_source("platform", *variants)
    params = {"query": "avg(up)", "range": 600, "step": 60}
    used.write("config/sources.yaml", source)
    used.write("scorers/more.yaml", scorer("more", source={"ref": "platform", "params": params}))
    text = run.shown(used)
    assert "- sends the token of the agent's pod to https://thanos.monitoring.svc (source)" in text
    assert "- sends the token in Secret t to https://prometheus.monitoring.svc (source)" in text


def test_a_token_server_and_who_gets_its_tokens_are_shown(used: GitFleet, run: Run) -> None:
    """A Secret that was in use goes to a token server for the first time: that is a concern."""
    auth = {
        "oauth2": {
            "tokenURL": "https://login.example.com/token",
            "clientSecretRef": {"name": "prometheus-token"},
        },
        "clientCertificateSecretRef": {"name": "pair"},
    }
    used.write("scorers/more.yaml", asking("more", "https://thanos.monitoring.svc", auth))
    text = run.shown(used)
    client = "the client secret in Secret prometheus-token"
    token = "an access token of the client in Secret prometheus-token"
    assert f"- sends {client} to https://login.example.com (source)" in text
    assert f"- sends {token} to https://thanos.monitoring.svc (source)" in text
    assert "- sends the client certificate in Secret pair to https://thanos.monitoring.svc (source)" in text
    assert f"login.example.com gets {client} for the first time (scorer more)" in text
    (change,) = run.compared(used)["scorers"]
    assert {one["kind"] for one in change["credentials"]} == {
        "client secret",
        "access token",
        "client certificate",
    }


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
