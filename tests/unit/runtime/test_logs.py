"""Log lines: one line each, fields after the text, valid JSON, and the keys of each program."""

import json
import logging
import sys

import pytest

from dsf_agent.main import LOG_FIELDS
from dsf_runtime.logs import JsonFormatter, TextFormatter

AGENT = JsonFormatter(fields=LOG_FIELDS)
RECONCILER = JsonFormatter(below="gitops_dsf", traceback="error")


def _record(text: str, **extra: str) -> logging.LogRecord:
    record = logging.LogRecord("gitops_dsf.reconciler.x", logging.WARNING, "x.py", 1, text, None, None)
    record.created = 1_700_000_000.123
    vars(record).update(extra)
    return record


def test_text() -> None:
    line = TextFormatter(fields=LOG_FIELDS).format(
        _record("fetch failed: a\nb", scorer="c\npu", reason="timeout", other="x")
    )
    assert line == "2023-11-14T22:13:20.123Z WARNING fetch failed: a\\nb (scorer=c\\npu reason=timeout)"


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
