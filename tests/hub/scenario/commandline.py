"""`gitops-dsf` as a person runs it: within this process where that makes no difference, or as a process of
its own.
"""

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.cli.main import main


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a shell would have seen of a command."""

    code: int
    stdout: str
    stderr: str


def gitops_dsf(*arguments: str, folder: Path | None = None) -> Ran:
    """Run one command within this process, which has imported everything already, in `folder` where one is
    given.
    """
    stdout, stderr = io.StringIO(), io.StringIO()
    with chdir(folder or "."), redirect_stdout(stdout), redirect_stderr(stderr):
        code = main(arguments)
    return Ran(code=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())


def gitops_dsf_process(*arguments: str, folder: Path | None = None) -> Ran:
    """Run one command as a process: for those that set up logging or handle signals."""
    answer = subprocess.run(
        [sys.executable, "-m", "gitops_dsf", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(code=answer.returncode, stdout=answer.stdout, stderr=answer.stderr)
