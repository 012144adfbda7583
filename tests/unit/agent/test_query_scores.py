"""Answers of Prometheus as series, in pieces or as a whole, and the series of a query as scores."""

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsf_agent.errors import AgentError
from dsf_agent.fetch import promjson
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.scoring import results
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.query import score
from dsf_agent.scoring.results import DROP_INVALID, ScoringResults
from dsf_wire.scored import Reason
from tests.support.agent.turns import with_turns
from tests.support.laws import examples

TEMPLATE = "${node}"


def _label_sets() -> LabelSets:
    return LabelSets(template=TEMPLATE, cluster="c1", score_name="s1")


def _series(*rows: object, separators: tuple[str, str] = (",", ":")) -> SeriesText:
    texts = [json.dumps(row, separators=separators).encode() for row in rows]
    parts = tuple(b",".join(texts[at : at + 2]) for at in range(0, len(texts), 2))
    return SeriesText(parts=parts, count=len(rows), size=sum(map(len, parts)))


def _row(node: str, value: str, **labels: str) -> dict[str, Any]:
    return {"metric": {"node": node, **labels}, "values": [[1_700_000_000.5, value]]}


async def _score(series: SeriesText) -> ScoringResults:
    return await score(series, label_sets=_label_sets())


async def _fetched(result: object, *, kind: str) -> SeriesText:
    body = json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}}
    ).encode()
    return await promjson.read([body], where="query")


async def test_the_value_of_each_series_is_its_score() -> None:
    found = await _score(
        _series(
            _row("a", "1.5"),
            {"metric": {"node": "b"}, "value": [1_700_000_000, "-2e3"]},
            {"metric": {"node": "c"}, "values": [[1, "7"], [2, "8"]]},
            {"metric": {"node": "d", "__name__": "up", "job": "x"}, "values": [[1, "0"]]},
        )
    )
    assert [
        (one.item, score) for one, score in zip(found.label_sets, found.scores, strict=True)
    ] == [
        ("a", 1.5),
        ("b", -2000.0),
        ("c", 8.0),
        ("d", 0.0),
    ]
    assert not found.dropped


ODD = {
    "a native histogram": (
        {"metric": {"node": "x"}, "histograms": [[1, {"count": "1"}]]},
        "native histogram",
    ),
    "no value": ({"metric": {"node": "x"}}, "it has no value"),
    "no points": ({"metric": {"node": "x"}, "values": []}, "it has no value"),
    "a word": (_row("x", "many"), "could not convert string to float"),
    "a number": ({"metric": {"node": "x"}, "values": [[1, 2]]}, "Expected `str`"),
    "a label that is none": ({"metric": {"node": 3}, "values": [[1, "2"]]}, "Expected `str`"),
}


@pytest.mark.parametrize("name", ODD)
async def test_an_unusual_series_is_dropped_alone_with_its_reason(name: str) -> None:
    row, words = ODD[name]
    found = await _score(_series(_row("a", "1"), row, _row("b", "2")))
    assert found.scores == [1.0, 2.0]
    assert dict(found.dropped) == {DROP_INVALID: 1}
    assert words in found.first_fault
    assert found.first_fault.startswith("series 1: ")


async def test_series_that_cannot_be_read_fail_the_cycle() -> None:
    with pytest.raises(AgentError, match="cannot be read") as caught:
        await _score(SeriesText(parts=(b'{"metric":{}',), count=1))
    assert caught.value.reason is Reason.INVALID_BODY


async def test_too_many_series_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 5000
    monkeypatch.setattr(LabelSets, "max_results", most)
    rows = [{"metric": {"node": f"n{node:06d}"}, "value": [1, "1"]} for node in range(most + 1)]
    with pytest.raises(AgentError, match="more than 5000 results") as caught:
        await _score(await _fetched(rows, kind="vector"))
    assert caught.value.reason is Reason.TOO_LARGE


async def test_other_tasks_run_between_the_pieces() -> None:
    """Otherwise a large answer would hold up /healthz and all other scorers."""
    rows = [_row(f"n{node:06d}", "1") for node in range(10_000)]
    series = SeriesText(parts=(b",".join(map(_compact, rows)),), count=len(rows))
    _, turns = await with_turns(_score(series))
    assert turns >= len(rows) // results.BATCH == 5


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@examples(40, soak=2000)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from(["node", "pod", "job"]), st.text(max_size=6), max_size=3
            ),
            st.floats(),
        ),
        max_size=16,
    ),
    st.integers(1, 8),
)
def test_it_scores_as_an_api_that_gives_back_the_values(
    rows: Iterable[tuple[dict[str, str], float]], cut: int
) -> None:
    found = list(rows)
    series = [{"metric": labels, "values": [[1, repr(value)]]} for labels, value in found]
    body = _compact({"results": [{"metric": labels, "score": value} for labels, value in found]})

    async def both() -> tuple[ScoringResults, ScoringResults]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dsf_agent.scoring.batches.BATCH", cut)
            by_query = await _score(_series(*series))
        return by_query, await results.read(body, where="api", label_sets=_label_sets())

    by_query, by_api = asyncio.run(both())
    assert by_query.label_sets == by_api.label_sets
    assert by_query.scores == by_api.scores
    assert by_query.dropped == by_api.dropped


def _chunks(body: bytes, size: int = promjson.PIECE // 4) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


def _read(body: bytes) -> SeriesText:
    return asyncio.run(promjson.read(_chunks(body), where="query"))


def _data(series: SeriesText) -> Any:
    return json.loads(b"[" + b",".join(bytes(part) for part in series.parts) + b"]")


def _answer(result: object, *, kind: str = "matrix", **more: object) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}, **more},
        separators=(",", ":"),
    ).encode()


