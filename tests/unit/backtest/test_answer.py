"""Answers of a metric store: what is read, and how what is wrong is told."""

import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.metricstore.answer import read
from gitops_dsf.metricstore.errors import StoreError, TooMuchError
from gitops_dsf.metricstore.files import read_path
from tests.support.laws import examples
from tests.support.metricstore import answer_of

ROW = {"metric": {"ds_cluster": "a"}, "values": [[60, "1.5"], [120, "NaN"], [180.5, "+Inf"]]}


@examples(100, soak=6000)
@given(st.lists(st.floats(), max_size=20))
def test_values_are_those_that_were_written(values: list[float]) -> None:
    """Prometheus writes the shortest text of a number, and NaN and Inf as words."""
    texts = ["NaN" if math.isnan(value) else repr(value).replace("inf", "Inf") for value in values]
    row = {"metric": {}, "values": [[number, text] for number, text in enumerate(texts)]}
    [series] = read(answer_of([row]), where="store").series
    assert series.times.tolist() == list(range(len(values)))
    assert [repr(value) for value in series.values.tolist()] == [repr(value) for value in values]


def test_warnings_and_partial_answers_are_told() -> None:
    found = read(answer_of([ROW], warnings=["a store was down"], isPartial=True), where="store")
    assert found.warnings == ("the answer is partial (isPartial)", "a store was down")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<html>", "store did not answer as Prometheus' /api/v1/query_range does"),
        (b"{}", "store failed: status ''"),
        (
            b'{"status":"success","data":{"resultType":"vector","result":[]}}',
            "gave a vector, where a matrix",
        ),
        (
            answer_of([{"metric": {}, "values": [[1, "x"]]}]),
            "samples that are not pairs of time and value",
        ),
        (answer_of([{"metric": {}, "values": [[1, "2", "3"]]}]), "not pairs of time and value"),
        (answer_of([{"metric": {}, "values": [[2, "1"], [1, "1"]]}]), "in order of time"),
        (answer_of([{"metric": {}, "values": [], "histograms": [[1, {}]]}]), "native histograms"),
        (
            b'{"status":"error","errorType":"bad_data","error":"parse error"}',
            "failed: bad_data: parse error",
        ),
        (b"[" * 100_000, "store did not answer as"),
    ],
)
def test_what_is_no_answer_is_told(content: bytes, told: str) -> None:
    with pytest.raises(StoreError, match=told.replace("?", r"\?").replace("(", r"\(")) as caught:
        read(content, where="store")
    assert not isinstance(caught.value, TooMuchError)


def test_a_question_that_is_too_large_is_told_apart() -> None:
    error = {"status": "error", "errorType": "execution", "error": "would load too many samples"}
    with pytest.raises(TooMuchError):
        read(json.dumps(error).encode(), where="store")


def test_files_and_folders_of_answers(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(answer_of([ROW]))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(answer_of([ROW, ROW])))
    (tmp_path / "notes.txt").write_text("ignored")
    assert [len(found.series) for found in read_path(tmp_path)] == [1, 2]
    assert [len(found.series) for found in read_path(tmp_path / "a.json")] == [1]


def test_files_that_are_too_large_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_bytes(b"no answer")
    (tmp_path / "b.json").write_bytes(answer_of([ROW]))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    monkeypatch.setattr("gitops_dsf.metricstore.files.MAX_BYTES", size - 1)
    with pytest.raises(StoreError, match="the history has more than 0 MiB"):
        read_path(tmp_path)
    (tmp_path / "a.json").unlink()
    assert len(read_path(tmp_path)) == 1


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a file"):
        read_path(tmp_path / "nothing.json")
    with pytest.raises(StoreError, match=r"no file \*.json"):
        read_path(tmp_path)
    (tmp_path / "a.json.gz").write_bytes(b"no gzip")
    with pytest.raises(StoreError, match="cannot read"):
        read_path(tmp_path)
