"""Small repositories with jobs by scores for tests/golden/test_findings.py, by name."""

from collections.abc import Mapping
from typing import Final

from tests.support.repositories import BASE, UPSTREAM

SETTINGS: Final = BASE["gitops-dsf.yaml"]
CLUSTER: Final = BASE["clusters/c.yaml"]


def _jobs(
    more: str = "",
    *,
    name: str = "gpu-jobs",
    namespace: str = "kueue-system",
    config: str = "gpu-jobs",
    stickiness: int = 10,
) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        "  scores: [{scorer: cpu, demand: 5}]\n"
        f"  stickiness: {stickiness}\n  multiKueue: {{config: {config}}}\n{more}"
    )


def _check(controller: str, kind: str, name: str) -> str:
    return (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: jobs}\n"
        f"spec:\n  controllerName: {controller}\n  parameters: {{kind: {kind}, name: {name}}}\n"
    )


def _clusters(count: int) -> str:
    return "---\n".join(CLUSTER.replace("prod-1", f"prod-{n}") for n in range(count))


_OCM: Final = "open-cluster-management.io/placement"
_KUEUE: Final = "kueue.x-k8s.io/multikueue"
_CONFIG: Final = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueConfig\n"
    "metadata: {name: %s}\nspec: {clusters: [prod-1]}\n"
)
CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "jobs: on all clusters": {"apps": _jobs()},
    "jobs: a stickiness that OCM's weights cannot express": {"apps": _jobs(stickiness=15)},
    "jobs: in the namespace of Argo CD": {"apps": _jobs(namespace="argocd")},
    "jobs: a number of clusters": {"apps": _jobs("  placement: {numberOfClusters: 1}\n")},
    "jobs: two orders of one config": {"apps": f"{_jobs()}---\n{_jobs(name='more')}"},
    "jobs: two configs": {"apps": f"{_jobs()}---\n{_jobs(name='more', config='more')}"},
    "jobs: a check of Kueue": {"apps": _jobs() + _check(_KUEUE, "MultiKueueConfig", "gpu-jobs")},
    "jobs: a check of OCM for the same config": {
        "apps": _jobs(name="jobs") + _check(_OCM, "Placement", "gpu-jobs")
    },
    "jobs: a check of OCM for the same Placement": {
        "apps": _jobs(config="other") + _check(_OCM, "Placement", "gpu-jobs")
    },
    "jobs: a check of OCM for a Placement of that name elsewhere": {
        "apps": _jobs(config="other", namespace="batch") + _check(_OCM, "Placement", "gpu-jobs")
    },
    "jobs: a check of OCM for another Placement": {
        "apps": _jobs() + _check(_OCM, "Placement", "training")
    },
    "jobs: a check that cannot be read": {
        "apps": _jobs() + _check(_OCM, "Placement", "[gpu-jobs]")
    },
    "jobs: the config is a document here": {"apps": _jobs() + _CONFIG % "gpu-jobs"},
    "jobs: another config is a document here": {"apps": _jobs() + _CONFIG % "training"},
    "jobs: decision groups": {
        "apps": _jobs("  placement: {decisionGroups: {clustersPerDecisionGroup: 50%}}\n")
    },
    "jobs: no reconciler": {
        "settings": SETTINGS.replace("reconciler: {", "reconciler: {enabled: false, "),
        "apps": _jobs(),
    },
    "jobs: the upstream controller": {
        "settings": UPSTREAM,
        "scorers": BASE["scorers/s.yaml"].replace("  scoreRange: {min: 0, max: 1}\n", ""),
        "apps": _jobs(),
    },
    "jobs: 20 clusters": {"clusters": _clusters(20), "apps": _jobs()},
    "jobs: 21 clusters": {"clusters": _clusters(21), "apps": _jobs()},
    "jobs: no stickiness": {"apps": _jobs(stickiness=0)},
    "jobs: a stickiness that no score overcomes": {"apps": _jobs(stickiness=100)},
    "jobs: values that are not allowed": {
        "apps": _jobs().replace("{config: gpu-jobs}", "{config: gpu.jobs, reorderSeconds: 4}")
    },
    "jobs: no config": {"apps": _jobs().replace("{config: gpu-jobs}", "{reorderSeconds: 60}")},
    "jobs: more scores than the annotation takes": {
        "scorers": "---\n".join(
            BASE["scorers/s.yaml"]
            .replace("name: cpu}", f"name: s{n}}}")
            .replace("cpu_score", f"s{n}_score")
            for n in range(101)
        ),
        "apps": _jobs().replace(
            "{scorer: cpu, demand: 5}", ", ".join(f"{{scorer: s{n}}}" for n in range(101))
        ),
    },
    "jobs: of an application": {
        "apps": _jobs().replace("kind: ScoredPlacement", "kind: ScoredApplication")
    },
}
