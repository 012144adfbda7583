"""Evaluates queries over the metrics of a test by promtool, which contains Prometheus' own engine.

`promtool test rules` only compares. So each evaluation expects a sample that no query gives, and
what it got instead is read from the report.
"""

import ast
import json
import math
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from gitops_dsf.scoretests.queries import (
    PromtoolQuestion,
    QueryError,
    QueryResults,
    Sample,
    answer_of,
)

SECONDS: Final = 120
"""Time for the queries of one scorer on one cluster."""
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
        report = _run(program, file)
    entries = _entries(report)
    if len(entries) != len(question.times) * len(question.expressions):
        raise QueryError(_complaint(report))
    samples = [_samples(entry) for entry in entries]
    width = len(question.expressions)
    runs: list[list[Sample]] = []
    for first in range(0, len(samples), width):
        # The evaluations of one time: one for each expression.
        of_run: list[Sample] = []
        for evaluation in samples[first : first + width]:
            of_run += evaluation
        runs.append(of_run)
    return answer_of(runs)


def _run(program: Path, file: Path) -> str:
    try:
        done = subprocess.run(
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
    return done.stdout + done.stderr


def _document(question: PromtoolQuestion) -> dict[str, Any]:
    interval = f"{question.interval}s"
    evaluations: list[dict[str, Any]] = []
    for at in question.times:
        for expression in question.expressions:
            evaluation = {"expr": expression, "eval_time": f"{at}s", "exp_samples": [_IMPOSSIBLE]}
            evaluations.append(evaluation)
    series = [{"series": name, "values": values} for name, values in question.metrics]
    test = {
        "interval": interval,
        "input_series": series,
        "promql_expr_test": evaluations,
    }
    return {"evaluation_interval": interval, "tests": [test]}


def _entries(report: str) -> list[str]:
    """What promtool says of each evaluation, in order."""
    starts = [match.start() for match in _ENTRY.finditer(report)]
    return [report[start:end] for start, end in pairwise([*starts, len(report)])]


def _samples(entry: str) -> list[Sample]:
    got = _GOT.search(entry)
    if got is None:
        error = _ERROR.search(entry)
        if error is None:
            raise QueryError(_complaint(entry))
        raise QueryError(f"the query fails: {error[1].strip()}")
    if got[1] == "nil":
        return []
    samples: list[Sample] = []
    position = 0
    while position < len(got[1]):
        match = _SAMPLE.match(got[1], position)
        if match is None:
            raise QueryError(_complaint(got[1]))
        labels: dict[str, str] = {}
        for pair in _LABEL.finditer(match["labels"]):
            labels[_name(pair["name"])] = ast.literal_eval(pair["value"])
        # A native histogram is written in braces. It is not a usable value.
        is_histogram = match["value"].startswith("{")
        samples.append((labels, math.nan if is_histogram else float(match["value"])))
        position = match.end()
    return samples


def _name(text: str) -> str:
    return str(ast.literal_eval(text)) if text.startswith('"') else text


def _complaint(report: str) -> str:
    lines = [
        line.strip() for line in report.splitlines() if line.strip() and line.strip() != "FAILED:"
    ]
    return f"promtool refuses the metrics: {' '.join(lines[:3])[:500] or 'it says nothing'}"
