"""The columns of scores are a mapping like any other, only smaller."""

import sys
from collections import defaultdict

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.scores import Interner, Score, score_of
from gitops_dsf.reconciler.hub.kinds import ScoreColumns

KEYS = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")).map("/".join)
ITEMS = st.builds(score_of, st.dictionaries(st.sampled_from("pq"), st.integers(-100, 100)))


@given(st.lists(st.tuples(KEYS, ITEMS | st.none())))
def test_it_holds_what_a_dict_would(steps: list[tuple[str, Score | None]]) -> None:
    table, plain = ScoreColumns(), dict[str, Score]()
    for key, item in steps:
        if item is None:
            assert table.pop(key, None) == plain.pop(key, None)
        else:
            table[key] = plain[key] = item
        assert dict(table.items()) == plain
        assert len(table) == len(plain)
    columns: dict[str, dict[str, Score]] = defaultdict(dict)
    for key, item in plain.items():
        columns[key[2:]][key[0]] = item
    assert table.columns == columns


def test_a_score_costs_little_and_equal_parts_are_shared() -> None:
    interner = Interner()
    first, second = (interner.score(None, ("cpu",), (int("-42"),)) for _ in range(2))
    assert sys.getsizeof(first) <= 56
    assert first.values is second.values
    assert first.names is second.names
    assert msgspec.structs.asdict(first)["on_hub"] is False
