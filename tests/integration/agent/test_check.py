"""The verb ``check`` prints one cycle of each scorer and publishes nothing.

The exit code says whether all gave scores.
"""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.agent.http import (
    HttpFake,
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
    prometheus_error,
    scores,
    series,
)
from tests.support.agent.running import ConfigMapVolume, checked, entry

CLUSTER = ("--cluster-name", "c1")


@pytest.mark.real_time
async def test_the_table(
    warm_programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    def source(seen: RecordedRequest) -> SentReply:
        if seen.path.startswith("/bad/"):
            return prometheus_error("bad_data", "parse error")
        return matrix(series(7), warnings=["metric might not be a counter"])

    volume = ConfigMapVolume(tmp_path)
    async with (
        HttpFake(source) as prometheus,
        HttpFake(last_values) as scoring,
        HttpFake(scores(500.0, "x")) as mixed,
    ):
        volume.put(
            entry("cpu", scoring=scoring.url, source=prometheus.url),
            entry("query", scoring=scoring.url, source=f"{prometheus.url}/bad"),
            {"name": "odd"},
            entry("silent", scoring=mixed.url, scoreDestination="None"),
        )
        process = await asyncio.create_subprocess_exec(
            warm_programs / "gitops-dsf-agent",
            *("check", *CLUSTER, "--config-dir", tmp_path),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
        )
        out, errors = await process.communicate()
        lines = out.decode().splitlines()
        assert process.returncode == 1
        assert errors == b""
        assert lines[0] == "SCORER  SERIES  BYTES  RESULTS  DROPPED  CLAMPED  PUBLISH  STATE"
        assert lines[1].split()[:2] + lines[1].split()[3:] == ["cpu", "7", "7", "0", "0", "7", "ok"]
        assert lines[2].split() == ["query", *"------", "fetch:", "query_bad_data"]
        assert lines[3].split()[3:] == ["1", "1", "1", "-", "ok"]
        assert lines[4].split() == ["odd", *"------", "bad_entry"]
        assert "cpu: cpu-score: n0=2, n1=3, n2=4, n3=5, n4=6, and 2 more" in lines
        assert "cpu: the source warns: metric might not be a counter" in lines
        assert "silent: (not published): n0=100" in lines
        assert "silent: dropped 1: invalid" in lines
        assert (
            "silent: the first dropped result: result 1: Expected `float`, got `str` - at `$.score`"
            in lines
        )
        assert any(
            line.startswith("query: query at http://127.0.0.1")
            and line.endswith("refused: bad_data: parse error")
            for line in lines
        )
        assert await checked(*CLUSTER, "--config-dir", tmp_path, "--scorer", "cpu") == 0
        assert len(capsys.readouterr().out.splitlines()) == 4


async def test_a_file_with_a_byte_order_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PowerShell writes one into the file that docs/operate/agent.md tells people to make."""
    volume = ConfigMapVolume(tmp_path)
    async with HttpFake(scores(5.0)) as scoring:
        text = json.dumps([entry("cpu", scoring=scoring.url)], indent=2).replace("\n", "\r\n")
        volume.put_raw(b"\xef\xbb\xbf" + text.encode())
        assert await checked(*CLUSTER, "--config-dir", tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "ok"


async def test_names_that_are_not_printable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    volume = ConfigMapVolume(tmp_path)
    answer = SentReply.of(
        {
            "results": [
                {"metric": {"node": name}, "score": 1}
                for name in ("a\nFORGED ok", "\x1b[31mred", "n" * 1000)
            ]
        }
    )
    async with HttpFake(lambda _seen: answer) as scoring:
        volume.put(entry("cpu", scoring=scoring.url), {"name": "x\ny"})
        assert await checked(*CLUSTER, "--config-dir", tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[0] == "x\\ny"
    assert lines[3] == f"cpu: cpu-score: \\x1b[31mred=1, a\\nFORGED ok=1, {'n' * 57}...=1"
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("content", "flags", "code", "text"),
    [
        (b"[]", [], 0, "summaries has no scorers"),
        (None, [], 1, "summaries does not exist"),
        (b"{}", [], 1, "not a JSON array of scorers"),
        (
            json.dumps([entry("cpu", scoring="http://127.0.0.1:1")]).encode(),
            ["--scorer", "gpu"],
            2,
            "has no scorer gpu; it has these: cpu",
        ),
    ],
)
async def test_what_cannot_be_checked(
    tmp_path: Path,
    content: bytes | None,
    flags: list[str],
    code: int,
    text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        ConfigMapVolume(tmp_path).put_raw(content)
    assert await checked(*CLUSTER, "--config-dir", tmp_path, *flags) == code
    out, errors = capsys.readouterr()
    assert text in (errors if code else out)
    assert (len(errors.splitlines()), len(out.splitlines())) == ((1, 0) if code else (0, 2))


async def test_a_query_scorer_and_a_default_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    def source(seen: RecordedRequest) -> SentReply:
        rows = [] if seen.query["query"] == "nothing" else [{"metric": {}, "value": [1, "41.5"]}]
        return SentReply.of({"status": "success", "data": {"resultType": "vector", "result": rows}})

    volume = ConfigMapVolume(tmp_path)
    async with HttpFake(source) as prometheus:
        by_query = {
            "scoringEndpoint": "",
            "scoringType": "Query",
            "scoreDimensionFormat": "${scoreName}",
        }
        volume.put(
            entry("cpu", scoring="", source=prometheus.url, **by_query),
            entry(
                "gpu",
                scoring="",
                source=prometheus.url,
                **by_query,
                sourceQuery="nothing",
                defaultScore=-9,
            ),
        )
        assert await checked(*CLUSTER, "--config-dir", tmp_path) == 0
    out, errors = capsys.readouterr()
    assert errors == ""
    assert "cpu: cpu-score: cpu-score=41\n" in out
    assert "gpu: gpu-score: gpu-score=-9\n" in out
    assert "gpu: the source has no series, so this is the default score\n" in out
    assert "cpu: the source has no series" not in out
