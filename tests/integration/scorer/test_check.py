"""`gitops-dsf scorer check`: a good scoring API passes, and each fault is found by its name."""

import io
import json
import ssl
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsf_scorer.conformance.scoring import POINTS, nodes
from dsf_scorer.testing import series
from gitops_dsf.cli.main import main
from tests.support.agent.certificates import Authority
from tests.support.commandline import gitops_dsf
from tests.support.outputs import check_output
from tests.support.scorer.stand_in import Behaviour, StandIn, StandInAnswer, StandInRequest

CONFIG: dict[str, Any] = {
    "name": "cpu",
    "description": "CPU",
    "source": {
        "type": "Prometheus",
        "params": {"query": "avg(up); sum(up)", "range": 3600, "step": 60},
    },
    "scoring": {"path": "/scoring", "params": {"name": "cpu", "interval": 60}},
}

APP = """
from dsf_scorer import Series, scorer

@scorer(name="last", query="up", range_seconds=600, step_seconds=60, interval_seconds=60)
def app(series: Series) -> float | None:
    return series.last if series.last is None or abs(series.last) <= 100 else 100.0
"""


def scores(asked: StandInRequest) -> StandInAnswer:
    """Scores like a careful scoring API."""
    try:
        request = json.loads(asked.body)
        results = []
        for row in request["data"]:
            values = [float(value) for _, value in row["values"]]
            if values and abs(values[-1]) <= 100:
                results.append({"metric": row["metric"], "score": values[-1]})
    except (ValueError, TypeError, KeyError, AttributeError):
        return StandInAnswer(status=400, body=b'{"error": "no"}')
    return StandInAnswer(body=json.dumps({"results": results}).encode())


def good(asked: StandInRequest) -> StandInAnswer:
    if asked.path == "/healthz":
        return StandInAnswer(body=b"ok", headers={"Content-Type": "text/plain"})
    if asked.path == "/config":
        return StandInAnswer(body=json.dumps(CONFIG).encode())
    if asked.path == "/scoring":
        return scores(asked) if asked.method == "POST" else StandInAnswer(status=405)
    return StandInAnswer(status=404)


def check(url: str, *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
    output = io.StringIO()
    with redirect_stdout(output):
        code = main(["scorer", "check", url, "-o", "json", "--series", "50", *options])
    assert code in {0, 1}
    assert check_output(["scorer", "check", "-o", "json"], output.getvalue())
    report = json.loads(output.getvalue())
    found = {
        finding["check"]: (finding["severity"], f"{finding['message']} {finding['hint']}")
        for finding in report["findings"]
    }
    assert (code == 1) == (
        report["errors"] > 0 or ("--strict" in options and report["warnings"] > 0)
    )
    return code, found


def test_the_largest_request_has_a_series_for_each_node() -> None:
    first, _, last = nodes(3)
    assert first == series(
        [round(0.2 + 0.001 * point, 3) for point in range(POINTS)],
        node="node-0",
        namespace="default",
        pod="pod-0",
    )
    assert last["metric"] == {"node": "node-2", "namespace": "default", "pod": "pod-2"}
    assert last["values"] == first["values"]


def problems(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {name: severity for name, (severity, _) in found.items() if severity != "ok"}


def test_a_scoring_api_of_the_sdk_passes(tmp_path: Path, serve: Callable[..., Any]) -> None:
    (tmp_path / "scorer.py").write_text(APP)
    (tmp_path / "token").write_text("secret")
    served = serve("scorer:app", tmp_path, "--token-file", "token")
    code, found = check(served.url, "--token-file", str(tmp_path / "token"), "--strict")
    assert (code, problems(found)) == (0, {})
    assert {
        "scoring.no-token",
        "scoring.wrong-token",
        "scoring.large",
        "scoring.nan",
        "config.query",
        "healthz",
    } <= set(found)


def test_a_scoring_api_in_another_manner_passes(stand_in: Callable[[Behaviour], StandIn]) -> None:
    api = stand_in(good)
    code, found = check(api.url, "--strict")
    assert (code, problems(found)) == (0, {})
    assert found["config.query"][1].startswith("2 PromQL expressions parse")


def altered(**change: Any) -> Behaviour:
    """Good but for parts of its /config."""
    config = json.loads(json.dumps(CONFIG))
    for key, value in change.items():
        *parents, last = key.split("__")
        where = config
        for parent in parents:
            where = where[parent]
        where[last] = value

    def behaviour(asked: StandInRequest) -> StandInAnswer:
        return (
            StandInAnswer(body=json.dumps(config).encode())
            if asked.path == "/config"
            else good(asked)
        )

    return behaviour


def scoring(answer: Callable[[StandInRequest], StandInAnswer]) -> Behaviour:
    """Good but for what it answers to scoring requests."""
    return lambda asked: answer(asked) if asked.path == "/scoring" else good(asked)


def test_null_in_a_config_page_is_absent(stand_in: Callable[[Behaviour], StandIn]) -> None:
    """FastAPI writes optional fields that are not set as null, at every level of the page."""
    behaviour = altered(
        description=None,
        source__host=None,
        source__path=None,
        scoring__host=None,
        source__params__vendor=None,
    )
    code, found = check(stand_in(behaviour).url, "--strict")
    assert (code, problems(found)) == (0, {})
    assert found["config.query"][1].startswith("2 PromQL expressions parse")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scoring__params": None}, ("config.values", "scorer '': name is empty")),
        ({"source__params__query": [None]}, ("config.schema", "Expected `str`, got `array`")),
    ],
)
def test_null_for_what_is_needed_is_missing(
    stand_in: Callable[[Behaviour], StandIn], change: dict[str, Any], told: tuple[str, str]
) -> None:
    code, found = check(stand_in(altered(**change)).url)
    name, message = told
    assert (code, found[name][0]) == (1, "error")
    assert found[name][1].startswith(message)


