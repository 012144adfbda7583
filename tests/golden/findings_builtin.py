"""Small repositories that rank by OCM's own prioritizers, for tests/golden/test_findings.py."""

from collections.abc import Mapping
from typing import Final

from tests.support.repositories import BASE

SETTINGS: Final = BASE["gitops-dsf.yaml"]
PACED: Final = SETTINGS.replace("spec: {", "spec: {pace: {}, ")
CLUSTER: Final = BASE["clusters/c.yaml"]
REPORTING: Final = (
    "---\n"
    + CLUSTER.replace("prod-1", "prod-2")
    + "status: {allocatable: {cpu: 8, memory: 16Gi}, capacity: {cpu: 8, memory: 16Gi}}\n"
)


def _ranked(
    *scores: str, stickiness: int = 100, placement: str = "{numberOfClusters: 1}", more: str = ""
) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplication\nmetadata: {name: web}\n"
        "spec:\n  application:\n"
        "    source: {repoURL: https://git.example.com/web.git, path: deploy}\n"
        "    destinationNamespace: web\n"
        f"  placement: {placement}\n  stickiness: {stickiness}\n"
        f"  scores: [{', '.join(scores)}]\n{more}"
    )


_CPU: Final = "{builtIn: ResourceAllocatableCPU}"
_BALANCE: Final = "{builtIn: Balance}"
CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "built in: allocatable CPU": {"apps": _ranked(_CPU)},
    "built in: beside a scorer": {"apps": _ranked(_CPU, "{scorer: cpu}", stickiness=50)},
    "built in: Steady": {"apps": _ranked("{scorer: cpu}", "{builtIn: Steady}")},
    "built in: an unknown one": {"apps": _ranked("{builtIn: Spread}")},
    "built in: with a scorer in one entry": {
        "apps": _ranked("{builtIn: Balance, scorer: cpu}"),
    },
    "built in: a demand": {"apps": _ranked("{builtIn: ResourceAllocatableCPU, demand: 5}")},
    "built in: listed twice": {"apps": _ranked(_CPU, _CPU, stickiness=50)},
    "built in: of weight 0": {"apps": _ranked("{scorer: cpu}", "{builtIn: Balance, weight: 0}")},
    "built in: only it, and Exclude": {"apps": _ranked(_CPU, more="  onMissingScore: Exclude\n")},
    "built in: a stickiness that nothing overcomes": {"apps": _ranked(_CPU, stickiness=300)},
    "built in: Balance that the stickiness does not hold": {
        "apps": _ranked(_BALANCE, "{scorer: cpu, weight: 3}", stickiness=25)
    },
    "built in: Balance that the stickiness holds": {
        "apps": _ranked(_BALANCE, "{scorer: cpu, weight: 3}", stickiness=50)
    },
    "built in: Balance on all clusters": {
        "apps": _ranked(_BALANCE, "{scorer: cpu, weight: 3}", stickiness=25, placement="{}")
    },
    "built in: paced": {"settings": PACED, "apps": _ranked(_CPU)},
    "built in: not paced beside others": {
        "settings": PACED,
        "apps": _ranked(_CPU, more="  moves: {pace: None}\n"),
    },
    "built in: jobs": {
        "apps": "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        "metadata: {name: gpu-jobs, namespace: kueue-system}\nspec:\n"
        "  scores: [{scorer: cpu}, {builtIn: ResourceAllocatableCPU}]\n"
        "  stickiness: 10\n  multiKueue: {config: gpu-jobs}\n"
    },
    "built in: a cluster reports no resources": {
        "clusters": CLUSTER + REPORTING,
        "apps": _ranked(_CPU),
    },
    "built in: two clusters report no memory": {
        "clusters": CLUSTER + "---\n" + CLUSTER.replace("prod-1", "prod-3") + REPORTING,
        "apps": _ranked("{builtIn: ResourceAllocatableMemory}"),
    },
    "built in: a cluster that is not eligible reports no resources": {
        "clusters": CLUSTER.replace("env: prod", "env: dev") + REPORTING,
        "apps": _ranked(
            _CPU,
            placement="{numberOfClusters: 1, clusterSelector: {matchLabels: {env: prod}}}",
        ),
    },
}
