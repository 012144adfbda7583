"""Small repositories that verify moves for tests/golden/test_findings.py, by name."""

from collections.abc import Mapping
from typing import Final

from tests.golden.findings_pace import SETTINGS, SPANNED
from tests.support.repositories import BASE, app, masks

SLO: Final = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: slo}
spec:
  description: d
  configURL: http://api.svc:8000/config
  configSyncMode: None
  source: {host: "http://prometheus.svc:9090", params: {query: up, range: 300, step: 60}}
  scoring: {params: {name: slo, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
"""Its scores are 1 to 100. An arrival is measured after 60 + 60 + 300 seconds."""
TWO_CLUSTERS: Final = (
    BASE["clusters/c.yaml"]
    + "---\n"
    + BASE["clusters/c.yaml"].replace(
        "name: prod-1, labels: {env: prod}", "name: edge-1, labels: {env: edge}"
    )
)
PACED: Final = SETTINGS.replace("spec: {", "spec: {pace: {}, ")


def _app(checks: str, *, moves: str = "", placement: str = "numberOfClusters: 1") -> str:
    text = app("numberOfClusters: 1", placement)
    return f"{text}  moves: {{verify: [{checks}]{moves and ', '}{moves}}}\n"


def _case(apps: str, *, slo: str = SLO, settings: str = PACED, **more: str) -> dict[str, str]:
    return {"settings": settings, "apps": apps, "scorers": f"{SPANNED}---\n{slo}", **more}


GOOD: Final = "{scorer: slo, atLeast: 80}"
CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "verification: as it should be": _case(_app(GOOD)),
    "verification: by two scores": _case(
        _app("{scorer: slo, dimension: slo, atLeast: 80}, {scorer: slo, noWorseThan: 10}")
    ),
    "verification: without a pace": _case(_app(GOOD), settings=SETTINGS),
    "verification: moves.pace is None": _case(_app(GOOD, moves="pace: None")),
    "verification: on every eligible cluster": _case(_app(GOOD, placement="clusterSets: [global]")),
    "verification: of an application that follows a ScoredPlacement": _case(
        _app(GOOD)
        .replace("placement: {numberOfClusters: 1}", "placement: {ref: shared}")
        .replace("  scores: [{scorer: cpu}]\n", "")
        + "---\napiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        "metadata: {name: shared}\n"
        "spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}\n"
    ),
    "verification: the old copy is replaced": _case(_app(GOOD, moves="strategy: Replace")),
    "verification: the old copy is kept": _case(_app(GOOD, moves="strategy: Keep")),
    "verification: settings without checks": _case(
        f"{app('numberOfClusters: 1', 'numberOfClusters: 1')}  moves: {{verifySeconds: 3600,"
        " onUnknown: Return, holdSeconds: 60, verify: []}\n"
    ),
    "verification: just in time": _case(_app(GOOD, moves="verifySeconds: 1020")),
    "verification: a second late": _case(_app(GOOD, moves="verifySeconds: 1019")),
    "verification: late by the history that the query reads": _case(
        _app(GOOD),
        slo=SLO.replace("query: up,", 'query: "avg_over_time(up[1h])",'),
    ),
    "verification: late because an unchanged score is written seldom": _case(
        _app(GOOD),
        slo=SLO.replace("  scoreRange", "  scoreTTLSeconds: 7200\n  scoreRange"),
    ),
    "verification: later than can be written": _case(
        _app(GOOD), slo=SLO.replace("range: 300, step: 60", "range: 172800, step: 60")
    ),
    "verification: an item that the format never gives": _case(
        _app("{scorer: slo, dimension: web, atLeast: 80}")
    ),
    "verification: an item that is not fixed": _case(
        _app(GOOD),
        slo=SLO.replace("  scoreRange", '  scoreDimensionFormat: "${app}"\n  scoreRange'),
    ),
    "verification: the item of the application": _case(
        _app("{scorer: slo, dimension: web, atLeast: 80}"),
        slo=SLO.replace("  scoreRange", '  scoreDimensionFormat: "${app}"\n  scoreRange'),
    ),
    "verification: an item with a placeholder": _case(
        _app("{scorer: slo, dimension: '${app}', atLeast: 80}"),
        slo=SLO.replace("  scoreRange", '  scoreDimensionFormat: "${app}"\n  scoreRange'),
    ),
    "verification: the same check twice": _case(
        _app(
            "{scorer: slo, atLeast: 80}, {scorer: slo, dimension: slo, atLeast: 80, forSeconds: 60}"
        )
    ),
    "verification: two bounds of one score": _case(
        _app("{scorer: slo, atLeast: 80}, {scorer: slo, atLeast: 50, forSeconds: 900}")
    ),
    "verification: no such scorer": _case(_app("{scorer: sl, atLeast: 80}")),
    "verification: by the score that ranks": _case(_app("{scorer: cpu, noWorseThan: 10}")),
    "verification: by another item of the scorer that ranks": {
        "settings": PACED,
        "apps": _app("{scorer: cpu, dimension: web, atLeast: 80}").replace(
            "scores: [{scorer: cpu}]", "scores: [{scorer: cpu, dimension: node}]"
        ),
        "scorers": SPANNED.replace(
            "  scoreRange", '  scoreDimensionFormat: "${app}"\n  scoreRange'
        ),
    },
    "verification: a scorer that is suspended": _case(
        _app(GOOD), slo=SLO.replace("  scoreRange", "  suspend: true\n  scoreRange")
    ),
    "verification: a scorer that publishes nothing": _case(
        _app(GOOD), slo=SLO.replace("  scoreRange", "  scoreDestination: None\n  scoreRange")
    ),
    "verification: a scorer that runs nowhere": _case(
        _app(GOOD), config=masks("{clusterName: prod-1, scoreName: slo}")
    ),
    "verification: a scorer that does not run on one cluster": _case(
        _app(GOOD),
        clusters=TWO_CLUSTERS,
        config=masks("{clusterName: edge-1, scoreName: slo}"),
    ),
    "verification: a scorer that does not run where it may not go": _case(
        _app(GOOD, placement="numberOfClusters: 1, clusterSelector: {matchLabels: {env: prod}}"),
        clusters=TWO_CLUSTERS,
        config=masks("{clusterName: edge-1, scoreName: slo}"),
    ),
    "verification: bounds that no score passes or fails": _case(
        _app(
            "{scorer: slo, atLeast: 1}, {scorer: slo, atLeast: 2}, {scorer: slo, atLeast: 50},"
            " {scorer: slo, noWorseThan: 38}, {scorer: slo, noWorseThan: 39}"
        ),
        slo=SLO.replace("min: 0, max: 1", "min: 0, max: 1, outputMax: 40"),
    ),
    "verification: values that are not allowed": _case(
        _app(
            "{scorer: slo}, {scorer: slo, atLeast: 80, noWorseThan: 3}, {scorer: slo, atLeast:"
            " 101}, {scorer: slo, noWorseThan: -1}, {scorer: slo, atLeast: 1, forSeconds: 86401}",
            moves="verifySeconds: 59, onUnknown: Wait, holdSeconds: 604801",
        )
    ),
    "verification: a pace with values that are not allowed": _case(
        _app(GOOD),
        settings=SETTINGS.replace(
            "spec: {",
            "spec: {pace: {stopAfterReturns: 0, returnsWindowSeconds: 59, acknowledgedStop:"
            ' "yesterday"}, ',
        ),
    ),
}
