"""Log lines: one line each, fields beside the text, JSON that is JSON."""

import json
import logging
import sys

from dsf_agent.logs import JsonFormatter, TextFormatter


def _record(text: str, **extra: str) -> logging.LogRecord:
    record = logging.LogRecord("dsf_agent.x", logging.WARNING, "x.py", 1, text, None, None)
    record.created = 1_700_000_000.123
    vars(record).update(extra)
    return record


def test_text() -> None:
    """Time, level, text, fields; a line break in foreign text forges no second line."""
    line = TextFormatter().format(_record("fetch failed: a\nb", scorer="c\npu", reason="timeout", other="x"))
    assert line == "2023-11-14T22:13:20.123Z WARNING fetch failed: a\\nb (scorer=c\\npu reason=timeout)"


def test_json() -> None:
    """The same as an object."""
    line = JsonFormatter().format(_record('say "ü"\n', scorer="cpu", reason="timeout"))
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.123Z",
        "level": "warning",
        "message": 'say "ü"\n',
        "scorer": "cpu",
        "reason": "timeout",
    }
    assert "\n" not in line


def test_tracebacks_are_kept() -> None:
    """In both forms."""
    try:
        int("oops")
    except ValueError:
        record = _record("a fault of the agent")
        record.exc_info = sys.exc_info()
    assert "ValueError: invalid literal" in json.loads(JsonFormatter().format(record))["traceback"]
    assert "ValueError: invalid literal" in TextFormatter().format(record)
