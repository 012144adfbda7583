# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: scores that rank, and stickiness."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    SCORER,
    SHARED,
    Documents,
    add_on,
    below,
    both,
    case,
    ranged,
    second,
)
from tests.support.repositories import APP, BARE, FULL, UPSTREAM, app, listed, placement, policy


def weighted(*weights: int, rest: str = "") -> str:
    scores = ", ".join(
        f"{{scorer: {name}, weight: {weight}}}"
        for name, weight in zip(("cpu", "gpu"), weights, strict=False)
    )
    return app("scores: [{scorer: cpu}]", f"scores: [{scores}]{rest}")


def _rankings() -> Iterator[tuple[str, Documents]]:
    pair = both(SCORER, second())
    for weights in ((0, 0), (0, 1), (1, 0), (10, 1), (3, -2), (-1, 1)):
        yield f"weights {weights}", {"scorers": pair, "apps": weighted(*weights)}
    for points in (0, 1, 7, 10, 25, 33, 50, 100):
        for weights in ((1, 1), (3, 4), (10, 7)):
            yield case(
                f"stickiness {points} with weights {weights}",
                scorers=pair,
                apps=weighted(*weights, rest=f"\n  stickiness: {points}"),
            )
    for first, last in ((0, 100), (-1, 100), (100, -1), (1, 0), (-100, 0), (-5, -1)):
        for weight in (1, 0, -1):
            yield case(
                f"scores from {first} to {last} with weight {weight}",
                scorers=ranged(first, last),
                apps=weighted(weight),
            )
            yield case(
                f"scores from {first} to {last} with weight {weight} in a Placement",
                scorers=ranged(first, last),
                apps=policy(add_on(weight=weight)),
            )
    yield case(
        "scores of any value with a negative weight in a Placement",
        scorers=BARE,
        apps=policy(add_on(weight=-1)),
    )
    yield (
        "scores of any value, excluded",
        {"scorers": BARE, "apps": APP + "  onMissingScore: Exclude\n"},
    )
    for strategy in ("Replace", "MakeBeforeBreak"):
        for missing in ("Exclude", "Neutral"):
            yield case(
                f"moves {strategy} with missing scores {missing}",
                apps=APP + f"  onMissingScore: {missing}\n  moves: {{strategy: {strategy}}}\n",
            )
            yield case(
                f"moves {strategy} with missing scores {missing} of a ScoredPlacement",
                apps=both(
                    app("{numberOfClusters: 1}\n  scores: [{scorer: cpu}]", "{ref: shared}")
                    + f"  moves: {{strategy: {strategy}}}\n",
                    SHARED.replace("spec: {", f"spec: {{onMissingScore: {missing}, "),
                ),
            )
    for scores in ("{scorer: cpu}, {scorer: cpu, dimension: cpu_score}",):
        yield f"scores {scores}", {"apps": app("{scorer: cpu}", scores)}
    for template in ("${scoreName}", "${scoreName};${node}", "${cluster}", "x", "${nodes}"):
        for dimension in (
            "",
            ", dimension: x",
            ", dimension: 'cpu_score;a'",
            ", dimension: cpu_score",
        ):
            yield case(
                f"format {template} and score{dimension}",
                scorers=below(f"scoreDimensionFormat: '{template}'"),
                apps=app("{scorer: cpu}", f"{{scorer: cpu{dimension}}}"),
            )
    by_node = below("scoreDimensionFormat: '${node}'")
    placeholder = app("{scorer: cpu}", "{scorer: cpu, dimension: '${node}'}")
    yield case("an item with a placeholder", scorers=by_node, apps=placeholder)
    yield case(
        "a score of a scorer without a score name",
        scorers=FULL.replace("name: cpu_score, ", ""),
        apps=app("{scorer: cpu}", "{scorer: cpu, dimension: x}"),
    )
    for name in ("xyz", "cpuu", "cpu_score"):
        yield f"scorer {name}", {"apps": app("{scorer: cpu}", f"{{scorer: {name}}}")}
    yield "scorer xyz of an empty fleet", {"apps": APP, "scorers": ""}
    yield (
        "a scorer that waits for its lock",
        {"apps": APP, "scorers": FULL.replace(", interval: 60", "")},
    )
    yield case(
        "a scorer whose score name only upstream knows",
        apps=APP,
        settings=UPSTREAM,
        scorers=FULL.replace("name: cpu_score, ", "").replace(
            "  scoreRange: {min: 0, max: 1}\n", ""
        ),
    )
    yield case(
        "a scorer that only upstream knows",
        apps=APP,
        settings=UPSTREAM,
        scorers=FULL.replace(", interval: 60", "").replace("  scoreRange: {min: 0, max: 1}\n", ""),
    )
    follow = app("{numberOfClusters: 1}\n  scores: [{scorer: cpu}]", "{ref: REF}")
    for ref in ("shared", "shred", "web", "p", "xyz"):
        yield (
            f"placement.ref {ref}",
            {"apps": both(follow.replace("REF", ref), SHARED, placement("{}"))},
        )
    yield case(
        "placement.ref of a ScoredPlacement elsewhere",
        apps=both(
            follow.replace("REF", "shared"),
            SHARED.replace("{name: shared}", "{name: shared, namespace: kueue}"),
        ),
    )
    yield case(
        "placement.ref of a ScoredPlacement with a mistake",
        apps=both(
            follow.replace("REF", "shared"),
            SHARED.replace("numberOfClusters: 1", "numberOfClusters: x"),
        ),
    )
    yield "placement.ref without ScoredPlacements", {"apps": follow.replace("REF", "xyz")}
    yield case(
        "placement.ref and a ranking",
        apps=both(
            app("{numberOfClusters: 1}", "{ref: shared, numberOfClusters: 1}")
            + "  stickiness: 1\n  onMissingScore: Neutral\n",
            SHARED,
        ),
    )
    yield "no ranking", {"apps": app("  scores: [{scorer: cpu}]\n", "")}
    yield "no scores", {"apps": app("[{scorer: cpu}]", "")}


