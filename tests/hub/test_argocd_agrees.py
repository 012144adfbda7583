"""`validate` and Argo CD agree about applications.

200 with mistakes and without, through Argo CD's own CRD, generators and templates; and what Argo CD
makes of labels and claims of clusters.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gitops_dsf.argocd import fields
from gitops_dsf.argocd.writeback import written_back
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.pipeline import check_declared
from gitops_dsf.render.applicationsets import application_set
from gitops_dsf.render.delivery import decision_readers
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.template_parameters import cluster_parameters
from tests.hub.controlplane.api import manifest
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.plane import MANAGED_CLUSTER
from tests.hub.scenario.mutatedsources import REPOSITORY, Fields, corpus
from tests.support import gotemplates, repositories

pytestmark = [pytest.mark.family("argocdgenerator")]

SEED, COUNT = 20_261_123, 200
CLUSTERS = ("east", "west")
OURS = frozenset({"DSF344", "DSF358", "DSF368"})
"""Templates that Argo CD would run: all teams would pay for them, a text in them would be empty, or
they use labels that nothing renders.
"""
LABELS: Mapping[str, Fields] = {
    "east": {"env": "prod", "region": "us", "example.com/tier": "gold"},
    "west": {"env": "prod", "example.com/tier": ""},
}
ZONE = [{"name": "zone.example.com", "value": 'a "zone" {{.name}}'}]


def declared(source: Fields, policy: Fields | None, labels: Mapping[str, Fields]) -> Declared:
    """A fleet with these clusters and an application."""
    application: Fields = {"source": source, "destinationNamespace": "web"}
    if policy is not None:
        application["syncPolicy"] = policy
    spec = {
        "application": application,
        "scores": [{"scorer": "cpu"}],
        "placement": {"numberOfClusters": 1},
    }
    item = manifest("gitops-dsf.io/v1alpha1/ScoredApplication", "web", spec=spec)
    clusters = [
        json.dumps(
            manifest(MANAGED_CLUSTER, name, meta={"labels": found}, status={"clusterClaims": ZONE})
        )
        for name, found in labels.items()
    ]
    return repositories.declared(clusters="\n---\n".join(clusters), apps=json.dumps(item))


def errors(of: Declared) -> list[Diagnostic]:
    """What `validate` calls an error."""
    return [one for one in check_declared(of).diagnostics if one.severity is Severity.ERROR]


def rendered(
    source: Fields, policy: Fields | None = None, labels: Mapping[str, Fields] = LABELS
) -> Fields:
    """The ApplicationSet that the product would render without any check."""
    context = context_of(declared(source, policy, labels))
    clusters = [
        each for item in context.declared.applications for each in cluster_parameters(context, item)
    ]
    # Of few clusters, because the limits of what is rendered are not the subject.
    fleet = check_declared(
        declared({"repoURL": source["repoURL"], "path": "."}, None, LABELS)
    ).fleet
    assert fleet is not None
    found = application_set(fleet.applications[0], namespace="argocd", clusters=clusters)
    [generator] = found["spec"]["generators"]
    [decisions, *_] = generator["merge"]["generators"] if clusters else [generator]
    decisions["clusterDecisionResource"]["configMapRef"] = "decisions"
    found["spec"]["template"]["spec"]["source"] = source
    if policy is not None:
        found["spec"]["template"]["spec"]["syncPolicy"] = policy
    return found


def asked(sets: list[Fields], clusters: Sequence[str] = CLUSTERS) -> list[dict[str, Any]]:
    """What Argo CD makes of them, when OCM has decided for these clusters."""
    binaries = obtain("argocdgenerator")
    config = next(
        item["data"] for item in decision_readers("argocd") if item["kind"] == "ConfigMap"
    )
    given = {
        "crd": str(binaries.folder("crds") / "applicationset-crd.yaml"),
        "clusters": clusters,
        "config": config,
        "sets": sets,
    }
    program = [binaries.path("argocd-generator")]
    ran = subprocess.run(
        program, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return found


def test_no_error_that_validate_calls_clean_and_no_error_of_ours_where_argocd_generates() -> None:
    items = list(corpus(SEED, COUNT))
    answers = asked([rendered(source, policy) for source, policy in items])
    counts: Counter[str] = Counter()
    wrong = []
    for (source, policy), answer in zip(items, answers, strict=True):
        trouble = answer["refused"] or answer["error"] or answer["source"] or answer["dropped"]
        codes = {one.code for one in errors(declared(source, policy, LABELS))}
        if trouble:
            counts["with errors on both sides" if codes else "MISSED"] += 1
        elif codes <= OURS:
            counts["refused for more" if codes else "clean on both sides"] += 1
            assert len(answer["applications"]) == len(CLUSTERS)
        else:
            counts["REFUSED WITHOUT NEED"] += 1
        if bool(trouble) != bool(codes - OURS) and not (trouble and codes):
            wrong.append((source, policy, trouble, sorted(codes)))
    assert wrong == []
    assert min(counts["clean on both sides"], counts["with errors on both sides"]) > COUNT // 5


def lost(applied: Any, written: Any, path: str = "spec") -> list[str]:
    """The fields of an applied value that Argo CD does not write back as they are."""
    if isinstance(applied, dict) and isinstance(written, dict):
        return [
            text
            for name, value in applied.items()
            for text in (
                lost(value, written[name], f"{path}.{name}")
                if name in written
                else [f"{path}.{name}"]
            )
        ]
    # Server-side apply compares a list as a whole: nothing may be added to its items.
    return [] if applied == written else [path]


DECISIONS: Fields = {
    "configMapRef": "decisions",
    "labelSelector": {"matchLabels": {PLACEMENT_LABEL: "web"}},
}
TEMPLATE: Fields = {
    "metadata": {"name": "web-{{.name}}", "labels": {}, "annotations": {"team": ""}},
    "spec": {
        "project": "default",
        "destination": {"name": "{{.name}}", "namespace": ""},
        "sources": [
            {
                "repoURL": REPOSITORY,
                "path": "a",
                "directory": {"recurse": False, "jsonnet": {"libs": []}},
            },
            {
                "repoURL": REPOSITORY,
                "path": "b",
                "helm": {"parameters": [{"name": "a", "forceString": False}]},
            },
            {
                "repoURL": REPOSITORY,
                "path": "c",
                "kustomize": {"images": [], "forceCommonLabels": False},
            },
        ],
        "syncPolicy": {
            "automated": {"prune": False, "selfHeal": False, "enabled": True},
            "syncOptions": [],
            "retry": {"limit": 0, "backoff": {"factor": 0}},
        },
        "ignoreDifferences": [{"kind": "Deployment", "group": "", "jsonPointers": []}],
    },
}
BY_HAND: Sequence[Fields] = tuple(
    {"goTemplate": False, "template": TEMPLATE, "generators": generators, **more}
    for generators, more in (
        (
            [{"clusterDecisionResource": DECISIONS}],
            {"syncPolicy": {"preserveResourcesOnDeletion": False}},
        ),
        (
            [{"clusterDecisionResource": {"configMapRef": "decisions", "name": "web"}}],
            {"goTemplateOptions": []},
        ),
        (
            [
                {"clusters": {"values": {}, "flatList": False}},
                {"list": {"elements": [{"name": ""}]}},
            ],
            {},
        ),
        (
            [
                {
                    "matrix": {
                        "generators": [
                            {"clusterDecisionResource": DECISIONS},
                            {"list": {"elements": []}},
                        ]
                    },
                    "selector": {"matchLabels": {"a": ""}},
                }
            ],
            {"strategy": {"type": "", "rollingSync": {"steps": []}}, "applyNestedSelectors": False},
        ),
        (
            [
                {
                    "git": {
                        "repoURL": REPOSITORY,
                        "revision": "main",
                        "directories": [{"path": "*", "exclude": False}],
                    }
                }
            ],
            {
                "ignoreApplicationDifferences": [{"name": "", "jsonPointers": ["/spec"]}],
                "preservedFields": {},
            },
        ),
    )
)


def test_argocd_writes_back_every_field_that_is_rendered() -> None:
    """A field that is applied and not written back makes `delivery` OutOfSync with each refresh."""
    items = list(corpus(SEED, COUNT))
    sets = [rendered(source, policy) for source, policy in items]
    sets += [{**sets[0], "spec": spec} for spec in BY_HAND]
    applied = [written_back(fields.application_set_spec(), item["spec"]) for item in sets]
    answers = asked([{**item, "spec": spec} for item, spec in zip(sets, applied, strict=True)])
    # Fields that the API server does not know are findings of their own.
    compared = [
        (spec, answer["written"])
        for spec, answer in zip(applied, answers, strict=True)
        if answer["written"] is not None and not answer["dropped"]
    ]
    assert len(compared) > COUNT // 2
    assert [lost(spec, written) for spec, written in compared] == [[]] * len(compared)
    assert [spec for spec, _ in compared[-len(BY_HAND) :]] == applied[-len(BY_HAND) :]


def paths(answer: dict[str, Any]) -> dict[str, str]:
    """The path of each generated Application, by cluster."""
    assert [answer[name] for name in ("error", "refused", "dropped")] == ["", "", None]
    return {
        item["spec"]["destination"]["name"]: item["spec"]["source"].get("path", "")
        for item in answer["applications"] or ()
    }


@pytest.mark.parametrize(
    ("text", "east", "west"),
    [
        ("{{ .labels.env }}", "prod", "prod"),
        ('{{ index .labels "example.com/tier" }}', "gold", ""),
        ('{{ .labels.region | default "eu" }}', "us", "eu"),
        ("{{ if .labels.region }}{{ .labels.region }}{{ else }}{{ .name }}{{ end }}", "us", "west"),
        (
            "{{ if not .labels.region }}none{{ else }}{{ upper .labels.region }}{{ end }}",
            "US",
            "none",
        ),
        ("{{ $r := .labels.region }}{{ coalesce $r .labels.env }}", "us", "prod"),
        ('{{ eq .labels.region "us" | ternary "a" "b" }}', "a", "b"),
        ('{{ .labels.region | lower | default "eu" }}', "us", "eu"),
        ("{{ with .labels.region }}{{ . }}{{ else }}{{ .name }}{{ end }}", "us", "west"),
        ("{{ $l := .labels }}{{ range until 2 }}{{ $l.env }}{{ end }}", "prodprod", "prodprod"),
        ("{{ trunc 0 (randAlpha 5) }}{{ .labels.env }}", "prod", "prod"),
        ('{{ index .claims "zone.example.com" }}', 'a "zone" {{.name}}', 'a "zone" {{.name}}'),
        (
            '{{ .name }}-{{ index $.labels "env" }}{{ $.labels.env }}',
            "east-prodprod",
            "west-prodprod",
        ),
    ],
)
def test_argocd_writes_the_labels_and_claims_of_each_cluster(
    text: str, east: str, west: str
) -> None:
    source = {"repoURL": REPOSITORY, "path": text}
    assert errors(declared(source, None, LABELS)) == []
    [answer] = asked([rendered(source)])
    assert paths(answer) == {"east": east, "west": west}


def test_a_label_that_one_cluster_lacks_is_empty_there_and_validate_says_so() -> None:
    source = {"repoURL": REPOSITORY, "path": "overlays/{{ .labels.region }}"}
    [found] = errors(declared(source, None, LABELS))
    assert (found.code, found.message) == (
        "DSF358",
        "west (clusters/c.yaml) has no label region, and web may run there",
    )
    [answer] = asked([rendered(source)])
    assert paths(answer) == {"east": "overlays/us", "west": "overlays/"}


def test_a_cluster_that_is_not_in_git_stops_the_set_until_it_is() -> None:
    source = {"repoURL": REPOSITORY, "path": "{{ .labels.env }}"}
    known = {name: LABELS[name] for name in ("east",)}
    before, after = asked([rendered(source, labels=known), rendered(source)])
    assert 'map has no entry for key "labels"' in before["error"]
    assert paths(after) == {"east": "prod", "west": "prod"}


def test_clusters_that_were_not_chosen_get_nothing() -> None:
    [answer] = asked([rendered({"repoURL": REPOSITORY, "path": "{{ .labels.env }}"})], ["west"])
    assert paths(answer) == {"west": "prod"}
    [answer] = asked([rendered({"repoURL": REPOSITORY, "path": "{{ .labels.env }}"})], [])
    assert paths(answer) == {}


def by_hand(text: str) -> Fields:
    """An ApplicationSet of a list, whose path is a template."""
    item = manifest("argoproj.io/v1alpha1/ApplicationSet", "web", meta={"namespace": "argocd"})
    item["spec"] = {
        "goTemplate": True,
        "goTemplateOptions": ["missingkey=error"],
        "generators": [{"list": {"elements": [gotemplates.PARAMETERS]}}],
        "template": {
            "metadata": {"name": "web"},
            "spec": {
                "project": "default",
                "destination": {"name": "east"},
                "source": {"repoURL": REPOSITORY, "path": text},
            },
        },
    }
    return item


def test_argocd_runs_what_validate_lets_pass() -> None:
    texts, expected = zip(*gotemplates.RUNS, strict=True)
    answers = asked([by_hand(text) for text in texts])
    assert [answer["error"] for answer in answers] == [""] * len(texts)
    assert [answer["applications"][0]["spec"]["source"]["path"] for answer in answers] == list(
        expected
    )


def test_argocd_cannot_run_what_validate_refuses() -> None:
    answers = asked([by_hand(text) for text in gotemplates.FAILS])
    assert [
        text for text, answer in zip(gotemplates.FAILS, answers, strict=True) if not answer["error"]
    ] == []


@pytest.mark.parametrize("count", [100, 3_500])
def test_argocd_reads_the_labels_of_many_clusters(count: int) -> None:
    labels = {f"cluster-{number:04}": {"region": f"r{number % 7}"} for number in range(count)}
    chosen = sorted(labels)[:: count // 100]
    source = {"repoURL": REPOSITORY, "path": "{{ .labels.region }}"}
    found = rendered(source, labels=labels)
    [answer] = asked([found], chosen)
    assert paths(answer) == {name: labels[name]["region"] for name in chosen}