def static(asked: StandInRequest) -> StandInAnswer:
    """Upstream's static sample: the same scores whatever is posted, and a /config that says so."""
    if asked.path == "/config":
        config = {
            "name": "static",
            "source": {"type": "None"},
            "scoring": {"path": "/scoring", "params": {"name": "static", "interval": 30}},
        }
        return StandInAnswer(body=json.dumps(config).encode())
    if asked.path == "/scoring" and asked.method == "POST":
        return StandInAnswer(
            body=b'{"results": [{"metric": {"app": "app01", "device": "all"}, "score": 80}]}'
        )
    return good(asked) if asked.path == "/healthz" else StandInAnswer(status=405)


def test_an_api_that_takes_no_input_is_one_line_and_passes(
    stand_in: Callable[[Behaviour], StandIn],
) -> None:
    code, found = check(stand_in(static).url, "--strict")
    assert (code, problems(found)) == (0, {"scoring.any-body": "notice"})
    assert found["scoring.any-body"][1].startswith(
        "answers 8 of 8 malformed bodies: with source.type None it needs no input"
    )


def on(path: str, given: StandInAnswer) -> Behaviour:
    return lambda asked: given if asked.path == path else good(asked)


def answers(body: str) -> Behaviour:
    return scoring(
        lambda asked: (
            StandInAnswer(body=body.encode()) if scores(asked).status == 200 else scores(asked)
        )
    )


def marked(given: StandInAnswer) -> StandInAnswer:
    return replace(given, body=b"\xef\xbb\xbf" + given.body)


def fails_on(needle: bytes, status: int = 500) -> Behaviour:
    return scoring(
        lambda asked: (
            StandInAnswer(status=status, body=b"Internal Server Error")
            if needle in asked.body
            else scores(asked)
        )
    )


def always(status: int) -> Behaviour:
    return scoring(lambda _: StandInAnswer(status=status, body=b'{"error": "prices missing"}'))


