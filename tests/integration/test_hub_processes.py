"""Programs of the hub suite: those that a kubelet would start again, and that all end."""

from pathlib import Path

import pytest

from tests.hub.controlplane.processes import Process, Processes

PROGRAM = """
echo run >> runs
if [ "$(wc -l < runs)" -le {failures} ]; then exit {status}; fi
echo > up
exec sleep 300
"""
"""Ends a few times with a status, and then runs on."""


def started(
    processes: Processes, folder: Path, *, failures: int, status: int, again: bool
) -> Process:
    script = PROGRAM.format(failures=failures, status=status)
    return processes.start("program", ["/bin/sh", "-c", script], folder=folder, again=again)


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def test_a_program_that_panics_is_started_again(tmp_path: Path) -> None:
    with Processes(logs=tmp_path) as processes:
        process = started(processes, tmp_path, failures=2, status=2, again=True)
        processes.ready(process, lambda: None if (tmp_path / "up").exists() else "not up")
        assert runs(tmp_path) == 3
        assert process.written().count("panicked and is started again") == 2
        processes.stop("program")
        assert processes.left_behind() == []


@pytest.mark.parametrize(("status", "again"), [(2, False), (1, True), (0, True)])
def test_any_other_end_is_an_end(tmp_path: Path, status: int, again: bool) -> None:
    with Processes(logs=tmp_path) as processes:
        process = started(processes, tmp_path, failures=9, status=status, again=again)
        assert process.child.wait(timeout=30) == status
        assert runs(tmp_path) == 1
