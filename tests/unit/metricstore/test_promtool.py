"""Reading the reports of promtool.

A script in its place prints them; tests/hub runs the real one.
"""

import math
from pathlib import Path

import pytest

from gitops_dsf.metricstore.promtool import evaluate
from gitops_dsf.scoretests.queries import GivenSamples, PromtoolQuestion, QueryError, QueryResults


def answer(
    folder: Path, report: str, *, runs: int = 1, expressions: tuple[str, ...] = ("q",)
) -> QueryResults:
    (folder / "report").write_text(report, encoding="utf-8")
    program = folder / "promtool"
    program.write_text(f'#!/bin/sh\ncp "$3" {folder}/asked\ncat {folder}/report >&2\nexit 1\n')
    program.chmod(0o755)
    question = PromtoolQuestion(
        scorer="s",
        cluster="c",
        expressions=expressions,
        times=range(0, 60 * runs, 60),
        metrics=(GivenSamples("up", "1x9"),),
        interval=30,
    )
    return evaluate(question, program=program)


def entry(got: str) -> str:
    return f'    expr: "q", time: 0s,\n        exp: {{x="y"}} 0E+00\n        got: {got}\n'


def test_samples_become_columns_of_runs(tmp_path: Path) -> None:
    report = (
        entry('{node="a"} 1E+00, {node="b"} -2.5E-01') + entry("nil") + entry('{node="b"} +Inf')
    )
    found = answer(tmp_path, f"\n  FAILED:\n{report}", runs=3)
    assert found.runs == 3
    assert {(labels[0], values) for labels, values in found.series} == {
        ("a", (1.0, None, None)),
        ("b", (-0.25, None, math.inf)),
    }


def test_the_results_of_all_expressions_are_one_answer(tmp_path: Path) -> None:
    found = answer(
        tmp_path, entry('{pod="a"} 1E+00') + entry('{pod="b"} 2E+00'), expressions=("a", "b")
    )
    assert found.runs == 1
    assert {values for _, values in found.series} == {(1.0,), (2.0,)}


def test_series_that_differ_in_other_labels_stay_apart(tmp_path: Path) -> None:
    found = answer(tmp_path, entry('{cpu="0"} 1E+00, {cpu="1"} 3E+00'))
    assert [labels for labels, _ in found.series] == [("",) * 7] * 2
    assert {values for _, values in found.series} == {(1.0,), (3.0,)}


def test_quotes_braces_and_escapes_in_labels_are_read(tmp_path: Path) -> None:
    found = answer(tmp_path, entry(r'{"a.b"="}", node="x, {y=\"z\"} \\ é\n"} 1E+00'))
    ((labels, _),) = found.series
    assert labels[0] == 'x, {y="z"} \\ é\n'


def test_a_histogram_has_no_value(tmp_path: Path) -> None:
    found = answer(tmp_path, entry('{node="a"} {{schema:1 count:3 sum:3}}, {node="b"} 1E+00'))
    assert {(labels[0], str(values[0])) for labels, values in found.series} == {
        ("a", "nan"),
        ("b", "1.0"),
    }


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("", "promtool refuses the metrics: it says nothing"),
        (
            '\n  FAILED:\n3:11: parse error: unexpected "b"\n',
            "promtool refuses the metrics: 3:11: parse error",
        ),
        (entry("nil") * 2, "promtool refuses the metrics"),
        (entry("something else"), "promtool refuses the metrics: something else"),
        ('    expr: "q", time: 0s, err: many-to-many\n', "the query fails: many-to-many"),
    ],
)
def test_other_reports_are_errors(tmp_path: Path, report: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        answer(tmp_path, report)


def test_a_program_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    question = PromtoolQuestion(
        scorer="s", cluster="c", expressions=("q",), times=range(1), metrics=(), interval=1
    )
    with pytest.raises(QueryError, match="cannot be run: No such file or directory"):
        evaluate(question, program=tmp_path / "none")


def test_every_run_is_asked_at_its_time(tmp_path: Path) -> None:
    answer(tmp_path, entry("nil") * 2, runs=2)
    asked = (tmp_path / "asked").read_text("utf-8")
    assert '"interval": "30s"' in asked
    assert '"input_series": [{"series": "up", "values": "1x9"}]' in asked
    assert asked.index('"eval_time": "0s"') < asked.index('"eval_time": "60s"')
