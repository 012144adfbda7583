"""`validate` and Argo CD agree about applications: 200 with mistakes and without, through Argo CD's own CRD,
clusterDecisionResource generator and templates.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.render.delivery import application_set, decision_readers
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.types import Resolved
from tests.hub.controlplane.binaries import obtain
from tests.hub.scenario.mutatedsources import Fields, corpus
from tests.support.repositories import BASE

pytestmark = [pytest.mark.family("argocdgenerator")]

SEED, COUNT = 20_261_123, 200
CLUSTERS = ("east", "west")
OURS = frozenset({"DSF344"})
"""Templates that Argo CD would run, and that all teams would pay for."""


def judged(source: Fields, policy: Fields | None) -> tuple[Resolved | None, list[Diagnostic]]:
    """What the product makes of an application, and its errors."""
    application: Fields = {"source": source, "destinationNamespace": "web"}
    if policy is not None:
        application["syncPolicy"] = policy
    item = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredApplication",
        "metadata": {"name": "web"},
        "spec": {
            "application": application,
            "scores": [{"scorer": "cpu"}],
            "placement": {"numberOfClusters": 1},
        },
    }
    parts = [load_text(text, file=file) for file, text in {**BASE, "apps/web.yaml": json.dumps(item)}.items()]
    loaded = Loaded(
        documents=tuple(document for part in parts for document in part.documents),
        diagnostics=tuple(found for part in parts for found in part.diagnostics),
    )
    resolved, found = resolve(declare(loaded))
    return resolved, [one for one in found if one.severity is Severity.ERROR]


def rendered(source: Fields, policy: Fields | None) -> Fields:
    """The ApplicationSet that the product would render without any check."""
    resolved, errors = judged({"repoURL": source["repoURL"], "path": "."}, None)
    assert resolved is not None, errors
    found = application_set(resolved.applications[0], namespace="argocd")
    [generator] = found["spec"]["generators"]
    generator["clusterDecisionResource"]["configMapRef"] = "decisions"
    found["spec"]["template"]["spec"]["source"] = source
    if policy is not None:
        found["spec"]["template"]["spec"]["syncPolicy"] = policy
    return found


def asked(sets: list[Fields]) -> list[dict[str, Any]]:
    """What Argo CD makes of them."""
    binaries = obtain("argocdgenerator")
    config = next(item["data"] for item in decision_readers("argocd") if item["kind"] == "ConfigMap")
    given = {
        "crd": str(binaries.folder("crds") / "applicationset-crd.yaml"),
        "clusters": CLUSTERS,
        "config": config,
        "sets": sets,
    }
    ran = subprocess.run(
        [binaries.path("argocd-generator")],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return found


def test_no_error_that_validate_calls_clean_and_no_error_of_ours_where_argocd_generates(
    note: Callable[[str], None],
) -> None:
    items = list(corpus(SEED, COUNT))
    answers = asked([rendered(source, policy) for source, policy in items])
    counts: Counter[str] = Counter()
    wrong = []
    for (source, policy), answer in zip(items, answers, strict=True):
        trouble = answer["refused"] or answer["error"] or answer["source"] or answer["dropped"]
        codes = {one.code for one in judged(source, policy)[1]}
        if trouble:
            counts["with errors on both sides" if codes else "MISSED"] += 1
        elif codes <= OURS:
            counts["refused for their cost" if codes else "clean on both sides"] += 1
            assert len(answer["applications"]) == len(CLUSTERS)
        else:
            counts["REFUSED WITHOUT NEED"] += 1
        if bool(trouble) != bool(codes - OURS) and not (trouble and codes):
            wrong.append((source, policy, trouble, sorted(codes)))
    note(f"{COUNT} applications: {', '.join(f'{count} {what}' for what, count in sorted(counts.items()))}")
    assert wrong == []
    assert min(counts["clean on both sides"], counts["with errors on both sides"]) > COUNT // 5
