"""Small repositories that rank by scores of other add-ons, for tests/golden/test_findings.py."""

from collections.abc import Mapping
from typing import Final

from tests.support.repositories import BASE

SETTINGS: Final = BASE["gitops-dsf.yaml"]
USAGE: Final = "{resource: resource-usage-score, names: [cpuClusterAvailable, gpuClusterAvailable]}"


def _declaring(*entries: str, more: str = "") -> str:
    listed = ", ".join(entries)
    return SETTINGS.replace("spec: {", f"spec: {{externalScores: [{listed}], {more}")


def _app(*scores: str, missing: str = "Exclude", more: str = "") -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplication\nmetadata: {name: web}\n"
        "spec:\n  application:\n"
        "    source: {repoURL: https://git.example.com/web.git, path: deploy}\n"
        "    destinationNamespace: web\n"
        "  placement: {numberOfClusters: 1}\n  stickiness: 10\n"
        f"  onMissingScore: {missing}\n  scores: [{', '.join(scores)}]\n{more}"
    )


def _raw(resource: str, name: str) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        "metadata: {name: batch, namespace: argocd}\nspec:\n  clusterSets: [global]\n"
        "  prioritizerPolicy:\n    mode: Exact\n    configurations:\n"
        "      - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}\n"
        "      - weight: 1\n"
        "        scoreCoordinate: {type: AddOn, addOn: {resourceName: "
        f"{resource}, scoreName: {name}}}}}\n"
    )


def _requiring(expression: str) -> str:
    """A Placement by hand that ranks by the GPUs, with a CEL predicate."""
    return _raw("resource-usage-score", "gpuClusterAvailable").replace(
        "  prioritizerPolicy",
        "  predicates:\n    - requiredClusterSelector:\n        celSelector:\n"
        f"          celExpressions:\n            - {expression}\n"
        "  prioritizerPolicy",
    )


def _test(resource: str, name: str) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoreTest\nmetadata: {name: t}\nspec:\n"
        f"  given: {{scores: [{{resource: {resource}, dimension: {name}, cluster: prod-1,"
        " value: 1}]}\n"
        "  expect: {decisions: [{application: web, clusters: [prod-1]}]}\n"
    )


_GPU: Final = "{addOn: {resource: resource-usage-score, name: gpuClusterAvailable}}"
_DEMANDING: Final = _GPU.replace("}}", "}, demand: 10}")
_MEASURED: Final = USAGE.replace("}", ", measuredAfterSeconds: 60}")
_POSITIVE: Final = USAGE.replace("}", ", range: {min: 0, max: 100}}")

CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "external: a score of another add-on": {"settings": _declaring(USAGE), "apps": _app(_GPU)},
    "external: beside a scorer": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU, "{scorer: cpu, weight: 2}"),
    },
    "external: not declared": {"apps": _app(_GPU)},
    "external: a misspelt item": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU.replace("gpuClusterAvailable", "gpuAvailable")),
    },
    "external: a misspelt resource": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU.replace("usage-score", "usages-score")),
    },
    "external: nothing like it is declared": {
        "settings": _declaring(USAGE),
        "apps": _app("{addOn: {resource: carbon, name: grams}}"),
    },
    "external: a score of a scorer": {
        "apps": _app("{addOn: {resource: cpu-score, name: cpu-score}}")
    },
    "external: both kinds in one entry": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU.replace("{addOn", "{scorer: cpu, addOn")),
    },
    "external: neither kind": {"apps": _app("{weight: 2}")},
    "external: a dimension": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU.replace("}}", "}, dimension: gpu}")),
    },
    "external: no name": {
        "settings": _declaring(USAGE),
        "apps": _app("{addOn: {resource: resource-usage-score}}"),
    },
    "external: listed twice": {"settings": _declaring(USAGE), "apps": _app(_GPU, _GPU)},
    "external: of weight 0": {
        "settings": _declaring(USAGE),
        "apps": _app("{scorer: cpu}", _GPU.replace("}}", "}, weight: 0}")),
    },
    "external: a missing score beats real ones": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU, missing="Neutral"),
    },
    "external: a missing score is the worst": {
        "settings": _declaring(_POSITIVE),
        "apps": _app(_GPU, missing="Neutral"),
    },
    "external: a negative weight": {
        "settings": _declaring(_POSITIVE),
        "apps": _app(_GPU.replace("}}", "}, weight: -1}"), missing="Neutral"),
    },
    "external: a stickiness that its range cannot overcome": {
        "settings": _declaring(USAGE.replace("}", ", range: {min: 1, max: 6}}")),
        "apps": _app(_GPU),
    },
    "external: a range upside down": {
        "settings": _declaring(USAGE.replace("}", ", range: {min: 100, max: 0}}")),
        "apps": _app(_GPU),
    },
    "external: a range that no score can have": {
        "settings": _declaring(USAGE.replace("}", ", range: {min: 0, max: 101}}")),
        "apps": _app(_GPU),
    },
    "external: declared twice": {"settings": _declaring(USAGE, USAGE), "apps": _app(_GPU)},
    "external: two entries with other items": {
        "settings": _declaring(
            USAGE, "{resource: resource-usage-score, names: [memNodeAvailable]}"
        ),
        "apps": _app(_GPU),
    },
    "external: no names": {
        "settings": _declaring("{resource: resource-usage-score, names: []}"),
        "apps": _app("{scorer: cpu}"),
    },
    "external: declares what a scorer publishes": {
        "settings": _declaring("{resource: cpu-score, names: [cpu]}"),
        "apps": _app("{scorer: cpu}"),
    },
    "external: declares what moves applications": {
        "settings": _declaring("{resource: gitops-dsf-moves, names: [argocd/web]}"),
        "apps": _app("{scorer: cpu}"),
    },
    "external: paced, and nobody knows when it has measured": {
        "settings": _declaring(USAGE, more="pace: {}, "),
        "apps": _app(_GPU),
    },
    "external: paced, and it is known": {
        "settings": _declaring(_MEASURED, more="pace: {}, "),
        "apps": _app(_GPU),
    },
    "external: a demand, and nobody knows when it is measured": {
        "settings": _declaring(USAGE, more="pace: {}, "),
        "apps": _app(_DEMANDING),
    },
    "external: paced with weights that its range does not hold": {
        "settings": _declaring(_MEASURED, more="pace: {}, "),
        "apps": _app(_GPU.replace("}}", "}, weight: 2}"), "{scorer: cpu}"),
    },
    "external: verified by a score of another add-on": {
        "settings": _declaring(_MEASURED, more="pace: {}, "),
        "apps": _app(
            "{scorer: cpu}",
            more="  moves: {verify: [{addOn: {resource: resource-usage-score, name:"
            " gpuClusterAvailable}, atLeast: 0}]}\n",
        ),
    },
    "external: a test gives it": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU),
        "tests": _test("resource-usage-score", "gpuClusterAvailable"),
    },
    "external: a test gives a misspelt item": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU),
        "tests": _test("resource-usage-score", "gpuAvailable"),
    },
    "external: a test gives what only a Placement by hand may rank by": {
        "settings": _declaring(USAGE),
        "apps": _app(_GPU),
        "tests": _test("carbon", "grams"),
    },
    "external: a Placement by hand": {
        "settings": _declaring(_POSITIVE),
        "apps": _raw("resource-usage-score", "gpuClusterAvailable"),
    },
    "external: a Placement by hand, and negative values": {
        "settings": _declaring(USAGE),
        "apps": _raw("resource-usage-score", "gpuClusterAvailable"),
    },
    "external: a Placement by hand that requires the score": {
        "settings": _declaring(USAGE),
        "apps": _requiring(
            'managedCluster.scores("resource-usage-score")'
            ".exists(s, s.name == 'gpuClusterAvailable')"
        ),
    },
    "external: a Placement by hand that requires the score in single quotes": {
        "settings": _declaring(USAGE),
        "apps": _requiring(
            "managedCluster.scores( 'resource-usage-score' )"
            ".exists(s, s.name == 'gpuClusterAvailable')"
        ),
    },
    "external: a Placement by hand with a misspelt item": {
        "settings": _declaring(USAGE),
        "apps": _raw("resource-usage-score", "gpuAvailable"),
    },
    "external: a Placement by hand with a misspelt resource": {
        "settings": _declaring(USAGE),
        "apps": _raw("resource-usage-scores", "gpuClusterAvailable"),
    },
    "external: a Placement by hand, not declared": {
        "apps": _raw("resource-usage-score", "gpuClusterAvailable"),
    },
    "external: a Placement by hand with a weight that Steady outweighs": {
        "settings": _declaring(USAGE.replace("}", ", range: {min: 1, max: 6}}")),
        "apps": _raw("resource-usage-score", "gpuClusterAvailable").replace(
            "spec:\n", "spec:\n  numberOfClusters: 1\n"
        ),
    },
}
