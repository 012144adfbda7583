"""The table of scores is a mapping like any other, only smaller."""

import sys
from collections import defaultdict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.hub.scores import (
    NAMES,
    NAMES_LENGTH,
    NAMINGS,
    ScoreSummary,
    ScoreTable,
    score_summary,
)

KEYS = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")).map("/".join)
ITEMS = st.builds(
    ScoreSummary, st.floats(0, 9), st.integers(0, 3), st.none() | st.frozensets(st.sampled_from("pq"))
)


@given(st.lists(st.tuples(KEYS, ITEMS | st.none())))
def test_it_holds_what_a_dict_would(steps: list[tuple[str, ScoreSummary | None]]) -> None:
    table, plain = ScoreTable(), dict[str, ScoreSummary]()
    for key, item in steps:
        if item is None:
            assert table.pop(key, None) == plain.pop(key, None)
        else:
            table[key] = plain[key] = item
        assert dict(table.items()) == plain
        assert len(table) == len(plain)
    columns: dict[str, dict[str, ScoreSummary]] = defaultdict(dict)
    for key, item in plain.items():
        columns[key[2:]][key[0]] = item
    assert {name: dict(table.of(name)) for name in "xyz"} == {name: columns.get(name, {}) for name in "xyz"}


def test_equal_sets_of_names_are_kept_once_and_not_without_end() -> None:
    table = ScoreTable()
    for number in range(NAMINGS + 5):
        table[f"c{number}/cpu"] = ScoreSummary(1.0, 1, frozenset({f"node-{number}"}))
        table[f"c{number}/mem"] = ScoreSummary(1.0, 1, frozenset({"node-0"}))
    assert len({id(item.names) for item in table.of("mem").values()}) == 1
    assert sum(item.names is None for item in table.of("cpu").values()) == 5
    assert table.of("cpu")["c3"].has("node-3")
    assert not table.of("cpu")["c3"].has("node-4")
    assert table.of("cpu")[f"c{NAMINGS + 1}"].has("anything")


def test_a_score_costs_little() -> None:
    table = ScoreTable()
    for number in range(2000):
        table[f"cluster-{number}/cpu"] = ScoreSummary(1_700_000_000.5 + number, 1, frozenset({"cpu"}))
    assert sys.getsizeof(table.of("cpu")["cluster-7"]) <= 56


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["a" * NAMES_LENGTH], True),
        (["a" * NAMES_LENGTH, "b"], False),
        ([f"n{number}" for number in range(NAMES)], True),
        ([f"n{number}" for number in range(NAMES + 1)], False),
    ],
)
def test_long_names_are_not_kept_and_count_as_unknown(names: list[str], kept: bool) -> None:
    scores = [{"name": name, "value": 1} for name in names]
    item = {"metadata": {"name": "cpu", "namespace": "c1"}, "status": {"scores": scores}}
    _, summary = score_summary(msgspec.Raw(msgspec.json.encode(item)))
    assert summary.count == len(names)
    assert summary.names == (frozenset(names) if kept else None)
    assert summary.has("another") is not kept


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"b": 100, "a": -100}, (("a", -100), ("b", 100))),
        ({"a": 128}, None),
        ({"a": -129}, None),
        ({}, ()),
        ({f"n{number}": 1 for number in range(NAMES + 1)}, None),
    ],
)
def test_values_are_kept_where_names_are(
    values: dict[str, int], kept: tuple[tuple[str, int], ...] | None
) -> None:
    scores = [{"name": name, "value": value} for name, value in values.items()]
    item = {"metadata": {"name": "cpu", "namespace": "c1"}, "status": {"scores": scores}}
    _, summary = score_summary(msgspec.Raw(msgspec.json.encode(item)))
    assert summary.items() == kept
    table = ScoreTable()
    table["c0/cpu"], table["c1/cpu"] = summary, summary
    assert table.of("cpu")["c1"].items() == kept


def test_the_value_of_the_only_item_needs_no_object_of_its_own() -> None:
    first, second = (
        score_summary(
            msgspec.Raw(
                b'{"metadata":{"name":"cpu","namespace":"c"},"status":{"scores":[{"name":"cpu","value":42}]}}'
            )
        )[1]
        for _ in range(2)
    )
    assert first.values is second.values
