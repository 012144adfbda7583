"""Log lines for people or as JSON, each with the scorer and the reason it is about."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

FIELDS: Final = ("scorer", "stage", "reason", "object")
"""What a record may carry beside its text (``extra=``)."""


class TextFormatter(logging.Formatter):
    """``2026-01-02T03:04:05.678Z WARNING text (scorer=cpu reason=timeout)``"""

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        text = _one_line(f"{_time(record)} {record.levelname} {record.getMessage()}" + (f" ({fields})" if fields else ""))
        return text + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname.lower(), "message": record.getMessage(), **_fields(record)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(*, style: str, level: str) -> None:
    """Logs to standard error. Libraries speak only when something is wrong: httpx would print whole URLs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("dsf_agent").setLevel(level.upper())


def _fields(record: logging.LogRecord) -> dict[str, str]:
    return {name: str(getattr(record, name)) for name in FIELDS if hasattr(record, name)}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
