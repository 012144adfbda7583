"""Every rendered object is what the real API servers take: strictly validated, unchanged by a second apply,
read back as written.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from dsf_wire.summary import Summary
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.repository.model.repository import Egress
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.scenario.fleet import Fleet, write_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.support.rendering import metric_source

pytestmark = pytest.mark.family("kubernetes", "ocm", "argocd")

CLUSTERS = ("cluster1", "cluster2")


SOURCE = metric_source(
    "platform",
    {
        "clusterSelector": {"matchLabels": {"vendor": "OpenShift"}},
        "host": "https://thanos-querier.openshift-monitoring.svc:9091",
        "auth": {"serviceAccountToken": True, "caConfigMapRef": {"name": "ca", "key": "ca.crt"}},
    },
    {
        "host": "https://mimir.monitoring.svc:8080",
        "path": "/prometheus/api/v1/query",
        "basicAuth": {"secretRef": {"name": "mimir-login"}},
        "auth": {"clientCertificateSecretRef": {"name": "mimir-client"}},
        "headers": [
            {"name": "X-Scope-OrgID", "value": "platform"},
            {"name": "X-Api-Key", "secretRef": {"name": "mimir-api", "key": "key"}},
        ],
    },
)
SHARED = {
    "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
    "kind": "DynamicScorer",
    "metadata": {"name": "shared"},
    "spec": {
        "description": "From whatever a cluster has",
        "source": {"ref": "platform", "params": {"query": "avg(up)"}},
        "scoring": {"type": "Query", "params": {"name": "shared", "interval": 60}},
        "scoreRange": {"min": 0, "max": 1},
    },
}


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, argocd: object, git_server: GitServer
) -> Iterator[Installation]:
    fleet = Fleet(repository=git_server.create("apply"), name="apply")
    write_fleet(fleet, clusters=list(CLUSTERS), secret="api-token")
    fleet.write("config/sources.yaml", SOURCE)
    fleet.write("scorers/shared.yaml", SHARED)
    fleet.render()
    with installed(fleet, control_plane, clusters=CLUSTERS) as installation:
        yield installation


def test_a_second_apply_changes_nothing(installation: Installation) -> None:
    first = installation.apply()
    second = installation.apply()
    changed = [path for path, item in second.items() if spec_of(item) != spec_of(first[path])]
    assert changed == []
    # Controllers write status and finalizers between two applies; the generation counts changes of the spec.
    generations = {path: item["metadata"].get("generation") for path, item in first.items()}
    assert {path: item["metadata"].get("generation") for path, item in second.items()} == generations


def test_every_scalar_reads_back_as_written(installation: Installation) -> None:
    differences = []
    for path, item in installation.rendered():
        meta = item["metadata"]
        kind = f"{item['apiVersion']}/{item['kind']}"
        found = installation.hub.get(kind, meta["name"], namespace=meta.get("namespace"))
        differences += [f"{path}: {line}" for line in missing(item, found)]
    assert differences == []


def spec_of(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in {"metadata", "status"}}


def missing(wanted: Any, found: Any, where: str = "") -> list[str]:
    """Where ``found`` does not hold what ``wanted`` says; fields that only the server has are its own
    business.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            line for key, value in wanted.items() for line in missing(value, found.get(key), f"{where}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [line for index, (one, other) in pairs for line in missing(one, other, f"{where}[{index}]")]
    if wanted == found and type(wanted) is type(found):
        return []
    if not wanted and found is None and wanted in ({}, []):
        return []  # the server drops empty maps and lists of its own types
    return [f"{where}: wrote {wanted!r}, read {found!r}"]


def test_a_policy_over_the_agents_connections_is_accepted(installation: Installation) -> None:
    """It lives in ManifestWorks, whose content the hub does not look at."""
    urls = ("http://a.b.svc:9090", "http://10.0.0.7:9090", "https://[fd00::7]", "https://x.example.com")
    summaries = [Summary(name=url, score_name="s", scoring_endpoint=url) for url in urls]
    policy = egress_policy(summaries, Egress(mode="Limited", rules=[{"ports": [{"port": 8080}]}]))
    policy["metadata"]["namespace"] = "default"
    applied = installation.hub.apply(policy)
    try:
        assert len(applied["spec"]["egress"]) == len(policy["spec"]["egress"])
    finally:
        installation.hub.delete(
            "networking.k8s.io/v1/NetworkPolicy", policy["metadata"]["name"], namespace="default"
        )