REDIRECT = StandInAnswer(status=307, headers={"Location": "https://elsewhere.example/"})


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (on("/healthz", StandInAnswer(status=404)), "error healthz: answers 404"),
        (
            on("/healthz", StandInAnswer(status=503, body=b"warming up")),
            "error healthz: answers 503: warming up",
        ),
        (on("/healthz", REDIRECT), "error healthz: redirects to https://elsewhere.example/"),
        (on("/config", StandInAnswer(status=404)), "error config: use configSyncMode None"),
        (on("/config", StandInAnswer(status=401)), "error config: the page is public"),
        (on("/config", StandInAnswer(body=b"<html>")), "error config: page is not JSON"),
        (on("/config", StandInAnswer(body=b"[" * 100_000)), "error config: not JSON"),
        (
            on("/config", StandInAnswer(body=b"\xef\xbb\xbf" + json.dumps(CONFIG).encode())),
            "warning config.byte-order-mark: write UTF-8 without it",
        ),
        (
            scoring(lambda asked: marked(scores(asked))),
            "warning scoring.byte-order-mark: write UTF-8 without it",
        ),
        (on("/config", StandInAnswer(body=b"[1]")), "error config.schema: got `array`"),
        (
            altered(source__params__range="3600"),
            "error config.schema: Expected `int`, got `str` - at `$.source.params.range`",
        ),
        (altered(source__kind="Prometheus"), "warning config.unknown-fields: $.source.kind"),
        (altered(source__type="prometheus"), "error config.source-type: write one of Prometheus"),
        (altered(source__type="None"), "warning config.source-type: never asked"),
        (altered(source__params__query=""), "error config.source-type: query is empty"),
        (altered(source__params__query="avg(up); sum(up"), "error config.query: character 16"),
        (
            altered(source__params__query="not_a_function(up)"),
            "warning config.query: not_a_function",
        ),
        (altered(source__params__query="up[5m]"), "error config.query: range vector"),
        (altered(source__params__step=0), "error config.values: step_seconds is 0"),
        (
            altered(source__host="prometheus:9090"),
            "error config.source-host: not the URL of a web server",
        ),
        (altered(source__path="api"), "warning config.source-path: write /api"),
        (altered(scoring__params__name=""), "error config.values: is empty"),
        (altered(scoring__params__name="CPU Score"), "warning config.score-name: 'cpu-score'"),
        (altered(scoring__host="http://192.0.2.7:80"), "warning config.scoring-host: allowedHosts"),
        (altered(scoring__host="http://192.0.2.7:80"), "warning scoring.url: --scoring-url"),
        (altered(scoring__path="/elsewhere"), "error scoring.sample: answers 404"),
        (always(401), "error scoring.sample: pass --token-file"),
        (always(422), "error scoring.sample: prices missing"),
        (scoring(lambda _: REDIRECT), "error scoring.sample: agents follow no redirect"),
        (answers('{"scores": []}'), "error scoring.sample: missing required field `results`"),
        (answers('[{"score": 1}]'), "error scoring.sample: Expected `object`, got `array`"),
        (
            answers('{"results": [{"metric": {}, "score": NaN}]}'),
            "error scoring.sample: NaN and Infinity are not JSON",
        ),
        (
            answers('{"results": [{"metric": {}, "score": "5"}]}'),
            "error scoring.sample: results[0]: Expected `float`, got `str`",
        ),
        (
            answers('{"results": [{"metric": {"a": 1}, "score": 1}]}'),
            "error scoring.sample: results[0]",
        ),
        (answers('{"results": []}'), "warning scoring.results: --data FILE"),
        (
            answers('{"results": [{"metric": {}, "score": 5000}]}'),
            "warning scoring.range: scoreRange",
        ),
        (
            answers(
                '{"results": [{"metric": {"x": "1"}, "score": 1}, {"metric": {"x": "2"}, "score": 2}]}'  # noqa: E501
            ),
            "warning scoring.duplicates: scoreAggregation",
        ),
        (
            scoring(lambda asked: replace(scores(asked), headers={"Content-Type": "text/html"})),
            "warning scoring.content-type: html",
        ),
        (fails_on(b'"data":[]'), "error scoring.empty-data: answers 500: Internal Server Error"),
        (fails_on(b'"data":[]', 422), "warning scoring.empty-data: failed run"),
        (fails_on(b'"values":[]'), "error scoring.no-samples: 500"),
        (fails_on(b"a_new_label"), "error scoring.unknown-labels: 500"),
        (fails_on(b'"metric":{}'), "error scoring.no-labels: 500"),
        (fails_on(b"NaN"), "error scoring.nan: 500"),
        (fails_on(b"Inf", 400), "warning scoring.infinite: failed run"),
        (fails_on(b"e+308"), "error scoring.huge: 500"),
        (fails_on(b".123,"), "error scoring.fractional-time: 500"),
        (fails_on(b'"arguments":{}', 422), "warning scoring.arguments: empty arguments"),
        (fails_on(b"node-49"), "error scoring.large: 500"),
        (fails_on(b"node-49", 413), "warning scoring.large: raise the limit"),
        (
            scoring(
                lambda asked: (
                    StandInAnswer(status=500) if scores(asked).status == 400 else scores(asked)
                )
            ),
            "error scoring.truncated-json: a client's mistake is a 4xx",
        ),
        (
            scoring(
                lambda asked: (
                    StandInAnswer(body=b'{"results": []}')
                    if scores(asked).status == 400
                    else scores(asked)
                )
            ),
            "warning scoring.wrong-type: answers 200",
        ),
        (
            scoring(
                lambda asked: scores(asked) if asked.method == "POST" else StandInAnswer(status=200)
            ),
            "warning scoring.get: 405",
        ),
        (
            scoring(lambda _: StandInAnswer(body=b"{}", headers={"Content-Length": "10"})),
            "error scoring.sample: ended after 2 of 10 bytes",
        ),
        (
            # A digit to Python's isdigit, and no number.
            scoring(
                lambda _: StandInAnswer(
                    body=b"{}", headers={"Content-Length": "\u00b2", "Connection": "close"}
                )
            ),
            "error scoring.sample: field `results`; expected",
        ),
    ],
)
def test_each_fault_is_found(
    stand_in: Callable[[Behaviour], StandIn], behaviour: Behaviour, told: str
) -> None:
    """As severity, name of the check, and a part of its message or hint."""
    code, found = check(stand_in(behaviour).url)
    expected, text = told.split(": ", 1)
    severity, name = expected.split(" ")
    assert found[name][0] == severity, found[name]
    assert text in found[name][1]
    assert code == int(any(level == "error" for level, _ in found.values()))


