"""Runs `gitops-dsf` inside this process.

The verb's own code, without the half second that a new Python needs to import it.

What only a process can show (signals, a locale, a full disk, a closed pipe) is tested with a
process, and so are some verbs: tests/integration/test_programs.py.
"""

import contextlib
import io
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from gitops_dsf.cli.main import USAGE, main
from tests.support.outputs import check_output


def gitops_dsf(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: str = "",
    environ: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs one command.

    `environ` is added to the environment. JSON must be what schemas/output says.
    """
    command = [str(argument) for argument in arguments]
    given, out, err = (
        io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        for content in (stdin.encode(), b"", b"")
    )
    with (
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, environ or {}),
        mock.patch("sys.stdin", given),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(command)
    said = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        said.append(stream.read())
    if code != USAGE:
        check_output(command, said[0])
    return subprocess.CompletedProcess(
        ["gitops-dsf", *command], code, stdout=said[0], stderr=said[1]
    )


def program(
    *words: str | Path,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs a program as a process.

    `environ` is its whole environment. Its exit code is not judged.
    """
    return subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=environ,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def output_of(
    *words: str | Path,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    stdin: str = "",
) -> str:
    """The output of a process, which must succeed."""
    done = program(*words, cwd=cwd, environ=environ, stdin=stdin)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout
