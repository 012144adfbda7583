"""One case on each side of limits that the other tests do not come near."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, Placement, PlacementDecision
from gitops_dsf.hub.timestamp import timestamp
from gitops_dsf.simulator import (
    Code,
    HubState,
    Outcome,
    SimulatorInputError,
    Unsupported,
    explain,
    simulate,
    with_defaults,
)
from gitops_dsf.simulator.cel import limits
from gitops_dsf.simulator.cel.checker import CelSyntaxError, Checker, Mistake
from gitops_dsf.simulator.cel.function import CelUnsupported
from gitops_dsf.simulator.cel.scores import DEEPEST_JSON, parse_json
from gitops_dsf.simulator.documents import describe
from gitops_dsf.simulator.groups import Group
from gitops_dsf.simulator.membership import Membership
from gitops_dsf.simulator.predicate import Filtered
from gitops_dsf.simulator.prioritizers import PrioritizerResult, go_int64
from gitops_dsf.simulator.quantity import parse
from gitops_dsf.simulator.ranking import Ranking, add_up
from gitops_dsf.simulator.verdict import Stage, Verdict
from gitops_dsf.simulator.weights import Prioritizer
from tests.unit.simulator.hub import (
    GROUP,
    NOW,
    cel,
    cluster,
    decision,
    exact,
    hub,
    placement,
    plain,
    run,
    score,
    viewed,
)

FORMAT = "'%d'.format([1]) == '1'"
"""An expression that the simulator does not answer."""
LONG_NAME = "p" * 64
ELEMENTS = ", ".join(["1"] * 20_000)


def answer(expression: str, *objects: dict[str, Any], **fields: Any) -> bool | str | Unsupported | None:
    """The answer for the cluster c1. Checks the expression first."""
    state = HubState.build([cluster("c1", **fields), *objects])
    problem = state.cel.check(expression)
    return problem if problem is not None else state.cel.answer(expression, 0)


@pytest.mark.parametrize(
    "expression",
    [
        "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))",
        "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))",
        "url('https://h?a=b=c').getQuery() == {'a': ['b=c']}",
        "'a'.find(r'\\d') == ''",
        "string(1) == '1'",
        "managedCluster.metadata.name == 'c1'",
        "1.0 / [0.0, -0.0].max() > 0.0",
        "1.0 / [0.0, -0.0].min() > 0.0",
        "!quantity('16Ei').isInteger()",
        "[-200].sum() == -200",
        "[-9223372036854775807, -1].sum() == -9223372036854775807 - 1",
        f"[{ELEMENTS}] != []",
    ],
)
def test_what_is_true(expression: str) -> None:
    assert answer(expression, score("other", a=1), labels={"padded": " 7"}) is True


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("[quantity('1'), semver('1.0.0')][1].isInteger()", "no such overload"),
        ("[-9223372036854775807, -2].sum() == 0", "integer overflow"),
        ("'a'.startsWith(1)", "found no matching overload for 'startsWith'"),
        ("[quantity('1')]", "the result is not a bool but LIST"),
        ("type(1)", "the result is not a bool but TYPE"),
        ("duration('1s')", "the result is not a bool but DURATION"),
        ("null", "the result is not a bool but NULL"),
    ],
)
def test_what_is_no_answer(expression: str, words: str) -> None:
    found = answer(expression)
    assert isinstance(found, str)
    assert words in found


@pytest.mark.parametrize("reflection", ["type", "dyn", "string"])
@pytest.mark.parametrize(
    "value", ["quantity('1')", "url('https://h')", "ip('::1')", "cidr('::/1')", "semver('1.0.0')"]
)
def test_what_would_show_that_values_are_maps(value: str, reflection: str) -> None:
    found = answer(f"{reflection}({value}) == {reflection}({value})")
    assert isinstance(found, Unsupported)
    assert found.reason == f"{reflection} (together with quantities, URLs, addresses or versions)"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("int(' 7') == 7", "a number from the text ' 7'"),
        ("uint(' 7') == 7u", "a number from the text ' 7'"),
        ("double(' 7') == 7.0", "a number from the text ' 7'"),
        ("[duration('1s')].isSorted()", "isSorted (for these types)"),
        ("[duration('1s')].sum() == 1", "sum (for these types)"),
        ("[duration('1s')].min() == 1", "min (for these types)"),
        ("[duration('1s')].max() == 1", "max (for these types)"),
        ("string(duration('1s')) == '1s'", "string (together with durations and timestamps)"),
        (
            "string(timestamp('2026-06-01T00:00:00Z')) == ''",
            "string (together with durations and timestamps)",
        ),
    ],
)
def test_texts_that_are_read_or_written_differently(expression: str, reason: str) -> None:
    found = answer(expression)
    assert isinstance(found, Unsupported)
    assert found.reason == reason


@pytest.mark.parametrize(("name", "where"), [("c1", " on cluster c1"), (None, "")])
def test_the_text_of_a_missing_answer(name: str | None, where: str) -> None:
    assert str(Unsupported("x", "y", name)) == (
        f"CEL expression 'x'{where} uses what the simulator does not support: y"
    )


def test_a_cluster_does_not_see_the_evaluation_of_another() -> None:
    """Neither the spellings of its quantities, nor that it had no answer."""
    documents = [
        cluster("c1", metadata={"annotations": {"q": "1k", "p": "x*"}}),
        cluster("c2", metadata={"annotations": {"q": "1000", "p": "x"}}),
    ]
    state = HubState.build(documents).cel
    spelling = "quantity(managedCluster.metadata.annotations.q).isInteger()"
    assert [state.answer(spelling, number) for number in range(2)] == [True, True]
    pattern = "'abc'.findAll(managedCluster.metadata.annotations.p) == []"
    found = [state.answer(pattern, number) for number in range(2)]
    assert isinstance(found[0], Unsupported)
    assert found[1] is True


def test_expressions_that_were_not_checked() -> None:
    state = HubState.build([cluster("c1")]).cel
    assert "undeclared reference to 'nobody'" in str(state.answer("nobody", 0))
    assert state.answer(FORMAT, 0) == Unsupported(FORMAT, "format (not offered)")


def test_a_pattern_that_does_not_compile_is_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CelSyntaxError):
        Checker().check("'a'.find('(never logged') == ''")
    assert capfd.readouterr().err == ""


def test_a_mistake_without_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    class Environment:
        def compile(self, _: str) -> object:
            raise RuntimeError("INVALID_ARGUMENT: too bad\nand\nmore")

    checker = Checker()
    monkeypatch.setattr(checker, "_environment", Environment())
    with pytest.raises(CelSyntaxError, match="compilation failed: too bad") as caught:
        checker.check("true")
    assert caught.value.mistakes == (Mistake(None, "too bad"),)


def test_a_mistake_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Environment:
        def compile(self, _: str) -> object:
            raise RuntimeError("ERROR: <input>:2:1: too short")

    checker = Checker()
    monkeypatch.setattr(checker, "_environment", Environment())
    with pytest.raises(CelSyntaxError) as caught:
        checker.check("true")
    assert caught.value.mistakes == (Mistake(4, "too short"),)


@pytest.mark.parametrize(
    ("expression", "depth"),
    [
        ("true", 0),
        ("'[1].all(x, true)' == ''", 0),
        ("[1].all(x, true)", 1),
        ("[1].all(x, true) && [2].exists(y, true)", 1),
        ("[1].all(x, [2].exists_one(y, (x) == (y)))", 2),
        ("(1) == 1 && [1].map(x, x) == [1].filter(x, true)", 1),
        (") && [1].all(x, true)", 1),
    ],
)
def test_how_deep_comprehensions_are_nested(expression: str, depth: int) -> None:
    assert limits.nesting(expression) == depth


@pytest.mark.parametrize(
    ("length", "commas", "largest", "refused"),
    [
        (1000, 999, 1, False),
        (1000, 1000, 1, True),
        (1000, 0, 1000, False),
        (1000, 0, 1001, True),
        (1, 0, 1_000_000, False),
        (1, 0, 1_000_001, True),
    ],
)
def test_the_limit_of_cost(length: int, commas: int, largest: int, refused: bool) -> None:
    expression = "," * commas + " " * (length - commas)
    try:
        limits.refuse_cost(expression, 1, largest)
    except CelUnsupported:
        assert refused
    else:
        assert not refused


@pytest.mark.parametrize(("name", "makes"), [("parseJSON", 1), ("split", 1), ("findAll", 1), ("find", 0)])
def test_what_makes_lists_from_texts(name: str, makes: int) -> None:
    assert limits.makes_lists(frozenset({name, "size"})) is bool(makes)


@pytest.mark.parametrize(
    ("view", "texts", "size"),
    [("abc", False, 0), ("abc", True, 2), ([1, 2, 3], False, 3), ({"a": [1, 2]}, False, 2), (7, True, 0)],
)
def test_the_largest_collection(view: object, texts: bool, size: int) -> None:
    assert limits.largest_collection(view, texts=texts) == size


@pytest.mark.parametrize(("count", "answered"), [(DEEPEST_JSON, True), (DEEPEST_JSON + 1, False)])
def test_the_limit_of_json(count: int, answered: bool) -> None:
    text = f"[{', '.join(['[]'] * (count - 2))}, {{}}]"
    if answered:
        assert isinstance(parse_json(text), list)
    else:
        with pytest.raises(CelUnsupported, match=f"more than {DEEPEST_JSON} brackets"):
            parse_json(text)


def test_the_view_of_a_sparse_cluster() -> None:
    assert viewed({"metadata": {"name": "c"}}) == {
        "metadata": {"name": "c"},
        "spec": {"hubAcceptsClient": False},
        "status": {"conditions": None, "version": {}},
    }
    assert viewed({"spec": {"taints": [{}]}})["spec"]["taints"] == [
        {"key": "", "effect": "", "timeAdded": None}
    ]


METADATA = {
    "name": "c",
    "uid": "u",
    "generation": 2,
    "labels": {"l": "1"},
    "annotations": {"a": "1"},
    "ownerReferences": [{"name": "o"}],
    "finalizers": ["f"],
    "creationTimestamp": NOW,
    "deletionTimestamp": NOW,
}


def test_the_metadata_that_cel_sees() -> None:
    """The fields that are kept of ObjectMeta. Expressions that name others are not answered."""
    assert viewed({"metadata": METADATA | {"unknown": 1}})["metadata"] == METADATA
    found = run(cluster("c1"), placement(predicates=cel("has(managedCluster.metadata.resourceVersion)")))
    assert found.unsupported


@pytest.mark.parametrize(
    ("value", "integer"),
    [
        (9e18, 9 * 10**18),
        (-9e18, -9 * 10**18),
        (2.0**63, -(2**63)),
        (1.5 * 2.0**63, -(2**63)),
        (-1.5 * 2.0**63, -(2**63)),
        (2.0**64, -(2**63)),
        (5.0**63, -(2**63)),
        (-(2.0**63), -(2**63)),
        (math.inf, -(2**63)),
    ],
)
def test_the_ends_of_int64(value: float, integer: int) -> None:
    assert go_int64(value) == integer


@pytest.mark.parametrize(
    ("values", "sums"),
    [
        ([0, 2**62], [0, -(2**63)]),
        ([0, -(2**62) - 1], [0, 2**63 - 2]),
        ([0, -(2**62)], [0, -(2**63)]),
        ([2**62 - 1, 0], [2**63 - 2, 0]),
    ],
)
def test_when_sums_wrap(values: list[int], sums: list[int]) -> None:
    prioritizer = Prioritizer(built_in=None, resource="r", score="a", weight=2)
    assert add_up([PrioritizerResult(prioritizer, values)], 2) == sums


@pytest.mark.parametrize(("text", "infinite"), [("9" * 400, math.inf), ("-" + "9" * 400, -math.inf)])
def test_a_number_of_many_digits_is_infinite(text: str, infinite: float) -> None:
    assert parse(text).approximate() == infinite


def test_quantities_differ() -> None:
    assert parse("1") != parse("2")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.9765625Ki", "1k"),
        ("1Ki", "1Ki"),
        ("8Ki", "8Ki"),
        ("1024Mi", "1Gi"),
        ("0", "0"),
        ("00", "0"),
        ("01Ki", "01Ki"),
        ("9223372036854775807", "9223372036854775807"),
        ("1n", "1n"),
        ("1u", "1u"),
        ("1m", "1m"),
        ("1k", "1k"),
        ("1M", "1M"),
        ("1G", "1G"),
        ("1T", "1T"),
        ("1P", "1P"),
        ("1E", "1E"),
        ("1Mi", "1Mi"),
        ("1Gi", "1Gi"),
        ("1Ti", "1Ti"),
        ("1Pi", "1Pi"),
        ("1Ei", "1Ei"),
    ],
)
def test_the_canonical_text(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


def named(name: str, **spec: Any) -> dict[str, Any]:
    document = placement(**spec)
    document["metadata"]["name"] = name
    return document


def test_decisions_of_a_name_that_is_no_label_value_stay() -> None:
    """OCM cannot select them, so it neither counts nor deletes them."""
    old = decision("c1", name="old", placement=LONG_NAME)
    verdict = simulate(hub(cluster("c1"), old, named(LONG_NAME, numberOfClusters=1)), f"ns/{LONG_NAME}", NOW)
    assert verdict.current == frozenset()
    assert verdict.after["old"] == ("c1",)


def test_an_error_that_is_no_mistake_in_the_placement() -> None:
    document = named(LONG_NAME, prioritizerPolicy=exact(("Steady", 1)))
    verdict = simulate(hub(cluster("c1"), document), f"ns/{LONG_NAME}", NOW)
    assert verdict.status.code is Code.ERROR
    assert [note for note in verdict.notes if note.startswith("an error (values[0][")]


CONTRADICTION = [{"key": "k", "operator": "Exists", "value": "v"}]


def test_tolerations_are_checked_only_for_clusters() -> None:
    assert run(placement(tolerations=CONTRADICTION)).status.code is Code.SUCCESS
    assert run(cluster("c1"), placement(tolerations=CONTRADICTION)).status.code is Code.MISCONFIGURED


def test_the_data_of_a_verdict_that_ended_early() -> None:
    shown = plain(run(cluster("c1"), placement(tolerations=CONTRADICTION)))
    assert [found["name"] for found in shown["filters"]] == ["Predicate"]
    assert shown["prioritizers"] == []


def disabled(**spec: Any) -> dict[str, Any]:
    document = placement(**spec)
    document["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    return document


def test_a_disabled_placement_has_no_conditions_if_it_would_panic() -> None:
    shown = plain(run(cluster("c1"), disabled(numberOfClusters=-1)))
    assert (shown["outcome"], shown["satisfied"], shown["misconfigured"]) == ("Disabled", None, None)


def test_a_disabled_placement_has_no_notes_on_its_decisions() -> None:
    notes = run(cluster("c1"), decision("c1"), disabled(tolerations=CONTRADICTION)).notes
    assert notes == ("scheduling is disabled by annotation: PlacementDecisions stay as they are",)


def test_a_verdict_without_an_answer() -> None:
    verdict = run(cluster("c1"), placement(predicates=cel(FORMAT)))
    assert (verdict.outcome, verdict.satisfied, verdict.groups) == (Outcome.UNSUPPORTED, None, ())
    assert verdict.notes == (str(verdict.unsupported[0]),)


def test_which_evictions_are_due_to_a_mistake() -> None:
    strategy = {
        "groupStrategy": {
            "decisionGroups": [
                {"groupName": "a", "groupClusterSelector": {"labelSelector": {"matchLabels": {"g": "a"}}}},
                {"groupName": "b", "groupClusterSelector": {"labelSelector": {"matchLabels": {"!": "b"}}}},
            ]
        }
    }
    objects = [cluster("c1", labels={"g": "a"}), cluster("c2"), decision("c1", "c2")]
    assert not run(*objects, placement(numberOfClusters=0)).evicts_everything
    assert not run(*objects, placement(decisionStrategy=strategy)).evicts_everything
    assert not run(*objects[:2], placement(tolerations=CONTRADICTION)).evicts_everything
    assert run(*objects, placement(tolerations=CONTRADICTION)).evicts_everything


@pytest.mark.parametrize("percentage", ["abc%", "5", "%"])
def test_what_is_no_percentage(percentage: str) -> None:
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": percentage}}
    verdict = run(cluster("c1"), placement(decisionStrategy=strategy))
    assert verdict.status.message == f"{percentage} invalid type: string is not a percentage"


@pytest.mark.parametrize("spec", [None, {}, {"clusterSelector": {}}])
def test_a_set_without_a_selector_is_that_of_the_label(spec: dict[str, Any] | None) -> None:
    objects = hub(cluster("c1"), placement())
    objects[0]["spec"] = spec
    assert simulate(objects, "ns/p", NOW).candidates == ("c1",)


def test_a_pass_that_failed_has_no_sets() -> None:
    objects = hub(cluster("c1"), placement())
    objects[0]["spec"] = {"clusterSelector": {"selectorType": "X"}}
    verdict = simulate(objects, "ns/p", NOW)
    assert (verdict.outcome, verdict.membership) == (Outcome.FAILED, Membership(0, (), ()))


def test_the_first_of_several_tolerations_of_one_cluster() -> None:
    taints = [{"key": key, "effect": "NoSelect", "timeAdded": NOW} for key in ("late", "early")]
    tolerations = [
        {"key": key, "operator": "Exists", "tolerationSeconds": seconds}
        for key, seconds in (("late", 600), ("early", 300))
    ]
    verdict = run(cluster("c1", taints=taints), decision("c1"), placement(tolerations=tolerations))
    assert verdict.requeue_at is not None
    assert timestamp(verdict.requeue_at) == "2026-06-01T00:05:00Z"


def test_a_toleration_that_ended_before_the_first_year() -> None:
    taint = {"key": "k", "effect": "NoSelect", "timeAdded": "0001-01-02T00:00:00Z"}
    toleration = {"key": "k", "operator": "Exists", "tolerationSeconds": -200_000}
    verdict = run(cluster("c1", taints=[taint]), placement(tolerations=[toleration]))
    assert verdict.dropped["c1"].reason == (
        "taint k:NoSelect is not tolerated since 0001-01-01T00:00:00+00:00 (tolerationSeconds -200000)"
    )


def test_a_built_in_prioritizer_with_a_score_has_no_note() -> None:
    found = explain(run(cluster("c1"), placement(prioritizerPolicy=exact(("Steady", 1)))), "c1")
    assert [(part.score, part.note) for part in found.contributions] == [(0, "")]


def test_one_point_breaks_a_tie() -> None:
    policy = exact(("r/a", 1))
    objects = [cluster("c1"), cluster("c2"), placement(numberOfClusters=1, prioritizerPolicy=policy)]
    assert [str(explain(run(*objects), name).nearest) for name in ("c1", "c2")] == [
        "AddOn/r/a falls from 0 to -1",
        "AddOn/r/a rises from 0 to 1",
    ]


def test_which_clusters_have_no_score() -> None:
    state = HubState.build(
        [cluster("c1"), cluster("c2"), cluster("c3"), score("c2", b=1), score("c3", a=5, until=NOW)]
    )
    later = run(placement()).now
    column = state.score_table.column("r", "a", later)
    assert (column.absent, column.expired) == (frozenset({0, 1}), frozenset())
    assert column.values == (0, 0, 5)


def test_the_name_of_what_is_no_object() -> None:
    assert describe(5, 3) == "objects[3]"
    assert describe({"metadata": {"name": "n"}}, 3) == "objects[3] (no kind n)"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"kind": ["x"]}, "has kind ['x']"),
    ],
)
def test_other_objects_are_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(SimulatorInputError) as caught:
        HubState.build([document])
    assert words in str(caught.value)


def test_the_first_ten_placements_are_named() -> None:
    documents = [named(f"p{number:02}") for number in range(11)]
    with pytest.raises(SimulatorInputError) as caught:
        HubState.build(documents).placement("ns/x")
    assert str(caught.value).endswith(", ns/p09")


def test_no_placement_is_named() -> None:
    with pytest.raises(SimulatorInputError, match=r"; Placements given: none$"):
        HubState.build([cluster("c1")]).placement("ns/x")


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        ({"capacity": {"cpu": "2"}}, None),
        ({"allocatable": {"cpu": "2"}}, None),
        ({"capacity": {"memory": "2"}, "allocatable": {"cpu": "2"}}, None),
        ({"capacity": {"cpu": "2"}, "allocatable": {"memory": "2"}}, None),
        ({"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1500m"}}, 1.5),
    ],
)
def test_a_resource_counts_if_both_fields_have_it(status: dict[str, Any], cpu: float | None) -> None:
    assert HubState.build([cluster("c1", status=status)]).allocatable["cpu"] == (cpu,)


def conditions(*objects: dict[str, Any]) -> list[list[str]]:
    verdict = simulate(objects, "ns/p", NOW)
    return [found.to_list() for found in (verdict.satisfied, verdict.misconfigured) if found]


WELL = ["False", "Succeedconfigured", "Placement configurations check pass"]


@pytest.mark.parametrize(
    ("objects", "satisfied"),
    [
        (
            [placement()],
            [
                "False",
                "NoManagedClusterSetBindings",
                "No valid ManagedClusterSetBindings found in placement namespace",
            ],
        ),
        (
            hub(placement(clusterSets=["a", "b"])),
            ["False", "NoIntersection", "None of ManagedClusterSets [a,b] is bound to placement namespace"],
        ),
        (
            hub(placement()),
            [
                "False",
                "AllManagedClusterSetsEmpty",
                "All ManagedClusterSets [s1] have no member ManagedCluster",
            ],
        ),
        (
            hub(cluster("c1"), placement(predicates=cel("false"))),
            ["False", "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate"],
        ),
        (
            hub(cluster("c1"), placement()),
            ["True", "AllDecisionsScheduled", "All cluster decisions scheduled"],
        ),
        (
            hub(cluster("c1"), placement(numberOfClusters=3)),
            ["False", "NotAllDecisionsScheduled", "2 cluster decisions unscheduled"],
        ),
    ],
)
def test_the_conditions(objects: list[dict[str, Any]], satisfied: list[str]) -> None:
    assert conditions(*objects) == [satisfied, WELL]


def test_a_decision_without_the_label_belongs_to_no_placement() -> None:
    document = decision("c1")
    del document["metadata"]["labels"]
    state = HubState.build([cluster("c1"), document])
    assert state.decisions_of == {}
    assert state.decision_counts == {"c1": 1}


def typed(*documents: dict[str, Any]) -> HubState:
    """A hub of typed objects, as the reconciler keeps them."""
    return HubState.of(
        clusters=[msgspec.convert(found, ManagedCluster) for found in documents],
        sets=[msgspec.convert({"metadata": {"name": "s1"}}, ManagedClusterSet)],
        bindings=[("ns", "s1"), ("other", "s1")],
        placements=[msgspec.convert(placement(), Placement)],
        decisions=decisions(("ns", "c1")),
        scores=HubState.build([score("c1", a=1)]).scores,
    )


def decisions(*found: tuple[str, str]) -> list[PlacementDecision]:
    return [
        msgspec.convert(decision(name, namespace=namespace), PlacementDecision) for namespace, name in found
    ]


def test_a_hub_of_typed_objects() -> None:
    state = typed(cluster("c2", status={"capacity": {"cpu": "1"}}), cluster("c1"))
    assert state.names == ("c1", "c2")
    assert list(state.placements) == [("ns", "p")]
    assert list(state.decisions) == [("ns", "p-decision-1")]
    assert state.bindings == {"ns": ("s1",), "other": ("s1",)}
    odd = typed(cluster("c1", status={"capacity": {"cpu": "x"}, "allocatable": {"cpu": "x"}}))
    assert odd.allocatable["cpu"] == (None,), "it counts as not reported"


def everything(state: HubState) -> dict[str, object]:
    """What was computed on demand."""
    names = [name for name, found in vars(HubState).items() if isinstance(found, cached_property)]
    return {name: getattr(state, name) for name in names}


def test_the_same_hub_with_other_decisions() -> None:
    state = typed(cluster("c1"), cluster("c2"))
    before = everything(state)
    other = state.deciding(decisions(("ns", "c2"), ("other", "c1")))
    assert list(other.decisions) == [("ns", "p-decision-1"), ("other", "p-decision-1")]
    assert other.decision_counts == {"c1": 1, "c2": 1}
    kept = {name for name, value in everything(other).items() if value is before[name]}
    assert kept == before.keys() - {"decision_counts", "decisions_of", "decisions_in"}


def test_the_same_hub_with_other_scores() -> None:
    state = typed(cluster("c1"), cluster("c2"))
    before = everything(state)
    other = state.scoring(HubState.build([score("c2", a=5)]).scores)
    now = run(placement()).now
    assert other.score_table.column("r", "a", now).values == (0, 5)
    kept = {name for name, value in everything(other).items() if value is before[name]}
    assert kept == before.keys() - {"score_table", "cel"}


def test_lists_may_be_empty_and_versions_written() -> None:
    document = {**cluster("c1"), "apiVersion": f"{GROUP}/v1"}
    assert HubState.build([{"kind": "List"}, {"kind": "List", "items": None}, document]).names == ("c1",)


@pytest.mark.parametrize("labels", ["x", ["x"]])
def test_labels_of_the_wrong_type_stay(labels: object) -> None:
    document = {"kind": "ManagedCluster", "metadata": {"name": "c", "labels": labels}}
    assert list(with_defaults([document])) == [document]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (Filtered, {"status", "unsupported"}),
        (Group, {"index", "name", "decisions"}),
        (PrioritizerResult, {"prioritizer", "status"}),
        (Ranking, {"selected"}),
        (Stage, {"name"}),
        (HubState, {"clusters", "sets", "bindings", "placements", "decisions"}),
    ],
)
def test_what_a_repr_shows(kind: type, shown: set[str]) -> None:
    """What grows with the number of clusters is left out of it."""
    assert {field.name for field in dataclasses.fields(kind) if field.repr} == shown


def test_the_repr_of_a_verdict_is_short() -> None:
    hidden = {field.name for field in dataclasses.fields(Verdict) if not field.repr}
    assert hidden == {"source", "state", "current"}