def test_a_scoring_api_that_checks_no_token_is_found(
    stand_in: Callable[[Behaviour], StandIn], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret\n")
    api = stand_in(good)
    code, found = check(api.url, "--token-file", str(tmp_path / "token"))
    assert code == 1
    assert found["scoring.no-token"][0] == found["scoring.wrong-token"][0] == "error"
    sent = {asked.headers.get("authorization") for asked in api.asked if asked.path == "/scoring"}
    assert sent == {"Bearer secret", "Bearer not-the-token", None}
    assert all(
        "authorization" not in asked.headers for asked in api.asked if asked.path != "/scoring"
    )


def test_a_token_never_goes_where_config_points(
    stand_in: Callable[[Behaviour], StandIn], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret")
    collector = stand_in(good)
    api = stand_in(altered(scoring__host=collector.url))
    check(api.url, "--token-file", str(tmp_path / "token"))
    assert collector.asked == []
    check(
        api.url,
        "--token-file",
        str(tmp_path / "token"),
        "--scoring-url",
        f"{collector.url}/scoring",
    )
    assert {asked.path for asked in collector.asked} == {"/scoring"}


def test_data_of_the_author_is_posted(
    stand_in: Callable[[Behaviour], StandIn], tmp_path: Path
) -> None:
    row = {"metric": {"node": "mine"}, "values": [[1, "7"]]}
    api = stand_in(good)
    files = {
        "request.json": {"data": [row], "arguments": {"k": 1}},
        "list.json": [row],
        "prometheus.json": {"status": "success", "data": {"resultType": "matrix", "result": [row]}},
        "marked.json": [row],
    }
    for name, content in files.items():
        encoding = "utf-8-sig" if name == "marked.json" else "utf-8"
        (tmp_path / name).write_text(json.dumps(content), encoding=encoding)
        code, found = check(api.url, "--data", str(tmp_path / name))
        assert code == 0
        assert found["scoring.sample"][1].startswith("1 scores for 1 series")
    posted = [json.loads(asked.body) for asked in api.asked if b"mine" in asked.body]
    assert {"data": [row], "arguments": {"k": 1}} in posted
    assert {"data": [row]} in posted


def test_without_config_the_mode_decides(stand_in: Callable[[Behaviour], StandIn]) -> None:
    api = stand_in(on("/config", StandInAnswer(status=404)))
    assert check(api.url)[0] == 1
    code, found = check(api.url, "--sync-mode", "None", "--strict")
    assert (code, problems(found)) == (0, {})
    assert "configSyncMode None needs none" in found["config"][1]


def test_the_url_of_config_will_do(stand_in: Callable[[Behaviour], StandIn]) -> None:
    def mounted(asked: StandInRequest) -> StandInAnswer:
        config = {**CONFIG, "scoring": {**CONFIG["scoring"], "path": "/apis/cpu/scoring"}}
        pages = {
            "/apis/cpu/config": StandInAnswer(body=json.dumps(config).encode()),
            "/healthz": StandInAnswer(),
        }
        return pages.get(
            asked.path, good(replace(asked, path=asked.path.removeprefix("/apis/cpu")))
        )

    api = stand_in(mounted)
    for url in (f"{api.url}/apis/cpu/config", f"{api.url}/apis/cpu/"):
        assert problems(check(url)[1]) == {}


def test_nobody_there(tmp_path: Path) -> None:
    code, found = check("http://127.0.0.1:9")
    assert code == 1
    assert {found[name][0] for name in ("healthz", "config", "scoring.sample")} == {"error"}
    assert "refused" in found["healthz"][1].lower()


def test_one_that_hangs_is_given_up(stand_in: Callable[[Behaviour], StandIn]) -> None:
    gate = threading.Event()

    def hang(asked: StandInRequest) -> StandInAnswer:
        gate.wait(60)
        return StandInAnswer()

    api = stand_in(hang)
    try:
        code, found = check(api.url, "--timeout", "0.3")
    finally:
        gate.set()
    assert code == 1
    assert "no complete answer within 0.3 s" in found["scoring.sample"][1]


def test_an_unknown_certificate_is_named(
    stand_in: Callable[[Behaviour, ssl.SSLContext], StandIn], tmp_path: Path
) -> None:
    authority = Authority()
    # With the byte order mark of an editor, and a comment, as bundles have them.
    (tmp_path / "ca.crt").write_bytes(b"\xef\xbb\xbf" + authority.pem.encode() + b"# Z\xfcrich\n")
    context = authority.server(tmp_path, host="localhost")
    url = stand_in(good, context).url
    assert "its certificate is not trusted" in check(url)[1]["healthz"][1]
    code, found = check(url, "--ca-file", str(tmp_path / "ca.crt"))
    assert (code, problems(found)) == (0, {})


def test_text_is_for_people(stand_in: Callable[[Behaviour], StandIn]) -> None:
    api = stand_in(answers('{"results": [{"metric": {}, "score": 5000}]}'))
    done = gitops_dsf("scorer", "check", api.url)
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "warning",
        "scoring.range",
        "1",
        "scores",
        "are",
        "outside",
        "-100..100",
    ]
    assert lines[1].strip().startswith("-> give the DynamicScorer a scoreRange")
    assert lines[-1].endswith("1 warnings, 0 errors")
    assert len(lines) == 3
    assert done.returncode == 0
    assert gitops_dsf("scorer", "check", api.url, "--strict").returncode == 1
    verbose = gitops_dsf("scorer", "check", api.url, "--verbose").stdout
    assert "ok       healthz" in verbose


def test_a_terminal_does_not_obey_a_strangers_answer(
    stand_in: Callable[[Behaviour], StandIn], capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = json.dumps({**CONFIG, "\x1b[2Jcleared": 1}).encode()

    def behaviour(asked: StandInRequest) -> StandInAnswer:
        given = {
            "/config": StandInAnswer(body=hostile),
            "/scoring": StandInAnswer(status=500, body=b"\x1b]0;title\x07"),
        }
        return given.get(asked.path, good(asked))

    assert main(["scorer", "check", stand_in(behaviour).url]) == 1
    output = capsys.readouterr().out
    assert "$.\\x1b[2Jcleared" in output
    assert "\\x1b]0;title\\x07" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["localhost:8000"], "write it as http://host:port"),
        (["ftp://x"], "write it as http://host:port"),
        (["http://x:99999"], "is not a URL"),
        (["http://user:secret@x"], "pass a token file instead"),
        (["http://x/config?y=1"], "a query or a fragment"),
        (["http://x y"], "white space"),
        (["http://x", "--scoring-url", "y"], "write it as http://host:port"),
        (["http://x", "--data", "none.json"], "none.json: No such file"),
        (["http://x", "--data", "bad.json"], "bad.json: not JSON"),
        (["http://x", "--data", "odd.json"], "odd.json: expected"),
        (["http://x", "--token-file", "none"], "--token-file none: No such file"),
        (["http://x", "--token-file", "empty"], "is empty"),
        (
            ["http://x", "--token-file", "bell"],
            "--token-file bell has a character that is not allowed",
        ),
        (
            ["http://x", "--token-file", "wide"],
            "--token-file wide is UTF-16 text; write it as UTF-8",
        ),
        (["http://x", "--ca-file", "bad.json"], "--ca-file bad.json"),
        (["http://x", "--timeout", "0"], "--timeout must be above 0"),
    ],
)
def test_wrong_usage_is_explained(tmp_path: Path, arguments: list[str], text: str) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "odd.json").write_text('{"data": 5}')
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bell").write_text("secret\a")
    (tmp_path / "wide").write_text("secret", encoding="utf-16")
    done = gitops_dsf("scorer", "check", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert text in done.stderr
    assert "secret" not in done.stderr
