"""One case on each side of limits that the other tests do not come near."""

import gzip
import json
import math
from functools import cached_property
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSet, Placement, PlacementDecision
from gitops_dsf.simulator import Code, HubState, Unsupported, simulate
from gitops_dsf.simulator.cel import limits
from gitops_dsf.simulator.cel.checker import CelSyntaxError, Checker
from gitops_dsf.simulator.cel.function import CelUnsupported
from gitops_dsf.simulator.cel.score_functions import parse_json
from gitops_dsf.simulator.prioritizers import Prioritizer, PrioritizerResult, go_int64
from gitops_dsf.simulator.quantity import QuantityError, parse, pow10
from gitops_dsf.simulator.ranking import add_up
from tests.unit.simulator.hub import (
    GROUP,
    NOW,
    ORACLE,
    cel,
    cluster,
    decision,
    hub,
    placement,
    plain,
    run,
    score,
    viewed,
)

DEEPEST_JSON = 200

FORMAT = "'%d'.format([1]) == '1'"
"""An expression that the simulator does not answer."""


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


def test_a_mistake_without_a_place_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    checker, error = Checker(), RuntimeError("INVALID_ARGUMENT: too bad\nand\nmore")
    monkeypatch.setattr(checker, "_environment", Mock(compile=Mock(side_effect=error)))
    with pytest.raises(CelSyntaxError) as caught:
        checker.check("true")
    assert caught.value.mistakes == (Mistake("too bad", offset=None),)


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


@pytest.mark.parametrize(("count", "answered"), [(DEEPEST_JSON, True), (DEEPEST_JSON + 1, False)])
def test_the_limit_of_json(count: int, answered: bool) -> None:
    text = f"[{', '.join(['[]'] * (count - 2))}, {{}}]"
    if answered:
        assert isinstance(parse_json(text), list)
    else:
        with pytest.raises(CelUnsupported, match=f"more than {DEEPEST_JSON} brackets"):
            parse_json(text)


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
    found = run(
        cluster("c1"), placement(predicates=cel("has(managedCluster.metadata.resourceVersion)"))
    )
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
        (math.nan, -(2**63)),
        (1.9, 1),
        (-1.9, -1),
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


CONTRADICTION = [{"key": "k", "operator": "Exists", "value": "v"}]


def test_tolerations_are_checked_only_for_clusters() -> None:
    assert run(placement(tolerations=CONTRADICTION)).status.code is Code.SUCCESS
    assert (
        run(cluster("c1"), placement(tolerations=CONTRADICTION)).status.code is Code.MISCONFIGURED
    )


def disabled(**spec: Any) -> dict[str, Any]:
    document = placement(**spec)
    document["metadata"]["annotations"] = {f"{GROUP}/experimental-scheduling-disable": "true"}
    return document


def test_a_disabled_placement_has_no_conditions_if_it_would_panic() -> None:
    shown = plain(run(cluster("c1"), disabled(numberOfClusters=-1)))
    assert (shown["outcome"], shown["satisfied"], shown["misconfigured"]) == (
        "Disabled",
        None,
        None,
    )


def test_which_evictions_are_due_to_a_mistake() -> None:
    strategy = {
        "groupStrategy": {
            "decisionGroups": [
                {
                    "groupName": "a",
                    "groupClusterSelector": {"labelSelector": {"matchLabels": {"g": "a"}}},
                },
                {
                    "groupName": "b",
                    "groupClusterSelector": {"labelSelector": {"matchLabels": {"!": "b"}}},
                },
            ]
        }
    }
    objects = [cluster("c1", labels={"g": "a"}), cluster("c2"), decision("c1", "c2")]
    assert not run(*objects, placement(numberOfClusters=0)).evicts_everything
    assert not run(*objects, placement(decisionStrategy=strategy)).evicts_everything
    assert not run(*objects[:2], placement(tolerations=CONTRADICTION)).evicts_everything
    assert run(*objects, placement(tolerations=CONTRADICTION)).evicts_everything


@pytest.mark.parametrize("spec", [None, {}, {"clusterSelector": {}}])
def test_a_set_without_a_selector_is_that_of_the_label(spec: dict[str, Any] | None) -> None:
    objects = hub(cluster("c1"), placement())
    objects[0]["spec"] = spec
    assert simulate(objects, "ns/p", NOW).candidates == ("c1",)


def test_which_clusters_have_no_score() -> None:
    state = HubState.build(
        [cluster("c1"), cluster("c2"), cluster("c3"), score("c2", b=1), score("c3", a=5, until=NOW)]
    )
    later = run(placement()).now
    column = state.score_table.column("r", "a", later)
    assert (column.absent, column.expired) == (frozenset({0, 1}), frozenset())
    assert column.values == (0, 0, 5)


def test_a_namespace_without_bindings() -> None:
    verdict = simulate([placement()], "ns/p", NOW)
    assert verdict.satisfied is not None
    assert (verdict.satisfied.status, verdict.satisfied.reason) == (
        False,
        "NoManagedClusterSetBindings",
    )


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
        msgspec.convert(decision(name, namespace=namespace), PlacementDecision)
        for namespace, name in found
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


QUANTITIES = json.loads(gzip.decompress((ORACLE / "cel.json.gz").read_bytes()))["quantities"]


def test_parses_as_kubernetes_does() -> None:
    """Hundreds of texts, accepted and refused: the same float to the last bit, the same canonical
    text.
    """
    wrong = []
    for text, number, canonical in QUANTITIES:
        try:
            parsed = parse(text)
            found = (parsed.approximate().hex(), str(parsed))
        except QuantityError:
            found = (None, None)
        if found != (number, canonical):
            wrong.append(f"{text!r}: Kubernetes {number} {canonical}, here {found}")
    assert len(QUANTITIES) > 800
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "other"), [("1", "1000m"), ("1Gi", "1048576Ki"), ("1e3", "1k"), ("0.5", "500m")]
)
def test_equality_is_that_of_the_value(text: str, other: str) -> None:
    """Two spellings of a number are equal and hash alike."""
    assert parse(text) == parse(other)
    assert hash(parse(text)) == hash(parse(other))


@pytest.mark.parametrize("text", ["", "x", "1e" + "9" * 30, "1 Gi", "0x10"])
def test_what_is_no_quantity(text: str) -> None:
    """A text Kubernetes refuses is an error."""
    with pytest.raises(QuantityError):
        parse(text)


@pytest.mark.parametrize(
    ("exponent", "value"),
    [
        (0, 1.0),
        (3, 1e3),
        (-3, 1e-3),
        (308, 1e308),
        (309, float("inf")),
        (-323, 1e-323),
        (-324, 0.0),
    ],
)
def test_pow10(exponent: int, value: float) -> None:
    """Go's table, with its ends."""
    assert pow10(exponent) == value


@pytest.mark.parametrize("text", ["1e2000", "1e-2000", "9" * 5_000, "0." + "0" * 5_000 + "1"])
def test_more_digits_than_anybody_needs_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="at most 1000 digits"):
        parse(text)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 400])
def test_a_number_beyond_every_float_is_infinite(text: str) -> None:
    assert parse(text).approximate() == float("-inf" if text.startswith("-") else "inf")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("1.0Ki", "1Ki"), ("1.5Ki", "1536"), ("0.5Mi", "512Ki")),
        *(
            ("1000.0", "1k"),
            ("0.1n", "1n"),
            ("1000e3", "1e6"),
            ("0.9765625Ki", "1k"),
            ("01Ki", "01Ki"),
        ),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
