"""What `doctor` says of Kueue where Placements order clusters for jobs."""

import json
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.multikueue import MultiKueueConfig
from gitops_dsf.views.doctor.facts import FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding
from tests.support.healthyhub import CLUSTERS, facts, run, workload
from tests.support.hubobjects import Object, decision, fleet, meta, placement

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
ORDER_GATE = "MultiKueueIncrementalDispatcherRespectConfigOrder"
STEP_GATE = "MultiKueueIncrementalDispatcherConfig"
ONE_BY_ONE = {"dispatcherName": INCREMENTAL, "incrementalDispatcherConfig": {"stepSize": 1}}
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}


def ordering(*clusters: str) -> list[Object]:
    """The Placement kueue-system/gpu-jobs, which orders gpu-jobs, and its decision."""
    item = placement("gpu-jobs", "cpu", namespace="kueue-system")
    term = {"resource": "cpu", "dimension": "cpu", "weight": 1}
    order = {"config": "gpu-jobs", "reorderSeconds": 60.0, "terms": [term], "stickiness": 10.0}
    item["metadata"]["annotations"] = {"gitops-dsf.io/multikueue": json.dumps(order)}
    return [item, decision("gpu-jobs", *clusters, namespace="kueue-system")]


def kueue(
    *,
    image: str = "registry.k8s.io/kueue/kueue:v0.19.2",
    multi_kueue: Any = ONE_BY_ONE,
    gates: dict[str, bool] | None = None,
    **container: Any,
) -> dict[FactSource, tuple[Any, ...]]:
    """A Kueue that offers jobs in order, unless something is said to be otherwise."""
    written = {"multiKueue": multi_kueue, "featureGates": gates}
    data = {"controller_manager_config.yaml": written}
    return {
        FactSource.KUEUE_DEPLOYMENTS: (
            workload("kueue-controller-manager", "kueue-system", image, **container),
        ),
        FactSource.KUEUE_SETTINGS: ({"metadata": meta("kueue-manager-config"), "data": data},),
        FactSource.MULTIKUEUE_CLUSTERS: tuple({"metadata": meta(name)} for name in CLUSTERS),
        FactSource.ADMISSION_CHECKS: (check(),),
    }


def check(
    controller: str = MULTIKUEUE, kind: str = "MultiKueueConfig", name: str = "gpu-jobs"
) -> Object:
    spec = {"controllerName": controller, "parameters": {"kind": kind, "name": name}}
    return {"metadata": meta("jobs"), "spec": spec}


def config(name: str = "gpu-jobs", *, labels: dict[str, str] = OURS) -> MultiKueueConfig:
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": {"clusters": ["cluster1"]}},
        MultiKueueConfig,
    )


def found(
    name: str,
    changed: dict[FactSource, tuple[Any, ...]] | None = None,
    *,
    clusters: tuple[str, ...] = CLUSTERS,
    configs: tuple[MultiKueueConfig, ...] = (config(),),
) -> list[tuple[str, str]]:
    """State and message of each finding of a check."""
    return [(item.state, item.message) for item in findings(name, changed, clusters, configs)]


def findings(
    name: str,
    changed: dict[FactSource, tuple[Any, ...]] | None,
    clusters: tuple[str, ...] = CLUSTERS,
    configs: tuple[MultiKueueConfig, ...] = (config(),),
) -> tuple[DoctorFinding, ...]:
    given = facts(
        {**kueue(), **(changed or {})},
        hub=[*fleet(), *ordering(*clusters)],
        read={"multi_kueue_configs": configs},
    )
    return run(name, given)


def test_a_kueue_that_reads_the_order_is_well() -> None:
    """Jobs are offered to the best cluster first, and every cluster can get some."""
    assert found("kueue") == [("ok", "Kueue 0.19.2 offers each job to the best cluster first")]
    assert found("multikueue-configs") == [("ok", "1 MultiKueueConfig in the order of the scores")]