def _unreachable_stickiness() -> Iterator[tuple[str, Documents]]:
    """Stickiness near the most points by which a score can lead."""
    for points in (90, 100, 1000):
        yield f"stickiness {points} of 99", {"apps": f"{APP}  stickiness: {points}\n"}
        shared = SHARED.replace("spec: {", f"spec: {{stickiness: {points}, ")
        yield f"stickiness {points} of 99 of a ScoredPlacement", {"apps": shared}
        narrow = ranged(30, 10)
        yield (
            f"stickiness {points} of 20",
            {"apps": f"{APP}  stickiness: {points}\n", "scorers": narrow},
        )
    for weight in (1, 2):
        steady = f"{{scoreCoordinate: {{type: BuiltIn, builtIn: Steady}}, weight: 1}}, {add_on(weight=weight)}"
        policies = f"prioritizerPolicy: {{mode: Exact, configurations: [{steady}]}}"
        yield (
            f"Steady against a score of weight {weight}",
            {"apps": placement(f"{{numberOfClusters: 1, {policies}}}")},
        )


def _scored_placements() -> Iterator[tuple[str, Documents]]:
    """The ranking of a ScoredPlacement is judged like an application's."""
    for spec in listed("""
        scores: [{scorer: cpu, weight: -1}] | scores: [{scorer: cpu}], stickiness: 7
        scores: [{scorer: cpu, weight: 0}] | scores: [{scorer: cpu}, {scorer: cpu}]
        scores: [{scorer: cpu}], placement: {clusterSets: [nowhere]}
        scores: [{scorer: cpu}], placement: {numberOfClusters: 0}
        scores: [{scorer: cpu}], moves: {strategy: Keep} | placement: {}
    """):
        yield case(
            f"ScoredPlacement of {spec}", apps=SHARED.partition("spec:")[0] + f"spec: {{{spec}}}\n"
        )
    yield case("two ScoredPlacements", apps=both(SHARED, SHARED))
    yield case(
        "a ScoredPlacement and a Placement",
        apps=both(SHARED, placement("{}").replace("name: p", "name: shared")),
    )
    for old, new in (
        ("[{scorer: cpu}]", ""),
        ("[{scorer: cpu}]", "[{scorer: cpu}]\n  placement: {ref: shared, tolerations: []}"),
    ):
        yield case(
            f"an application with {' '.join(new.split())} beside it",
            apps=both(app("  placement: {numberOfClusters: 1}\n", "").replace(old, new), SHARED),
        )
