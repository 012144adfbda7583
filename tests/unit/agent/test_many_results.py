"""Answers with more results than an agent keeps: which results are kept, and what happens with the others."""

import json
import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.errors import Reason, ScoreError
from dsf_agent.scoring import lenient, results
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import DROP_EXCESS, MAX_RESULTS, PIECE, Results


def _label_sets() -> LabelSets:
    return LabelSets(template="${node}", cluster="c1", score_name="s1")


def _body(rows: Iterable[object], *, separators: tuple[str, str] = (",", ":")) -> bytearray:
    return bytearray(json.dumps({"results": list(rows)}, separators=separators).encode())


def _row(node: int, *, pod: int = 0, score: float = 1.5) -> dict[str, object]:
    return {"metric": {"node": f"n{node:07d}", "pod": f"p{pod}"}, "score": score}


async def _read(body: bytearray, *, most: int = MAX_RESULTS) -> Results:
    label_sets = _label_sets()
    label_sets.most_results = most
    return await results.read(body, where="api", label_sets=label_sets)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
async def test_the_first_items_by_name_are_kept_whatever_their_order(separators: tuple[str, str]) -> None:
    """So every answer with these items publishes the same ones. The others are counted."""
    most = 5000
    rows = [_row(node) for node in range(2 * most)]
    random.Random(1).shuffle(rows)
    read = await _read(_body(rows, separators=separators), most=most)
    assert {one.item for one in read.label_sets} == {f"n{node:07d}" for node in range(most)}
    assert read.scores == [1.5] * most
    assert dict(read.dropped) == {DROP_EXCESS: most}
    assert read.total == 2 * most
    assert "more than 5000 results" in read.first_fault


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=30), st.integers(1, 12))
async def test_an_item_keeps_all_of_its_results_or_none(given_rows: list[tuple[int, int]], most: int) -> None:
    """Otherwise an aggregate would be computed from a part. Only an item that alone has too many keeps
    the first of them.
    """
    label_sets, found = _label_sets(), Results(most=most)
    for number, (node, pod) in enumerate(given_rows):
        labels = (f"n{node}" if node else "", "", "", "", f"p{pod}", "", "")
        found.add(label_sets.of(labels), float(number), where="")
    whole = list(zip([one.item for one in found.label_sets], found.scores, strict=True))
    await found.cut()
    kept = list(zip([one.item for one in found.label_sets], found.scores, strict=True))
    assert len(kept) <= most
    assert len(kept) + found.dropped[DROP_EXCESS] == len(whole)
    assert kept == [one for one in whole if one in kept], "the order of the answer"
    names = sorted({item or results.LAST for item, _ in whole})
    for name in names[:-1]:
        later = {item or results.LAST for item, _ in kept if (item or results.LAST) > name}
        if later:
            item = "" if name == results.LAST else name
            assert [one for one in whole if one[0] == item] == [one for one in kept if one[0] == item]
    if whole:
        assert kept


async def test_one_item_of_too_many_results_keeps_the_first() -> None:
    """In the order of the answer."""
    rows = [_row(1, pod=pod, score=pod) for pod in range(MAX_RESULTS + 7)]
    read = await _read(_body(rows))
    assert read.scores == [float(pod) for pod in range(MAX_RESULTS)]
    assert dict(read.dropped) == {DROP_EXCESS: 7}
    assert "more than 50000 results" in read.first_fault


async def test_results_without_an_item_are_dropped_first() -> None:
    """They are only on /metrics."""
    nameless = [{"metric": {"pod": f"p{pod}"}, "score": 2} for pod in range(MAX_RESULTS)]
    read = await _read(_body([*nameless, *(_row(node) for node in range(10))]))
    assert {one.item for one in read.label_sets} == {f"n{node:07d}" for node in range(10)}


ODD = {
    "an unknown key first": lambda rows: [{"unit": "cores", **row} for row in rows],
    "a bad result": lambda rows: [*rows[:700], {"score": "high"}, *rows[700:]],
    "deeper ones": lambda rows: [{**row, "why": [rows[0], rows[1]]} for row in rows],
    "NaN": lambda rows: [*rows, {"metric": {}, "score": float("nan")}],
    "seams in strings": lambda rows: [{**row, "metric": {"node": '"},{"metric":{}'}} for row in rows],
    "spaces": lambda rows: rows,
}


@pytest.mark.parametrize("name", ODD)
async def test_reading_in_pieces_gives_the_same_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any formatting of a large answer."""
    rows = ODD[name]([_row(node) for node in range(4000)])
    body = _body(rows, separators=(" , ", " : ") if name == "spaces" else (",", ":"))
    assert len(body) > 2 * PIECE
    pieces = await _read(body)
    monkeypatch.setattr(results, "PIECE", len(body))
    whole = await _read(body)
    assert pieces == whole
    assert len(pieces.scores) == 4000


async def test_unusual_answers_are_read_up_to_a_number_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty million zeros in an answer of 64 MB would keep the agent busy for minutes."""
    monkeypatch.setattr(results, "MAX_UNUSUAL", PIECE)
    body = bytearray(b'{"results":[' + b"0," * (2 * PIECE) + b"0]}")
    with pytest.raises(ScoreError, match="unusual formatting") as caught:
        await _read(body)
    assert caught.value.reason is Reason.TOO_LARGE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=12), st.booleans())
def test_the_size_of_the_window_does_not_matter(rows: list[object], tight: bool) -> None:
    """Values end anywhere in a window, also numbers and characters of several bytes."""
    body = json.dumps(
        {"more": rows, "results": rows}, separators=(",", ":") if tight else None, ensure_ascii=False
    ).encode("utf-8", "surrogatepass")
    if b"\xed" in body:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lenient, "WINDOW", 3)
        assert list(lenient.elements(bytearray(body))) == rows


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"results":[1',
        b'{"results":[1]',
        b'{"results":[1]} x',
        b'{"more":1}',
        b'{"results":[1 2]}',
        b'{"results":["' + b"x" * (2 * lenient.LONGEST_VALUE) + b'"]}',
    ],
)
def test_other_texts_are_refused(body: bytes) -> None:
    """Each is an error, and a value without end is an error because it is too long."""
    with pytest.raises(ValueError):  # noqa: PT011 - each has words of its own
        list(lenient.elements(bytearray(body)))