def _large(count: int = 4000, **labels: str) -> list[dict[str, Any]]:
    """More than two megabytes, with few objects: they take the time of these tests."""
    value = f"{1.25:.300f}"
    return [
        {"metric": {"pod": f"p{n}", **labels}, "values": [[1700000000, value], [1700000030, value]]}
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"warnings": ["PromQL warning: x"], "infos": ["y"]},
        {"stats": {"result": [{"metric": {}}]}},
    ],
)
def test_a_large_matrix_is_forwarded_completely(more: dict[str, object]) -> None:
    result = _large()
    chunks = _chunks(_answer(result, **more))
    assert len(chunks) > 6
    series = asyncio.run(promjson.in_pieces(list(chunks), where="query"))
    assert series is not None, "the quick way was taken"
    assert _data(series) == result
    assert series.count == len(result)
    assert len(series.parts) == 4
    assert asyncio.run(promjson.read(chunks, where="query")) == series
    assert chunks == []
    assert list(series.warnings) == [*more.get("warnings", []), *more.get("infos", [])]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "written",
    [
        partial(json.dumps, separators=(",", ":")),
        lambda answer: msgspec.json.format(json.dumps(answer), indent=1),
        json.dumps,
        partial(json.dumps, separators=(",", ":"), sort_keys=True),
    ],
    ids=["compact", "indented", "with spaces", "sorted"],
)
def test_any_formatting_of_json_is_read(written: Callable[[object], str]) -> None:
    """Quotes inside a label are escaped, so they do not separate series."""
    result = _large(x='"},{"metric":{"a":"b"},"values":[', y='"result":[')
    text = written({"status": "success", "data": {"result": result, "resultType": "matrix"}})
    series = _read(text.encode())
    assert series.count == len(result)
    assert _data(series) == result


DAMAGE = {
    "cut": lambda body: body[:-1],
    "cut in the middle": lambda body: body[: len(body) // 2],
    "more after the end": lambda body: body + b"}",
    "a hole": lambda body: body[: 2 << 20] + b"\0" + body[(2 << 20) + 1 :],
    "not UTF-8": lambda body: body.replace(b'"p3000"', b'"\xff"'),
    "no values are no series": lambda body: body.replace(
        b'{"metric":{"pod":"p3000"}', b'{"matrix":{"pod":"p3000"}'
    ),
    "a number among them": lambda body: body.replace(
        b'{"metric":{"pod":"p100"}', b'7,{"metric":{"pod":"p100"}'
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_anywhere_in_a_large_matrix_is_found(name: str) -> None:
    with pytest.raises(AgentError) as caught:
        _read(DAMAGE[name](_answer(_large())))
    assert caught.value.reason is Reason.INVALID_BODY


LABEL = st.dictionaries(st.text(max_size=6), st.text(max_size=12), max_size=3)
SERIES = st.lists(
    st.fixed_dictionaries(
        {
            "metric": LABEL,
            "values": st.lists(
                st.tuples(st.integers(0, 2**40), st.text(max_size=5)).map(list), max_size=3
            ),
        }
    )
)


@given(SERIES, st.integers(1, 60), st.integers(1, 60))
@settings(examples(25, soak=800), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_and_whole_agree(result: list[dict[str, Any]], piece: int, size: int) -> None:
    body = _answer(result)
    chunks = _chunks(body, size)
    pieces = asyncio.run(promjson.in_pieces(chunks, where="query", piece=piece))
    assert _data(_read(body)) == result
    assert b"".join(chunks) == (body if pieces is None else b"")
    assert pieces is None or (_data(pieces) == result and pieces.count == len(result))


def test_a_scalar_is_one_series_without_labels() -> None:
    assert _data(_read(_answer([1, "2"], kind="scalar"))) == [{"metric": {}, "values": [[1, "2"]]}]


@pytest.mark.parametrize("result", [[], None])
def test_no_series(result: object) -> None:
    series = _read(_answer(result))
    assert (series.parts, series.count) == ((), 0)


def test_the_number_of_warnings_is_limited() -> None:
    """A source that warns for every series does not flood the log."""
    series = _read(_answer([], warnings=["w" * 10_000] * 1000))
    assert len(series.warnings) == 10
    assert max(map(len, series.warnings)) <= 400


@pytest.mark.parametrize("count", [3, 4000])
def test_a_partial_answer_of_victoria_metrics_is_a_warning(count: int) -> None:
    """Small or large: if some storage did not answer, the rest is scored.

    ``false`` gives no warning.
    """
    rows = json.dumps(_large(count), separators=(",", ":"))
    for answer, told in (("true", ("the answer is partial (isPartial)",)), ("false", ())):
        text = f'{{"status":"success","isPartial":{answer},"data":{{"resultType":"matrix","result":{rows}}},"stats":{{"seriesFetched":"4"}}}}'  # noqa: E501
        series = _read(text.encode())
        assert (series.count, series.warnings) == (count, told)


async def test_a_vector_of_any_number_of_samples_does_not_fill_the_memory() -> None:
    """It is decoded as a whole, and each sample needs many times its bytes in the answer."""
    samples = b",".join([b'{"metric":{},"value":[1,"1"]}'] * (promjson.MAX_OBJECTS // 2 + 1))
    body = b'{"status":"success","data":{"resultType":"vector","result":[%b]}}' % samples
    with pytest.raises(AgentError, match="more than 200000 series") as caught:
        await promjson.read([body], where="source")
    assert caught.value.reason is Reason.TOO_LARGE
