"""Log lines on standard error, as text or JSON. Each program chooses the fields of its lines."""

import json
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from dsf_wire.text import printable_json, printable_lines

RUNTIME: Final = "dsf_runtime"


class TextFormatter(logging.Formatter):
    """Lines with time, level, text and fields.

    For example ``2026-01-02T03:04:05.678Z WARNING text (scorer=cpu reason=timeout)``.
    """

    def __init__(self, *, fields: Sequence[str] = ()) -> None:
        super().__init__()
        self._names = fields

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback if there is one."""
        fields = " ".join(f"{name}={value}" for name, value in _fields(record, self._names).items())
        suffix = f" ({fields})" if fields else ""
        lines = [f"{_time(record)} {record.levelname} {record.getMessage()}{suffix}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        # A message may quote what a stranger answered: a line break in it must not begin a line of
        # the log that looks like one of ours.
        return printable_lines(lines).removesuffix("\n")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, fields and traceback.

    ``traceback`` is the key of the last one. ``below`` is a package that is removed from logger
    names. Without it there is no key ``logger``.
    """

    def __init__(
        self, *, fields: Sequence[str] = (), below: str = "", traceback: str = "traceback"
    ) -> None:
        super().__init__()
        self._names = fields
        self._below = below
        self._traceback = traceback

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {"time": _time(record), "level": record.levelname.lower()}
        if self._below:
            line["logger"] = record.name.removeprefix(f"{self._below}.")
        line |= {"message": record.getMessage(), **_fields(record, self._names)}
        if record.exc_info:
            line[self._traceback] = self.formatException(record.exc_info)
        return printable_json(json.dumps(line, ensure_ascii=False))


def configure(*, package: str, formatter: logging.Formatter, level: str = "info") -> None:
    """Configures logging from ``level`` on.

    Other libraries log warnings alone: httpx would log whole URLs.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    # Replaced and not added: a library that configured logging on import would print lines twice.
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in (package, RUNTIME):
        logging.getLogger(name).setLevel(level.upper())


def _fields(record: logging.LogRecord, names: Sequence[str]) -> dict[str, str]:
    return {name: str(getattr(record, name)) for name in names if hasattr(record, name)}


def _time(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds")
    return time.replace("+00:00", "Z")
