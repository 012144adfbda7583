"""The verb `doctor` as a program.

Exit codes, formats, what it asks of a hub, and hubs that refuse.
"""

import json
import re
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.hub.resources import CLUSTERS
from gitops_dsf.hubreader.hub import HubClient, whole
from gitops_dsf.views.doctor.examine import CHECKS
from tests.integration.hubverbs.conftest import Run, Serve
from tests.support.agent.http import Answer, PeerFault, RecordedRequest
from tests.support.apiserver import FakeApiServer
from tests.support.hubobjects import ARGOCD, PATHS, by_path, cluster, fleet, global_set, meta
from tests.support.served import serving

SECRETS = "/api/v1/secrets"
COLLECTIONS = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/operator.open-cluster-management.io/v1/clustermanagers",
    "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons",
    "/apis/work.open-cluster-management.io/v1/manifestworks",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/dynamic-scoring.open-cluster-management.io/v1alpha1/dynamicscoringconfigs",
    SECRETS,
)


@pytest.fixture
def bare(serve: Serve) -> FakeApiServer:
    """A hub that serves every kind and holds the small fleet without anything around it."""
    return with_every_kind(serve())


def with_every_kind(hub: FakeApiServer) -> FakeApiServer:
    for path in COLLECTIONS:
        hub.serve(path)
    return hub


def without_ours(hub: FakeApiServer) -> FakeApiServer:
    """Does not serve our kinds."""
    hub.served -= {path for path in hub.served if path.startswith("/apis/dynamic-scoring.")}
    return hub


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("{{ token: sekret", "the kubeconfig is not YAML (line 1)"),
        ("a: 1\n\0", "the kubeconfig is not YAML"),
        ("[]", "does not have the structure of a kubeconfig"),
        ("contexts: 5", "does not have the structure of a kubeconfig"),
        ("contexts: [{name: hub}]", "Expected key context"),
        (
            "contexts: [{name: other, context: {cluster: c, user: u}}]",
            "there is no context hub, only other",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["doctor", "status", "uninstall"])
def test_a_kubeconfig_that_is_none_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, content: str, words: str
) -> None:
    (tmp_path / "kubeconfig").write_text(content, encoding="utf-8")
    assert main([verb, "--context", "hub", "--kubeconfig", str(tmp_path / "kubeconfig")]) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert "context hub: " not in said.err.partition("context hub: ")[2], (
        "the context is named once"
    )
    assert "sekret" not in said.err
    assert said.out == ""


def test_errors_end_with_1_and_every_fix_names_the_hub(bare: FakeApiServer, run: Run) -> None:
    ran = run(without_ours(bare), "doctor")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.count("our CRDs are not there") == 1
    fixes = re.findall("fix: (?:kubectl|gitops-dsf install) (.*)", ran.stdout)
    assert len(fixes) > 2
    for fix in fixes:
        assert fix.startswith("--kubeconfig ") or "# on the cluster itself" in fix
    assert ran.stdout.splitlines()[-1].startswith(f"{len(CHECKS)} checks: ")


def test_a_hub_without_anything_of_ours_is_one_line(serve: Serve, run: Run) -> None:
    hub = with_every_kind(serve([cluster("cluster1"), global_set()]))
    ran = run(without_ours(hub), "doctor")
    assert ran.returncode == 1
    line, fix, _, summary = ran.stdout.splitlines()
    assert line == "error    installed  gitops-dsf is not installed on this hub"
    assert re.fullmatch(r" +fix: gitops-dsf install --kubeconfig \S+ --context hub", fix)
    assert summary == "1 check: 1 error, 0 warnings, 0 unknown"


class Silent(FakeApiServer):
    """Answers when its client has reported that it waits."""

    reported = threading.Event()

    def answered(self, seen: RecordedRequest) -> Answer:
        assert self.reported.wait(120), "the client reported nothing"
        return super().answered(seen)


