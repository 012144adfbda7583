"""Evaluates queries over the metrics of a test by promtool, which contains Prometheus' own engine.

`promtool test rules` only compares. So each evaluation expects a sample that no query gives, and
the actual one is read from the report. The report is text for people: a part that this module
cannot read is an error, never a result.
"""

import ast
import json
import math
import re
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from gitops_dsf.scoretests.queries import (
    PromtoolQuestion,
    QueryError,
    QueryResults,
    QuerySample,
    results_of,
)

SECONDS: Final = 120
"""Time for the queries of one scorer on one cluster."""
MAX_REPORT_LINES: Final = 3
MAX_REPORT_TEXT: Final = 500
"""Characters of a report in a message."""
_IMPOSSIBLE: Final = {"labels": '{gitops_dsf_expects="nothing"}', "value": 0}
_ENTRY: Final = re.compile(r"^    expr: .*$", re.MULTILINE)
_GOT: Final = re.compile(r"^        got: (.*)$", re.MULTILINE)
_ERROR: Final = re.compile(r", err: (.*)\Z", re.DOTALL)
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_LABEL: Final = re.compile(rf"(?P<name>[^\s=\"]+|{_STRING})=(?P<value>{_STRING})(?:, )?")
_SAMPLE: Final = re.compile(
    rf"\{{(?P<labels>(?:[^\"{{}}]|{_STRING})*)\}} (?P<value>\{{\{{.*?\}}\}}|[^\s,]+)(?:, )?"
)


def evaluate(question: PromtoolQuestion, *, program: Path) -> QueryResults:
    """The results of all runs, by promtool. Raises QueryError."""
    with TemporaryDirectory(prefix="gitops-dsf-") as folder:
        file = Path(folder) / "queries.yaml"
        # JSON is YAML, and needs no rules about quotes.
        file.write_text(json.dumps(_document(question)), encoding="utf-8")
        report = _report(program, file)
    entries = _entries(report)

    # An entry for each evaluation, unless promtool refused the file.
    if len(entries) != len(question.times) * len(question.expressions):
        raise QueryError(_complaint(report))
    runs: list[list[QuerySample]] = []
    for number, entry in enumerate(entries):
        # The evaluations of one time follow each other: one for each expression.
        if number % len(question.expressions) == 0:
            runs.append([])
        runs[-1].extend(_samples(entry))
    return results_of(runs)


def _report(program: Path, file: Path) -> str:
    """The report of promtool. Its exit code has no meaning, because every evaluation fails."""
    try:
        completed = subprocess.run(
            [program, "test", "rules", file],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise QueryError(f"promtool did not answer within {SECONDS} s") from error
    except OSError as error:
        raise QueryError(f"{program} cannot be run: {error.strerror}") from error
    return completed.stdout + completed.stderr


def _document(question: PromtoolQuestion) -> Mapping[str, Any]:
    """The file of `promtool test rules`."""
    evaluations: list[Mapping[str, Any]] = []
    for seconds in question.times:
        for expression in question.expressions:
            evaluation = {
                "expr": expression,
                "eval_time": f"{seconds}s",
                "exp_samples": [_IMPOSSIBLE],
            }
            evaluations.append(evaluation)
    series = [{"series": name, "values": values} for name, values in question.metrics]
    test = {
        "interval": f"{question.interval}s",
        "input_series": series,
        "promql_expr_test": evaluations,
    }
    return {"evaluation_interval": f"{question.interval}s", "tests": [test]}


def _entries(report: str) -> list[str]:
    """The part of promtool's report about each evaluation, in order."""
    starts = [match.start() for match in _ENTRY.finditer(report)]
    return [report[start:end] for start, end in pairwise([*starts, len(report)])]


def _samples(entry: str) -> list[QuerySample]:
    """The samples that an evaluation got. Raises QueryError."""
    match_of_got = _GOT.search(entry)
    if match_of_got is None:
        error = _ERROR.search(entry)
        if error is None:
            raise QueryError(_complaint(entry))
        raise QueryError(f"the query fails: {error[1].strip()}")
    text = match_of_got[1]
    samples: list[QuerySample] = []
    position = 0 if text != "nil" else len(text)
    while position < len(text):
        match = _SAMPLE.match(text, position)
        if match is None:
            raise QueryError(_complaint(text))
        # A native histogram is written in braces. It is not a usable value.
        is_histogram = match["value"].startswith("{")
        value = math.nan if is_histogram else float(match["value"])
        samples.append(QuerySample(_labels(match["labels"]), value))
        position = match.end()
    return samples


def _labels(text: str) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for pair in _LABEL.finditer(text):
        name = pair["name"]
        # Prometheus 3 writes names that are not identifiers in quotes.
        if name.startswith('"'):
            name = ast.literal_eval(name)
        # Go quotes strings with escapes that Python has, too.
        labels[name] = ast.literal_eval(pair["value"])
    return labels


def _complaint(report: str) -> str:
    lines = [line for line in map(str.strip, report.splitlines()) if line not in ("", "FAILED:")]
    words = " ".join(lines[:MAX_REPORT_LINES])[:MAX_REPORT_TEXT]
    return f"promtool refuses the metrics: {words or 'it says nothing'}"
