"""Large answers of a scoring API."""

import json
from collections.abc import Iterable

import pytest

from dsf_agent.errors import AgentError
from dsf_agent.scoring import results
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import ScoringResults
from dsf_wire.scored import Reason


def _label_sets() -> LabelSets:
    return LabelSets(template="${node}", cluster="c1", score_name="s1")


def _body(rows: Iterable[object], *, separators: tuple[str, str] = (",", ":")) -> bytes:
    return json.dumps({"results": list(rows)}, separators=separators).encode()


def _row(node: int) -> dict[str, object]:
    return {"metric": {"node": f"n{node:07d}", "pod": "p0"}, "score": 1.5}


async def _read(body: bytes, *, max_results: int = LabelSets.max_results) -> ScoringResults:
    label_sets = _label_sets()
    label_sets.max_results = max_results
    return await results.read(body, where="api", label_sets=label_sets)


async def test_more_results_than_an_agent_reads_are_refused() -> None:
    rows = [_row(node) for node in range(11)]
    assert len((await _read(_body(rows[:10]), max_results=10)).scores) == 10
    with pytest.raises(AgentError, match="more than 10 results") as caught:
        await _read(_body(rows), max_results=10)
    assert caught.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("element", [b"0", b"{}", b'{"a":{}}', b"[]"])
async def test_an_answer_of_millions_of_values_is_refused_before_it_is_decoded(
    element: bytes,
) -> None:
    """In memory each would need far more than in the answer."""
    body = b'{"results":[' + b",".join([element] * 2_000_000) + b"]}"
    with pytest.raises(AgentError) as caught:
        await _read(body)
    assert caught.value.reason is Reason.TOO_LARGE


ODD = {
    "an unknown key first": lambda rows: [{"unit": "cores", **row} for row in rows],
    "a bad result": lambda rows: [*rows[:700], {"score": "high"}, *rows[700:]],
    "deeper ones": lambda rows: [{**row, "why": [rows[0], rows[1]]} for row in rows],
    "NaN": lambda rows: [*rows, {"metric": {}, "score": float("nan")}],
    "seams in strings": lambda rows: [
        {**row, "metric": {"node": '"},{"metric":{}'}} for row in rows
    ],
    "spaces": lambda rows: rows,
}


@pytest.mark.parametrize("name", ODD)
async def test_a_large_answer_in_any_formatting_is_read(name: str) -> None:
    rows = ODD[name]([_row(node) for node in range(4000)])
    found = await _read(_body(rows, separators=(" , ", " : ") if name == "spaces" else (",", ":")))
    assert len(found.scores) == 4000
    assert found.dropped.total() == len(rows) - 4000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"results":[1',
        b'{"results":[1]} x',
        b'{"more":1}',
        b'{"results":null}',
        b'{"results":[{"metric":{},"score":NaN}',
        b'{"results":[{"metric":{},"score":NaN}]} {}',
        b'{"results":[NaN 2]}',
        b'{"results":NaN}',
        b"[" * 100_000,
    ],
)
async def test_other_texts_are_refused(body: bytes) -> None:
    with pytest.raises(AgentError) as caught:
        await _read(body)
    assert caught.value.reason is Reason.INVALID_BODY