def test_a_silent_api_server_is_reported_and_a_quick_one_is_not(
    serve: Serve, tmp_path: Path
) -> None:
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        Silent.reported.set()

    with serving(Silent(serves=by_path(fleet()))) as hub:
        path = hub.kubeconfig(tmp_path / "kubeconfig")
        with HubClient(context="hub", kubeconfig=path, quiet_seconds=0.01, report=report) as reader:
            assert reader.groups()
            assert len(reader.read(CLUSTERS, whole)) == 3
        assert lines == ["the API server of context hub is silent: waiting for up to 30 s"]
        with HubClient(context="hub", kubeconfig=path, report=report) as reader:
            assert reader.groups()
        assert len(lines) == 1


def test_warnings_count_only_when_asked(serve: Serve, run: Run) -> None:
    """Of Secrets nothing need be shown."""
    hub = with_every_kind(serve())
    hub.refused = dict.fromkeys([*PATHS.values(), *COLLECTIONS], 403)
    ran = run(hub, "doctor", "--strict")
    assert ran.returncode == 1, "what the hub refused may be wrong"
    assert "0 errors, 0 warnings" in ran.stdout
    assert (
        "needs the right to list deployments.apps in namespace open-cluster-management-hub"
        in ran.stdout
    )
    hub.refused = {}
    assert run(hub, "doctor", "--strict").returncode == 1


def test_of_secrets_only_metadata_is_ever_asked_for(bare: FakeApiServer, run: Run) -> None:
    labels = {"argocd.argoproj.io/secret-type": "cluster"}
    secret = {
        "metadata": meta("cluster-cluster1", ARGOCD, labels=labels),
        "data": {"config": "c2VjcmV0"},
    }
    bare.serve(SECRETS, secret)
    ran = run(bare, "doctor", "-o", "json")
    asked = [seen for seen in bare.seen if "/secrets" in seen.path]
    assert {seen.path for seen in asked} == {"/api/v1/namespaces/argocd/secrets"}
    assert all("as=PartialObjectMetadataList" in seen.headers["accept"] for seen in asked)
    assert "c2VjcmV0" not in ran.stdout


def test_a_hub_that_is_away_is_a_message(serve: Serve, run: Run) -> None:
    hub = serve()
    hub.before = lambda _seen: PeerFault()
    ran = run(hub, "doctor")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "does not answer" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_namespaces_can_be_others(bare: FakeApiServer, run: Run) -> None:
    run(bare, "doctor", "--hub-namespace", "scoring", "--argocd-namespace", "openshift-gitops")
    paths = {request.partition("?")[0] for request in bare.requests}
    assert any("/namespaces/scoring/dynamicscorers" in path for path in paths)
    assert any("/namespaces/openshift-gitops/applicationsets" in path for path in paths)
    assert not any("/namespaces/argocd/" in path for path in paths)


def test_a_score_that_upstream_writes_beside_our_agent_is_an_error(serve: Serve, run: Run) -> None:
    """The object still carries our label and our validUntil; only managedFields tell."""
    objects = fleet(now=datetime.now(UTC))
    shared = next(item for item in objects if item["kind"] == "AddOnPlacementScore")
    entry = {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "fieldsType": "FieldsV1",
        "subresource": "status",
    }
    entry |= {"time": "2026-06-01T12:00:00Z", "fieldsV1": {"f:status": {"f:scores": {}}}}
    ours = {**entry, "manager": "gitops-dsf-agent", "operation": "Apply"}
    shared["metadata"]["managedFields"] = [
        ours,
        {**entry, "manager": "dynamic-scoring-agent", "operation": "Update"},
    ]
    found = run(serve(objects), "doctor", "-o", "json")
    findings = [
        one for one in json.loads(found.stdout)["findings"] if one["check"] == "scores-owned"
    ]
    where = f"{shared['metadata']['namespace']}/{shared['metadata']['name']}"
    assert [one["state"] for one in findings] == ["error"]
    assert findings[0]["message"].startswith(
        f"AddOnPlacementScore {where} is written by our agent and by dynamic-scoring-agent"
    )
    assert "--show-managed-fields" in findings[0]["fix"]
