"""Answers of Prometheus, read in pieces or as a whole, give the same series."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsf_agent.errors import AgentError, Reason
from dsf_agent.fetch import promjson
from dsf_agent.fetch.promjson import Series
from tests.support.laws import examples


def _read(body: bytes) -> Series:
    return asyncio.run(promjson.read(bytearray(body), where="query"))


def _data(series: Series) -> Any:
    return json.loads(b"[" + b",".join(bytes(part) for part in series.parts) + b"]")


def _answer(result: object, *, kind: str = "matrix", **more: object) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}, **more}, separators=(",", ":")
    ).encode()


def _large(count: int = 4000, **labels: str) -> list[dict[str, Any]]:
    """More than two megabytes, with few objects: they take the time of these tests."""
    value = f"{1.25:.300f}"
    return [
        {"metric": {"pod": f"p{n}", **labels}, "values": [[1700000000, value], [1700000030, value]]}
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "more", [{}, {"warnings": ["PromQL warning: x"], "infos": ["y"]}, {"stats": {"result": [{"metric": {}}]}}]
)
def test_a_large_matrix_is_forwarded_completely(more: dict[str, object]) -> None:
    result = _large()
    body = bytearray(_answer(result, **more))
    before = bytes(body)
    series = asyncio.run(promjson.read(body, where="query"))
    assert len(body) > 3 * promjson.PIECE / 2
    assert _data(series) == result
    assert series.count == len(result)
    assert len(series.parts) == 1
    assert bytes(body) == before
    assert asyncio.run(promjson.in_pieces(body, where="query")) == series, "the quick way was taken"
    assert list(series.warnings) == [*more.get("warnings", []), *more.get("infos", [])]  # type: ignore[call-overload]


def test_labels_that_look_like_seams() -> None:
    """Quotes inside a label are escaped, so they do not separate series."""
    result = _large(x='"},{"metric":{"a":"b"},"values":[', y='"result":[')
    series = _read(_answer(result))
    assert _data(series) == result


@pytest.mark.parametrize(
    "spelling", [{"indent": 1}, {"separators": (", ", ": ")}, {"separators": (",", ":"), "sort_keys": True}]
)
def test_any_formatting_of_json_is_read(spelling: dict[str, Any]) -> None:
    result = _large(6000)
    text = json.dumps({"status": "success", "data": {"result": result, "resultType": "matrix"}}, **spelling)
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
            "values": st.lists(st.tuples(st.integers(0, 2**40), st.text(max_size=5)).map(list), max_size=3),
        }
    )
)


@given(SERIES, st.integers(1, 60))
@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_and_whole_agree(result: list[dict[str, Any]], piece: int) -> None:
    body = _answer(result)
    whole = _read(body)
    pieces = asyncio.run(promjson.in_pieces(bytearray(body), where="query", piece=piece))
    assert _data(whole) == result
    assert pieces is None or (_data(pieces) == result and pieces.count == len(result))


def test_a_scalar_is_one_series_without_labels() -> None:
    assert _data(_read(_answer([1, "2"], kind="scalar"))) == [{"metric": {}, "values": [[1, "2"]]}]


@pytest.mark.parametrize("result", [[], None])
def test_no_series(result: object) -> None:
    """An empty result is no failure: the scoring API gets an empty list."""
    series = _read(_answer(result))
    assert (series.parts, series.count) == ((), 0)


def test_the_number_of_warnings_is_limited() -> None:
    """A source that warns for every series does not flood the log."""
    series = _read(_answer([], warnings=["w" * 10_000] * 1000))
    assert len(series.warnings) == promjson.MAX_WARNINGS
    assert max(map(len, series.warnings)) <= 400


@pytest.mark.parametrize("count", [3, 4000])
def test_a_partial_answer_of_victoria_metrics_is_a_warning(count: int) -> None:
    """Small or large: if some storage did not answer, the rest is scored. ``false`` gives no warning."""
    rows = json.dumps(_large(count), separators=(",", ":"))
    for partial, told in (("true", ("the answer is partial (isPartial)",)), ("false", ())):
        text = f'{{"status":"success","isPartial":{partial},"data":{{"resultType":"matrix","result":{rows}}},"stats":{{"seriesFetched":"4"}}}}'  # noqa: E501
        series = _read(text.encode())
        assert (series.count, series.warnings) == (count, told)


async def test_a_vector_of_any_number_of_samples_does_not_fill_the_memory() -> None:
    """It is decoded as a whole, and each sample needs many times its bytes in the answer."""
    samples = b",".join([b'{"metric":{},"value":[1,"1"]}'] * (promjson.MAX_OBJECTS // 2 + 1))
    body = b'{"status":"success","data":{"resultType":"vector","result":[%b]}}' % samples
    with pytest.raises(AgentError, match="more than 200000 series") as caught:
        await promjson.read(bytearray(body), where="source")
    assert caught.value.reason is Reason.TOO_LARGE
