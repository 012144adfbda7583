"""Log lines with fields, and look-ups in threads that hang."""

import asyncio
import json
import logging
import sys
import threading

import pytest

from dsf_agent.main import LOG_FIELDS
from dsf_runtime.logs import JsonFormatter, TextFormatter
from dsf_runtime.threads import use_threads

CONCURRENT = 512

AGENT = JsonFormatter(fields=LOG_FIELDS)
RECONCILER = JsonFormatter(below="gitops_dsf", traceback="error")


def _record(text: str, **extra: str) -> logging.LogRecord:
    record = logging.LogRecord(
        "gitops_dsf.reconciler.x", logging.WARNING, "x.py", 1, text, None, None
    )
    record.created = 1_700_000_000.123
    vars(record).update(extra)
    return record


def test_text() -> None:
    line = TextFormatter(fields=LOG_FIELDS).format(
        _record("fetch failed: a\nb", scorer="c\npu", reason="timeout", other="x")
    )
    assert (
        line
        == "2023-11-14T22:13:20.123Z WARNING fetch failed: a\\nb (scorer=c\\npu reason=timeout)"
    )


@pytest.mark.parametrize(
    ("formatter", "keys"),
    [(AGENT, {"scorer": "cpu", "reason": "timeout"}), (RECONCILER, {"logger": "reconciler.x"})],
    ids=["agent", "reconciler"],
)
def test_json(formatter: JsonFormatter, keys: dict[str, str]) -> None:
    line = formatter.format(_record('say "ü"\n', scorer="cpu", reason="timeout"))
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.123Z",
        "level": "warning",
        "message": 'say "ü"\n',
        **keys,
    }
    assert "\n" not in line


def test_tracebacks_are_kept() -> None:
    try:
        int("oops")
    except ValueError:
        record = _record("a fault of the agent")
        record.exc_info = sys.exc_info()
    assert "ValueError: invalid literal" in json.loads(AGENT.format(record))["traceback"]
    assert "ValueError: invalid literal" in json.loads(RECONCILER.format(record))["error"]
    assert "ValueError: invalid literal" in TextFormatter().format(record)


async def test_look_ups_that_hang_do_not_block_others() -> None:
    use_threads(CONCURRENT)
    loop, released = asyncio.get_running_loop(), threading.Event()
    # All probes at a time but one hang where a name is looked up.
    hanging = [loop.run_in_executor(None, released.wait, 60) for _ in range(CONCURRENT - 1)]
    try:
        async with asyncio.timeout(60):
            assert await loop.getaddrinfo("localhost", 80)
    finally:
        released.set()
        await asyncio.gather(*hanging)
