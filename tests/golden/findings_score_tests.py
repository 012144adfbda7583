# ruff: noqa: E501 - texts of documents
"""Small repositories with tests of scores, for tests/golden/test_findings.py, by name."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    BROKEN_CLUSTER,
    CLUSTER,
    SCORER,
    Documents,
    both,
    case,
    second,
)
from tests.support.repositories import APP, FULL, placement

HEAD = "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoreTest\nmetadata: {name: t}\n"
DECISION = "decisions: [{application: web, clusters: [prod-1]}]"


def score_test(given: str = "{}", expect: str = DECISION) -> str:
    return f"{HEAD}spec:\n  given: {{{given.strip('{}')}}}\n  expect: {{{expect}}}\n"


def values(text: str) -> str:
    return score_test(f"series: [{{scorer: cpu, cluster: prod-1, values: '{text}'}}]")


def _notation() -> Iterator[tuple[str, Documents]]:
    for text in (
        "1 2 3",
        "  1x4   -2+4x3 1-2x4 _ _x3 stale ",
        "1e3 .5 5. +Inf -Inf NaN 1.5e-3x2 -0x10 0+0.1x3",
        "1 stalex2",
        "1 Infx2",
        "1 017",
        "",
        "   ",
        "1 two 3",
        "1 2x",
        "1 2xx3",
        "1+2",
        "1 _+1x3",
        "1 {{schema:1 sum:-0.3 count:3.1}} 2",
        "0x9999",
        "0x10000",
        "1 1x9998",
        "1 1x9999",
        "1x99999999999",
        "1, 2",
    ):
        yield f"values {text!r}", {"apps": APP, "tests": values(text)}
    most = ", ".join(
        f"{{scorer: cpu, cluster: prod-1, labels: {{node: n{number}}}, values: 1x9998}}"
        for number in range(21)
    )
    yield "values of all series together", {"apps": APP, "tests": score_test(f"series: [{most}]")}


def _names() -> Iterator[tuple[str, Documents]]:
    yield "test of what exists", {"apps": APP, "tests": score_test()}
    for given, expect in (
        ("series: [{scorer: cpv, cluster: prod-1, values: '1'}]", DECISION),
        ("series: [{scorer: cpu, cluster: prod-2, values: '1'}]", DECISION),
        ("scores: [{scorer: gpu, cluster: prod-1, value: 1}]", DECISION),
        ("scores: [{resource: theirs, dimension: d, cluster: prod-1, value: 1}]", DECISION),
        ("decisions: [{application: wep, clusters: [prod-1]}]", DECISION),
        ("decisions: [{application: web, clusters: [prod-1, prod-3]}]", DECISION),
        (
            "metrics: [{series: up, values: 1x5}, {cluster: prod-2, series: up, values: '1'}]",
            DECISION,
        ),
        ("", "decisions: [{placement: web, clusters: []}]"),
        ("", "decisions: [{placement: argocd/web, clusters: []}]"),
        ("", "decisions: [{placement: other/web, clusters: []}]"),
        ("", "moves: [{application: other, count: 0}]"),
        ("", "scores: [{scorer: cpu, cluster: prod-9, value: 0}]"),
        ("", "findings: [{code: DSF999}]"),
        ("clusters: [{name: mine}]", DECISION),
        ("clusters: [{name: mine}]", "decisions: [{application: web, clusters: [mine]}]"),
        ("clusters: [{name: prod-1}]", DECISION),
        ("clusters: [{name: prod-1, labels: {'not a label': x}}]", DECISION),
    ):
        yield f"test {given} expects {expect}", {"apps": APP, "tests": score_test(given, expect)}
    yield case(
        "test of a malformed scorer",
        scorers=SCORER.replace("description: d", "description: 5"),
        tests=score_test(
            "scores: [{scorer: cpu, cluster: prod-1, value: 1}]", "findings: [{code: DSF015}]"
        ),
    )
    yield case(
        "test of a scorer that waits for its lock",
        scorers=both(
            SCORER,
            second()
            .replace("configSyncMode: None", "configSyncMode: Full")
            .replace("scoring: {params: {name: gpu_score, interval: 60}}", "scoring: {}"),
        ),
        tests=score_test(
            "scores: [{scorer: gpu, cluster: prod-1, value: 1}]", "findings: [{code: DSF114}]"
        ),
    )
    shared = "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\nmetadata: {name: web, namespace: other}\nspec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}\n"
    yield case(
        "test of one of two Placements with a name",
        apps=both(APP, shared),
        tests=score_test(
            "", "decisions: [{placement: web, clusters: []}, {placement: other/web, clusters: []}]"
        ),
    )


def _items() -> Iterator[tuple[str, Documents]]:
    dimensions = SCORER.replace("  scoring:", "  scoreDimensionFormat: '${node}-x'\n  scoring:")
    for item in ("", "dimension: a-x, ", "dimension: a-y, ", "dimension: '${node}-x', "):
        yield case(
            f"test of an item {item}",
            scorers=dimensions,
            tests=score_test(
                f"scores: [{{scorer: cpu, {item}cluster: prod-1, value: 1}}]",
                "findings: [{code: DSF113}]",
            ),
        )
    yield case(
        "test of a scorer by the name of its AddOnPlacementScore",
        tests=score_test(
            "scores: [{resource: cpu-score, dimension: cpu_score, cluster: prod-1, value: 1}]",
            "findings: [{code: DSF016}]",
        ),
    )
    yield case(
        "test of the only item under a wrong name",
        tests=score_test("", "scores: [{scorer: cpu, dimension: cpu, cluster: prod-1, value: 1}]"),
    )
    yield case(
        "test of the only item under its name",
        tests=score_test(
            "", "scores: [{scorer: cpu, dimension: cpu_score, cluster: prod-1, value: 1}]"
        ),
    )


def _twice() -> Iterator[tuple[str, Documents]]:
    series = "{scorer: cpu, cluster: prod-1, values: '1'}"
    other = "{scorer: cpu, cluster: prod-1, labels: {node: a}, values: '1'}"
    score = "{scorer: cpu, cluster: prod-1, value: 1}"
    decision = "{application: web, clusters: []}"
    for given in (
        f"series: [{series}, {other}, {series}]",
        f"scores: [{score}, {score}]",
        f"decisions: [{decision}, {{placement: web, clusters: []}}, {decision}]",
        "clusters: [{name: prod-1}, {name: prod-1, labels: {}}]",
    ):
        yield f"given twice: {given}", {"apps": APP, "tests": score_test(given)}
    yield "two tests of one name", {"apps": APP, "tests": both(score_test(), score_test())}


def _fields() -> Iterator[tuple[str, Documents]]:
    for expect in (
        "",
        "decisions: []",
        "decisions: [{clusters: []}]",
        "decisions: [{application: web, placement: web, clusters: []}]",
        "decisions: [{application: web, clusters: [], at: 10}]",
        "decisions: [{application: web, clusters: [], at: 10m 5s}]",
        "decisions: [{application: web, clusters: [], at: 7d}]",
        "decisions: [{application: web, clusters: [], at: 7d1s}]",
        "scores: [{scorer: cpu, cluster: prod-1}]",
        "scores: [{scorer: cpu, cluster: prod-1, value: 101}]",
        "scores: [{scorer: cpu, cluster: prod-1, state: expired}]",
        "scores: [{resource: x, cluster: prod-1, value: 1}]",
        "findings: [{code: dsf310}]",
    ):
        yield f"expect {expect}", {"apps": APP, "tests": score_test("", expect)}
    yield "a test in another folder", {"apps": both(APP, score_test())}


def _limits_and_names() -> Iterator[tuple[str, Documents]]:
    for more in (0, 1):
        series = [
            f"{{scorer: cpu, cluster: prod-1, labels: {{node: n{number}}}, values: 1x9999}}"
            for number in range(20)
        ]
        series += ["{scorer: cpu, cluster: prod-1, labels: {node: last}, values: '1'}"] * more
        yield case(
            f"as many values as a test may have and {more}",
            apps=APP,
            tests=score_test(f"series: [{', '.join(series)}]"),
        )
    for name in ("p", "argocd/p", "other/p", "argocd"):
        yield case(
            f"a test of the Placement {name}",
            apps=placement("{numberOfClusters: 1}"),
            tests=score_test(expect=f"decisions: [{{placement: {name}, clusters: []}}]"),
        )
    expect = "decisions: [{application: web, clusters: [prod-2]}]"
    yield case(
        "a test beside a broken cluster",
        apps=APP,
        tests=score_test(expect=expect),
        clusters=both(CLUSTER, BROKEN_CLUSTER),
    )
    scores = score_test(expect="scores: [{scorer: cpu, cluster: prod-1, value: 1}]")
    for mode, text in (("None", SCORER), ("Full", FULL)):
        yield case(
            f"a test of a score without a name, {mode}",
            scorers=text.replace("name: cpu_score, ", ""),
            tests=scores,
        )
