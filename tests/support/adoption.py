"""ApplicationSets and Placements such as people publish them, as files of tests/data/adoption.

Each is written here, in the manner of what platform teams, OCM, Argo CD and ACM's wizard show, with
the Placement that it follows.
"""

from pathlib import Path
from typing import Any, Final

from tests.support import fleets, yamlfast

Object = dict[str, Any]
FOLDER: Final = Path(__file__).parents[1] / "data/adoption"
NAMESPACE: Final = "openshift-gitops"
CASES: Final = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
CLUSTERS: Final = ("cluster1", "cluster2")
PRODUCT: Final = "gitops-dsf.io/v1alpha1"


def case(name: str, *, namespace: str = NAMESPACE) -> list[Object]:
    """The objects of a case, as they were applied, in this namespace of Argo CD."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return yamlfast.load_all(text.replace(NAMESPACE, namespace))


def stored(item: Object) -> Object:
    """An object as `kubectl get -o yaml` prints it, with what nobody wants in git."""
    metadata = {
        **item["metadata"],
        "creationTimestamp": "2026-03-01T08:15:30Z",
        "generation": 3,
        "resourceVersion": "81723",
        "uid": "3f2c6f0e-4a4c-4f43-9f3a-9a8f0e0d5a11",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            **item["metadata"].get("annotations", {}),
        },
        "managedFields": [{"manager": "kubectl-client-side-apply", "operation": "Update"}],
    }
    return {"status": {}, **item, "metadata": metadata}


def fleet(root: Path, **settings: Any) -> Path:
    """A fleet repository with two clusters, the scorer cpu, and scores of two other add-ons."""
    spec = {
        "git": {"url": "https://git.example.com/fleet.git"},
        "argocd": {"namespace": NAMESPACE},
        "externalScores": [
            {"resource": "site-preference", "names": ["preference"]},
            {"resource": "resource-usage-score", "names": ["cpuAvailable"]},
        ],
        **settings,
    }
    documents = [
        fleets.cluster(name, **{"env": "prod", f"{fleets.OCM}/clusterset": "fleet"})
        for name in CLUSTERS
    ]
    cluster_set = fleets.document(
        "cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet", "fleet", {}
    )
    scorer = fleets.document(
        "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "DynamicScorer",
        "cpu",
        {
            "description": "Idle CPU",
            "configURL": "http://cpu.scorers.svc/config",
            "configSyncMode": "None",
            "source": {"type": "None"},
            "scoring": {"params": {"name": "cpu", "interval": 60}},
        },
    )
    repository = fleets.document(PRODUCT, "FleetRepository", "fleet", fleets.with_images(spec))
    return fleets.write(
        root,
        fleets.FleetSources(settings=repository, documents=(*documents, cluster_set, scorer)),
    )