GATE_OFF = f"--feature-gates=Other=true,{ORDER_GATE}=false"
SETTINGS = {
    "no Kueue": (
        {FactSource.KUEUE_DEPLOYMENTS: ()},
        "warning",
        "no Deployment of Kueue is in kueue-system, so no jobs are sent to clusters",
    ),
    "an old version": (
        kueue(image="registry.k8s.io/kueue/kueue:v0.18.3"),
        "error",
        "Kueue 0.18.3 offers jobs to clusters in alphabetical order, whatever their scores are",
    ),
    "no version": (
        kueue(image="registry.k8s.io/kueue/kueue@sha256:0123"),
        "warning",
        "the version of Kueue is not known: the image in kueue-system has no tag",
    ),
    "no settings": (
        {FactSource.KUEUE_SETTINGS: ()},
        "unknown",
        (
            "ConfigMap kueue-system/kueue-manager-config has no configuration that can be read, so"
            " the dispatcher is not known"
        ),
    ),
    "the default dispatcher": (
        kueue(multi_kueue=None),
        "error",
        (
            "Kueue copies each job to all clusters at once and runs it where it is admitted first,"
            " so the order of the scores has no effect"
        ),
    ),
    "a dispatcher of somebody else": (
        kueue(multi_kueue={"dispatcherName": "example.com/mine"}),
        "warning",
        (
            "the dispatcher example.com/mine decides where jobs go, and may ignore the order of the"
            " scores"
        ),
    ),
    "the gate of the order in the file": (
        kueue(gates={ORDER_GATE: False}),
        "error",
        (
            f"the feature gate {ORDER_GATE} of Kueue is off: jobs are offered to clusters in"
            " alphabetical order"
        ),
    ),
    "the gate of the order in a flag": (
        kueue(gates={ORDER_GATE: True}, args=["--zap-log-level=2", GATE_OFF]),
        "error",
        (
            f"the feature gate {ORDER_GATE} of Kueue is off: jobs are offered to clusters in"
            " alphabetical order"
        ),
    ),
    "no step": (
        kueue(multi_kueue={"dispatcherName": INCREMENTAL}),
        "warning",
        (
            "Kueue offers each job to the 3 best clusters at once, and it runs where it is admitted"
            " first; with stepSize 1 the order decides alone"
        ),
    ),
    "the gate of the step": (
        kueue(gates={STEP_GATE: False}),
        "warning",
        (
            "Kueue offers each job to the 3 best clusters at once, and it runs where it is admitted"
            " first; with stepSize 1 the order decides alone"
        ),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_keeps_kueue_from_the_order(name: str) -> None:
    """Each with what mends it."""
    changed, state, message = SETTINGS[name]
    [finding] = findings("kueue", changed)
    assert (finding.state, finding.message) == (state, message)
    assert finding.fix


CONFIGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "none": (
        {"configs": ()},
        "warning",
        (
            "there is no MultiKueueConfig gpu-jobs for Placement kueue-system/gpu-jobs: the"
            " reconciler creates it with the first decided cluster that has a MultiKueueCluster"
        ),
    ),
    "of somebody else": (
        {"configs": (config(labels={}),)},
        "error",
        (
            "the MultiKueueConfig gpu-jobs belongs to another program, so its clusters are not"
            " ordered by Placement kueue-system/gpu-jobs"
        ),
    ),
    "left over": (
        {"configs": (config(), config("old"), config("theirs", labels={}))},
        "warning",
        "no Placement orders the MultiKueueConfig old any more: jobs go on by its last order",
    ),
    "a cluster that Kueue does not know": (
        {"clusters": ("cluster1", "cluster9")},
        "warning",
        "cluster9 of Placement kueue-system/gpu-jobs has no MultiKueueCluster, so it gets no jobs",
    ),
    "clusters that Kueue does not know": (
        {"clusters": ("cluster1", "cluster8", "cluster9")},
        "warning",
        (
            "cluster8, cluster9 of Placement kueue-system/gpu-jobs have no MultiKueueCluster, so"
            " they get no jobs"
        ),
    ),
    "more clusters than fit": (
        {
            "clusters": tuple(f"c{number}" for number in range(21)),
            "changed": {
                FactSource.MULTIKUEUE_CLUSTERS: tuple(
                    {"metadata": meta(f"c{number}")} for number in range(21)
                )
            },
        },
        "warning",
        (
            "21 clusters are decided for Placement kueue-system/gpu-jobs, and a MultiKueueConfig"
            " takes 20: the worst ones get no jobs"
        ),
    ),
    "no check": (
        {"changed": {FactSource.ADMISSION_CHECKS: (check(name="other"),)}},
        "warning",
        "no AdmissionCheck names the MultiKueueConfig gpu-jobs, so no job follows its order",
    ),
    "a check of OCM": (
        {
            "changed": {
                FactSource.ADMISSION_CHECKS: (
                    check(),
                    check("open-cluster-management.io/placement", "Placement"),
                )
            }
        },
        "error",
        (
            "OCM's kueue add-on writes the MultiKueueConfig gpu-jobs for AdmissionCheck jobs, and"
            " so does the reconciler: each undoes what the other does, and running jobs are lost"
        ),
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_wrong_with_a_config(name: str) -> None:
    """20 clusters fit, and a config of others that no Placement names is nobody's business."""
    given, state, message = CONFIGS[name]
    assert found("multikueue-configs", **given) == [(state, message)]


def test_twenty_clusters_fit() -> None:
    """As many as the CRD takes."""
    names = tuple(f"c{number}" for number in range(20))
    clusters = {FactSource.MULTIKUEUE_CLUSTERS: tuple({"metadata": meta(name)} for name in names)}
    assert found("multikueue-configs", clusters, clusters=names) == [
        ("ok", "1 MultiKueueConfig in the order of the scores")
    ]
