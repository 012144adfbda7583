"""Bad requests get a 4xx that says what is wrong and where, bugs a 500 that says nothing private."""

import logging
from dataclasses import replace

import pytest

from dsf_scorer import RefusedError, Score, Series, Settings, batch_scorer, scorer
from dsf_scorer.testing import ask, send, series

SMALL = Settings(max_body_bytes=200, max_series=2)


@scorer(name="last", interval_seconds=60, settings=SMALL)
def last(one: Series) -> float | None:
    return one.last


ROOMY = replace(SMALL, max_body_bytes=2_000_000)


@scorer(name="last", interval_seconds=60, settings=ROOMY)
def roomy(one: Series) -> float | None:
    return one.last


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"", 400, "the body is not JSON"),
        (b'{"data": [', 400, "the body is not JSON"),
        (b'{"data": [NaN]}', 400, "the body is not JSON"),
        (b"\xff\xfe", 400, "the body is not JSON"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b"{}", 422, "missing required field `data`"),
        (b'{"data": {}}', 422, "Expected `array`, got `object` - at `$.data`"),
        (b'{"data": null}', 422, "`$.data`"),
        (b'{"data": [1]}', 422, "Expected `object`, got `int` - at `$.data[0]`"),
        (b'{"data": [{"values": []}]}', 422, "missing required field `metric` - at `$.data[0]`"),
        (b'{"data": [{"metric": {}}, {"metric": {"a": 1}}]}', 422, "`$.data[1].metric[...]`"),
        (
            b'{"data": [{"metric": {}, "values": [[1, "2"], [1, 2.5]]}]}',
            422,
            "`$.data[0].values[1][1]`; sample values are strings",
        ),
        (b'{"data": [{"metric": {}, "values": [[1]]}]}', 422, "`$.data[0].values[0]`"),
        (
            b'{"data": [{"metric": {}, "values": [[1, "2"], [2, "two"]]}]}',
            422,
            "'two' is not a number - at `$.data[0].values[1][1]`",
        ),
        (b'{"data": [{"metric": {}, "histograms": [[1, {"count": "3"}]]}]}', 422, "native histograms"),
        (
            b'{"data": [{"metric": {}}, {"metric": {}}, {"metric": {}}]}',
            413,
            "3 series in one request; this scoring API takes 2",
        ),
        (b'{"data": [], "arguments": 5}', 422, "Expected `object | null`, got `int` - at `$.arguments`"),
        (b'{"data": [], "arguments": {"a": 1}}', 422, "takes no arguments"),
        (b'{"data": [' + b" " * 200 + b"]}", 413, "larger than 200 bytes"),
    ],
)
def test_a_bad_body_is_refused_with_its_place(body: bytes, status: int, text: str) -> None:
    reply = send(last, "POST", "/scoring", body=body, headers={"content-type": "application/json"})
    assert (reply.status, text in reply.error) == (status, True), reply.error
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"data": ' + b"[" * 500_000,
        b'{"data": [], "arguments": ' + b'{"a":' * 100_000,
        b'{"data": [{"metric": {}, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    ],
)
def test_deep_nesting_is_refused(body: bytes) -> None:
    assert 400 <= send(roomy, "POST", "/scoring", body=body).status < 500


def test_an_announced_size_above_the_limit_is_refused_unread() -> None:
    reply = send(last, "POST", "/scoring", body=b"", headers={"content-length": "201"})
    assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/scoring", 405, "POST"),
        ("PUT", "/scoring", 405, "POST"),
        ("POST", "/config", 405, "GET, HEAD"),
        ("DELETE", "/healthz", 405, "GET, HEAD"),
        ("GET", "/", 404, ""),
        ("POST", "/scoring/", 404, ""),
    ],
)
def test_wrong_methods_and_paths(method: str, path: str, status: int, allow: str) -> None:
    reply = send(last, method, path)
    assert (reply.status, reply.headers.get("allow", "")) == (status, allow)
    assert reply.error


def test_authors_can_refuse() -> None:
    @batch_scorer(name="picky", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        raise RefusedError("arguments.prices is empty")

    reply = ask(app)
    assert (reply.status, reply.error) == (422, "arguments.prices is empty")


@pytest.mark.parametrize("returned", ["5", True, None, [1], complex(1)])
def test_a_score_that_is_no_number_is_a_bug_of_the_scorer(
    returned: object, caplog: pytest.LogCaptureFixture
) -> None:
    @batch_scorer(name="wrong", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        return [Score({}, returned)]  # type: ignore[arg-type]

    with caplog.at_level(logging.ERROR):
        reply = ask(app)
    assert reply.status == 500
    assert "a score must be a number" in caplog.text


@pytest.mark.parametrize("returned", [None, "scores", {"a": 1}, [1.0], [Score({"a": 1}, 1.0)]])  # type: ignore[dict-item]
def test_a_batch_that_is_no_list_of_scores_is_a_bug_of_the_scorer(returned: object) -> None:
    @batch_scorer(name="wrong", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        return returned  # type: ignore[return-value]

    assert ask(app).status == 500


def test_the_text_of_an_exception_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    @scorer(name="leaky", interval_seconds=60)
    def app(one: Series) -> float:
        raise ValueError("password=hunter2")

    with caplog.at_level(logging.ERROR):
        reply = ask(app, [series([1])])
    assert reply.status == 500
    assert "ValueError" in reply.error
    assert "hunter2" not in reply.body.decode()
    assert "hunter2" in caplog.text
    assert 'code="500"' in send(app, "GET", "/metrics").body.decode()
